import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import type { TriggerConfig } from '../../adapters/sdk/config.ts'
import { requireList, requireName, requireObject } from '../../primitives/require.ts'
import { exportsOf } from './task-files.ts'

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

/** The folders of task files that a configuration names. */
export function foldersOfConfig({ dirs }: TriggerConfig, file: string): readonly string[] {
  if (dirs === undefined) return []
  requireList(dirs, `dirs of ${file}`)
  return dirs.map((folder) => resolve(dirname(file), requireName(folder, `dirs of ${file}`)))
}
