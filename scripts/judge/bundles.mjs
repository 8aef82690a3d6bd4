// Bundles judged files, so that they can be loaded where nothing of what they import is installed.
import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { build } from 'esbuild'
import { SDK } from './types.mjs'

/** One SDK in one module, as the judged files find it. A task without a schema has one, so that its payload is a stub. */
const entry = (sdk, more) => `
import * as sdk from ${JSON.stringify(sdk)}
import { givenTexts, stub, taskOptions, triggeredWithTexts, withoutStubs } from './stub.mjs'
export * from ${JSON.stringify(sdk)}
${more}
export const schemaTask = (options) => triggeredWithTexts(sdk.schemaTask(taskOptions(options)))
export const task = (options) => schemaTask({ schema: () => stub(), ...options })
export const schedules = { ...sdk.schedules, task: (options) => triggeredWithTexts(sdk.schedules.task(taskOptions(options))) }
export const queue = (options) => sdk.queue(withoutStubs(options))
export const metadata = givenTexts(sdk.metadata)
export const tasks = givenTexts(sdk.tasks, 1)
`

/** Writes the two modules that the bundles import into a folder. */
export async function writeModules(folder, { sdk, more, root }) {
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(root, 'scripts/judge/stub.mjs'), join(folder, 'stub.mjs'))
  await build({
    stdin: { contents: entry(sdk, more), resolveDir: root },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    external: ['./stub.mjs'],
    outfile: join(folder, 'sdk.mjs'),
    logLevel: 'error',
  })
}

/** Bundles what a file imports from its own folder; the SDK is the one beside it, and every package is a stub. */
const stubs = {
  name: 'stubs',
  setup: ({ onResolve, onLoad, resolve: resolved }) => {
    onResolve({ filter: /.*/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (importer === '' || pluginData === stubs) return undefined
      if (SDK.test(path)) return { path: '../sdk.mjs', external: true }
      if (path === '../stub.mjs') return { path, external: true }
      const found = await resolved(path, { importer, resolveDir, kind, pluginData: stubs })
      const isOwn = found.errors.length === 0 && !found.external && !found.path.includes('node_modules')
      return isOwn && /\.[cm]?[jt]sx?$|\.json$/.test(found.path) ? found : { path, namespace: 'stub' }
    })
    onLoad({ filter: /.*/, namespace: 'stub' }, () => ({
      contents: `module.exports = require('../stub.mjs').stubModule()`,
      resolveDir: '/',
    }))
  },
}

/**
 * Bundles the files of an application into a folder of their own in each of the folders that have an SDK.
 *
 * @returns The name of the module of each file, or why it cannot be bundled.
 */
export async function bundleAll(files, name, folders) {
  const [first, ...others] = folders.map((folder) => join(folder, name))
  mkdirSync(first, { recursive: true })
  let modules = await bundleTogether(files, first, {})
  const isWhole = [...modules.values()].every(({ problem }) => problem === undefined)
  if (!isWhole) modules = await bundleTogether(files, first, WITHOUT_SETTINGS)
  for (const folder of others) cpSync(first, folder, { recursive: true })
  return modules
}

/** The settings of the folder may extend others, that are not there. Decorators are of the older kind. */
const WITHOUT_SETTINGS = { tsconfigRaw: { compilerOptions: { experimentalDecorators: true } } }

/** Together, so that what two files import is loaded once; one that cannot be bundled is left out. */
async function bundleTogether(files, outdir, settings) {
  const modules = new Map(files.map((file, index) => [file, { module: `${index}.mjs` }]))
  const isTried = (file) => modules.get(file).problem === undefined
  for (;;) {
    const entries = files.filter(isTried).map((file) => [basename(modules.get(file).module, '.mjs'), file])
    const errors = await errorsOf(Object.fromEntries(entries), outdir, settings)
    if (errors.length === 0) return modules
    const named = errors.filter(({ location }) => modules.has(location?.file))
    // An error in a file that these import: each is tried alone.
    const alone = named.length > 0 ? named : await errorsAlone(entries, outdir, settings)
    for (const { location, text } of alone) modules.get(location.file).problem = text
    if (alone.length === 0) throw new Error(errors[0].text)
  }
}

async function errorsAlone(entries, outdir, settings) {
  const found = []
  for (const [name, file] of entries) {
    const [error] = await errorsOf({ [name]: file }, outdir, settings)
    if (error !== undefined) found.push({ location: { file }, text: error.text })
  }
  return found
}

async function errorsOf(entryPoints, outdir, settings) {
  try {
    await build({
      entryPoints,
      absWorkingDir: '/',
      outdir,
      bundle: true,
      splitting: true,
      platform: 'node',
      target: 'es2022',
      // As a chunk of its own a stub would have the name `default` only.
      supported: { 'dynamic-import': false },
      format: 'esm',
      outExtension: { '.js': '.mjs' },
      jsx: 'automatic',
      logLevel: 'silent',
      plugins: [stubs],
      ...settings,
    })
    return []
  } catch (error) {
    if (error.errors === undefined) throw error
    return error.errors.map(({ text, location }) => ({
      text,
      location: location && { file: `/${location.file}` },
    }))
  }
}
