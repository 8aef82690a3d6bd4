// Judges the task files of a folder outside of this repository: `node scripts/judge.mjs FOLDER` prints a table. For each file
// that imports `@trigger.dev/sdk`: which names it imports that waitpoint/sdk does not export; which type errors it has with
// the types of waitpoint/sdk, without those it has with the published types too (test/clients must be installed);
// whether it can be loaded, and how a run of each of its tasks ends under a test engine, with every other package and every variable
// of the environment stubbed. A file that uses names that the published SDK does not export is for another version.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { clearTimeout, setTimeout } from 'node:timers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { build } from 'esbuild'
import ts from 'typescript'

const SDK = /^@trigger\.dev\/sdk(\/v3)?$/
/** A step that takes longer does not come to an end: a stub is true, and a loop that asks it goes on. */
const LIMIT_MS = 60_000

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const OURS = join(root, 'src/sdk.ts')
const PUBLISHED = join(root, 'test/clients/node_modules/@trigger.dev/sdk/dist/esm/v3/index.d.ts')
const built = join(root, 'build/judge', String(process.pid))

async function judge(folder) {
  if (folder === undefined || !existsSync(folder)) {
    console.error('Cannot judge: give a folder, as in `node scripts/judge.mjs FOLDER`')
    process.exit(1)
  }
  const files = filesOf(resolve(folder))
  const ours = checked(files, OURS)
  const published = existsSync(PUBLISHED) ? checked(files, PUBLISHED) : undefined
  try {
    await buildModules()
    const rows = []
    const tried = await triedOut(files)
    for (const file of files) {
      const names = importedNames(file).filter((name) => !ours.names.has(name))
      if (published !== undefined && names.some((name) => !published.names.has(name))) {
        rows.push({ file, other: names.filter((name) => !published.names.has(name)) })
        continue
      }
      const known = new Set(published?.problems.get(file)?.map(({ key }) => key))
      const types = (ours.problems.get(file) ?? []).filter(({ key }) => !known.has(key))
      rows.push({ file, names, types, ...tried.get(file) })
    }
    print(rows, resolve(folder), published !== undefined)
  } finally {
    rmSync(built, { recursive: true, force: true })
  }
}

/** The files that import the SDK. */
function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /(?<!\.d)\.[cm]?tsx?$/.test(entry.name))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name))
    .filter((path) => !path.includes('node_modules') && importedNames(path).length > 0)
    .toSorted()
}

/** The names that a file imports from the SDK; `*` for all of them. */
function importedNames(path) {
  const text = readFileSync(path, 'utf8')
  if (!text.includes('@trigger.dev/sdk')) return []
  return ts
    .createSourceFile(path, text, ts.ScriptTarget.Latest)
    .statements.filter(
      (statement) => ts.isImportDeclaration(statement) && SDK.test(statement.moduleSpecifier.text),
    )
    .flatMap(({ importClause }) => {
      const bindings = importClause?.namedBindings
      if (bindings === undefined || ts.isNamespaceImport(bindings)) return ['*']
      return bindings.elements.map(({ name, propertyName = name }) => propertyName.text)
    })
}

/** The names that a module exports, and the type errors of the files with it, by file. */
function checked(files, module) {
  const program = ts.createProgram([...files, module], {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    lib: ['lib.esnext.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'],
    jsx: ts.JsxEmit.Preserve,
    strict: true,
    noEmit: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    resolveJsonModule: true,
    typeRoots: [join(root, 'node_modules/@types')],
    types: ['node'],
    paths: {
      '@trigger.dev/sdk': [module],
      '@trigger.dev/sdk/v3': [module],
      zod: [join(root, 'node_modules/zod')],
    },
  })
  const checker = program.getTypeChecker()
  const symbol = checker.getSymbolAtLocation(program.getSourceFile(module))
  const names = new Set(['*', ...checker.getExportsOfModule(symbol).map(({ name }) => name)])
  const problems = new Map(
    files.map((file) => [file, program.getSemanticDiagnostics(program.getSourceFile(file)).map(problemOf)]),
  )
  return { names, problems }
}

function problemOf({ file, start, messageText }) {
  const line = file.getLineAndCharacterOfPosition(start).line + 1
  const [message] = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')
  return { key: line, text: `line ${line}: ${message}` }
}

