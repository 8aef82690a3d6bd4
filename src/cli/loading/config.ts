import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve, sep } from 'node:path'
import { CONFIG_OPTIONS, type TriggerConfig } from '../../adapters/sdk/config.ts'
import { requireList, requireName, requireObject } from '../../primitives/require.ts'
import { isPattern, patternOf } from './glob.ts'
import { exportsOf, foldersAt, type IgnoredFiles, TESTS } from './task-files.ts'

const NAMES = ['ts', 'mts', 'cts', 'js', 'mjs', 'cjs'].map((ending) => `trigger.config.${ending}`)

/** The configuration beside a folder, or in one of those above it up to `root`. */
export function configFileOf(path: string, root: string): string | undefined {
  for (let folder = resolve(path); ; folder = dirname(folder)) {
    const found = NAMES.map((name) => join(folder, name)).find((file) => existsSync(file))
    if (found !== undefined) return found
    if (folder === resolve(root) || folder === dirname(folder)) return undefined
  }
}

/** @throws LoadError for a file that cannot be loaded; TypeError for one that exports no configuration. */
export async function readConfig(path: string): Promise<TriggerConfig> {
  const { default: standard, config: named } = await exportsOf(path)
  // A module that was compiled to CommonJS has its default export below that of the module.
  const config = inner(standard) ?? named
  requireObject(config, `the default export of ${path}`)
  return config as TriggerConfig
}

function inner(value: unknown): unknown {
  const isModule = typeof value === 'object' && value !== null && '__esModule' in value && 'default' in value
  return isModule ? value.default : value
}

/** The folders of task files that a configuration names: each itself, or by a pattern. */
export function foldersOfConfig(config: TriggerConfig, file: string): readonly string[] {
  // Its older name counts where there are both, as in the hosted service.
  const name = config['triggerDirectories'] === undefined ? 'dirs' : 'triggerDirectories'
  const root = dirname(file)
  return namesOf(config[name], `${name} of ${file}`).flatMap((folder) =>
    isPattern(folder) ? foldersLike(root, folder) : [resolve(root, folder)],
  )
}

/** The folders that match a pattern, without those that lie below another one. */
function foldersLike(root: string, pattern: string): readonly string[] {
  const expression = patternOf(pattern)
  const matches = (folder: string): boolean => {
    const path = relative(root, folder).split(sep).join('/')
    return path !== '' && !path.startsWith('..') && expression.test(path)
  }
  return foldersAt(root).filter((folder) => matches(folder) && !matches(dirname(folder)))
}

/** The files below these folders that are no task files. */
export function ignoredByConfig({ ignorePatterns }: TriggerConfig, file: string): IgnoredFiles {
  if (ignorePatterns === undefined) return TESTS
  const patterns = namesOf(ignorePatterns, `ignorePatterns of ${file}`)
  // The process that watches files must not meet a wrong one.
  for (const pattern of patterns) patternOf(pattern)
  return { root: dirname(file), patterns }
}

function namesOf(value: unknown, what: string): readonly string[] {
  if (value === undefined) return []
  requireList(value, what)
  return (value as readonly unknown[]).map((name) => requireName(name, what))
}

/** Options that would change what tasks do, and do not here. */
const IDLE = [
  'telemetry',
  'instrumentations',
  'logLevel',
  'tsconfig',
  'tsconfigPath',
  'extraCACerts',
  'resolveEnvVars',
]

/** Options for the account, for builds and deployments, and for how the hosted service calls tasks. */
const HOSTED = [
  'project',
  'runtime',
  'build',
  'deploy',
  'additionalFiles',
  'additionalPackages',
  'dependenciesToBundle',
  'postInstall',
  'compatibilityFlags',
  'processKeepAlive',
  'experimental_processKeepAlive',
  'legacyDevProcessCwdBehaviour',
  'enableConsoleLogging',
  'disableConsoleInterceptor',
]

const READ = ['dirs', 'triggerDirectories', 'ignorePatterns', ...CONFIG_OPTIONS]

/** What is to be said of options that have no effect, each in a line. */
export function remarksOn(config: TriggerConfig, file: string): readonly string[] {
  const given = Object.keys(config).filter((name) => config[name] !== undefined)
  const idle = given.filter((name) => IDLE.includes(name) || (name === 'runtime' && config[name] === 'bun'))
  const unknown = given.filter((name) => ![...READ, ...IDLE, ...HOSTED].includes(name))
  const name = basename(file)
  return [
    ...(idle.length === 0 ? [] : [`${name}: without effect here: ${idle.join(', ')}`]),
    ...(unknown.length === 0 ? [] : [`${name}: unknown and without effect: ${unknown.join(', ')}`]),
  ]
}