/** Answers and takes anything, and is empty. As the prototype of a module it also has every name. */
const STUB = `
export function stub() {
  const any = function () { return stub() }
  return new Proxy(any, {
    get: (target, key) => {
      if (key === 'then') return undefined
      if (key === Symbol.toPrimitive) return () => ''
      if (key === Symbol.iterator) return function* () {}
      if (key === Symbol.asyncIterator) return async function* () {}
      return key === 'prototype' ? target.prototype : stub()
    },
    apply: stub,
    construct: stub,
  })
}
export function stubModule() {
  const module = function () { return stub() }
  return Object.setPrototypeOf(module, stub())
}
`

/** The SDK and the test engine in one module. A task without a schema has one, so that its payload is a stub. */
const ENTRY = `
import { schemaTask } from ${JSON.stringify(OURS)}
import { stub } from './stub.js'
export * from ${JSON.stringify(OURS)}
export { createTestEngine } from ${JSON.stringify(join(root, 'src/testing.ts'))}
export const task = (options) => schemaTask({ schema: () => stub(), ...options })
`

async function buildModules() {
  mkdirSync(built, { recursive: true })
  writeFileSync(join(built, 'stub.js'), STUB)
  await build({
    stdin: { contents: ENTRY, resolveDir: built },
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    external: ['./stub.js'],
    outfile: join(built, 'sdk.js'),
    logLevel: 'error',
  })
}

/** Bundles what a file imports from its own folder; the SDK is ours, and every package is a stub. */
const stubs = {
  name: 'stubs',
  setup: ({ onResolve, onLoad, resolve: resolved }) => {
    onResolve({ filter: /.*/ }, async ({ path, importer, resolveDir, kind, pluginData }) => {
      if (importer === '' || pluginData === stubs) return undefined
      if (SDK.test(path)) return { path: './sdk.js', external: true }
      if (path === './stub.js') return { path, external: true }
      const found = await resolved(path, { importer, resolveDir, kind, pluginData: stubs })
      const isOwn = found.errors.length === 0 && !found.external && !found.path.includes('node_modules')
      return isOwn && /\.[cm]?[jt]sx?$|\.json$/.test(found.path) ? found : { path, namespace: 'stub' }
    })
    onLoad({ filter: /.*/, namespace: 'stub' }, () => ({
      contents: `module.exports = require('./stub.js').stubModule()`,
      resolveDir: built,
    }))
  },
}

/** Bundles the files; loads all of them and runs their tasks, in a thread that is begun anew when a step does not end. */
async function triedOut(files) {
  const results = new Map(files.map((file) => [file, { ends: [] }]))
  const bundles = []
  for (const [index, file] of files.entries()) {
    const path = join(built, `${index}.mjs`)
    const problem = await bundled(file, path)
    if (problem === undefined) bundles.push({ file, path })
    else results.get(file).load = problem
  }
  const done = new Set()
  /** Files that cannot be loaded: the next thread leaves them out. */
  const hanging = new Set()
  let problem
  do {
    let step
    problem = await inThread({ bundles, done, hanging }, (message) => {
      const { end } = message
      if (end === undefined) step = message
      else noteEnd(step, end)
    })
    if (problem === undefined) continue
    if (step?.file === undefined) throw new Error(problem)
    if (step.task === undefined) hanging.add(step.file)
    noteEnd(step, problem)
  } while (problem !== undefined)
  return results

  function noteEnd({ file, task }, end) {
    done.add(`${file} ${task ?? ''}`)
    const result = results.get(file)
    if (task === undefined) result.load ??= end
    else result.ends.push(end)
  }
}

/** What a module of the older kind has, for those that a file imports. */
const OLDER = `import { createRequire } from 'node:module'
const require = createRequire(import.meta.url), __dirname = '/', __filename = '/file.js'`

/** Nothing, or why a file cannot be bundled. */
async function bundled(file, outfile, tsconfigRaw) {
  try {
    await build({
      entryPoints: [file],
      bundle: true,
      platform: 'node',
      target: 'es2022',
      format: 'esm',
      outfile,
      jsx: 'automatic',
      logLevel: 'silent',
      banner: { js: OLDER },
      plugins: [stubs],
      ...(tsconfigRaw === undefined ? {} : { tsconfigRaw }),
    })
    return undefined
  } catch (error) {
    const problem = firstLine(error.errors?.[0]?.text ?? error)
    if (tsconfigRaw !== undefined) return problem
    // Without the settings of the folder, which need not be there, and with decorators of the older kind.
    return bundled(file, outfile, { compilerOptions: { experimentalDecorators: true } })
  }
}

/** Nothing, or why the thread did not get to its end. It tells each step that it begins, and how it ends. */
async function inThread(data, tell) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data, stdout: true, stderr: true })
  return new Promise((settle) => {
    let problem = 'does not come to an end'
    let limit
    const wait = () => {
      clearTimeout(limit)
      limit = setTimeout(() => void worker.terminate(), LIMIT_MS)
    }
    worker.on('message', (message) => {
      wait()
      if (message !== 'over') return tell(message)
      problem = undefined
      void worker.terminate()
    })
    worker.on('error', (error) => {
      problem = firstLine(error)
    })
    worker.on('exit', () => {
      clearTimeout(limit)
      settle(problem)
    })
  })
}

/** A variable of the environment that is not set is a stub, but for these. */
const STUB_VARIABLE = 'http://127.0.0.1:9/'
const OWN_VARIABLES = /^(WAITPOINT_|NODE_|TRIGGER_)/

/** In the thread. */
async function tryOut({ bundles, done, hanging }) {
  const variables = process.env
  process.env = new Proxy(variables, {
    get: (target, name) => target[name] ?? (OWN_VARIABLES.test(String(name)) ? undefined : STUB_VARIABLE),
  })
  process.exit = () => undefined
  process.on('unhandledRejection', () => undefined)
  const { allTasks, createTestEngine } = await import(pathToFileURL(join(built, 'sdk.js')).href)
  const files = new Map()
  for (const { file, path } of bundles) {
    if (hanging.has(file)) continue
    parentPort.postMessage({ file })
    parentPort.postMessage({ end: await loaded(path) })
    for (const task of allTasks()) if (!files.has(task)) files.set(task, file)
  }
  for (const task of allTasks()) {
    const file = files.get(task)
    if (done.has(`${file} ${task.id}`)) continue
    parentPort.postMessage({ file, task: task.id })
    parentPort.postMessage({ end: await endOf(task, () => createTestEngine({ tasks: allTasks() })) })
  }
  parentPort.postMessage('over')
}

async function loaded(path) {
  try {
    await import(pathToFileURL(path).href)
    return 'ok'
  } catch (error) {
    return firstLine(error)
  }
}

async function endOf(task, testEngine) {
  const t = await testEngine()
  try {
    t.engine.makeDefault()
    const timestamp = new Date(t.clock.now())
    const payload = { scheduleId: 'sched_1', type: 'DECLARATIVE', timestamp, timezone: 'UTC', upcoming: [] }
    const { id } = await t.engine.trigger(task, payload)
    const { status, error } = await t.engine.runs.poll(id)
    return status === 'COMPLETED' ? 'ok' : `${status} ${error?.name}: ${firstLine(error ?? '')}`
  } catch (error) {
    return `${error.code ?? error.name}: ${firstLine(error)}`
  } finally {
    // It tells what the run has left behind, which is not asked here.
    await t[Symbol.asyncDispose]().catch(() => undefined)
  }
}

function firstLine(error) {
  const [line] = String(error.message ?? error).split('\n')
  return line.slice(0, 120)
}

function print(rows, folder, hasPublished) {
  const judged = rows.filter(({ other }) => other === undefined)
  const totals = { names: 0, types: 0, load: 0, run: 0 }
  const lines = judged.map(({ file, names, types, load, ends }) => {
    const bad = ends.filter((end) => end !== 'ok')
    const cells = {
      names: names.join(', ') || 'ok',
      types: types[0] === undefined ? 'ok' : `${types.length}: ${types[0].text}`,
      load,
      run: bad.length === 0 ? 'ok' : `${ends.length - bad.length} of ${ends.length}: ${bad[0]}`,
    }
    for (const [name, cell] of Object.entries(cells)) if (cell === 'ok') totals[name] += 1
    return [relative(folder, file), ...Object.values(cells)]
  })
  const table = [['file', 'names', 'types', 'load', 'run'], Array(5).fill('---'), ...lines]
  for (const cells of table)
    console.log(`| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`)
  for (const { file, other } of rows)
    if (other !== undefined)
      console.log(`${relative(folder, file)} is for another version: ${other.join(', ')}`)
  if (!hasPublished) console.log('The published types are not installed: types have all errors')
  const sums = Object.entries(totals).map(([name, count]) => `${name} ${count}`)
  console.log(`Of ${judged.length} files are ok: ${sums.join(', ')}`)
}

if (isMainThread) await judge(process.argv[2])
else await tryOut(workerData)
