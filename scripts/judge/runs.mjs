// Loads bundles and runs their tasks, in a thread that is begun anew when a step does not come to an end.
import { join } from 'node:path'
import { clearTimeout, setTimeout } from 'node:timers'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { ENDLESS, firstLine } from './ends.mjs'

/** A stub is true, and a loop that asks it goes on. */
const LIMIT_MS = 30_000

/**
 * Loads the files of one application and runs their tasks.
 *
 * @param folder Has an SDK (`sdk.mjs`), and the bundles in a folder `name`.
 * @param files The file of each bundle, by its name there.
 * @returns How each file was loaded, by file, and the tasks in the order in which they ran: `{ file, id, end }`.
 */
export async function runAll(folder, name, files) {
  const loads = new Map()
  const tasks = []
  const done = []
  for (;;) {
    let step
    const problem = await inThread({ folder, name, files: [...files], done }, (message) => {
      if (message.end === undefined) step = message
      else note(step, message.end)
    })
    if (problem === undefined) return { loads, tasks }
    if (step === undefined) throw new Error(problem)
    // Other files are loaded again by the thread that comes after.
    if (step.id === undefined) done.push(step.module)
    note(step, step.id === undefined ? problem : { problem })
  }

  function note({ module, id, file }, end) {
    if (id === undefined) loads.set(files.get(module), end)
    else {
      done.push(id)
      tasks.push({ file, id, end })
    }
  }
}

/** Nothing, or why the thread did not get to its end. It tells each step that it begins, and how it ends. */
async function inThread(data, tell) {
  const worker = new Worker(fileURLToPath(import.meta.url), { workerData: data, stdout: true, stderr: true })
  return new Promise((settle) => {
    let problem = ENDLESS
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
const OWN_VARIABLES = /^(WAITPOINT_|NODE_)/

/** In the thread: what a file finds when nothing is there. */
function stubGlobals(stubs) {
  const variables = process.env
  process.env = new Proxy(variables, {
    get: (target, name) => target[name] ?? (OWN_VARIABLES.test(String(name)) ? undefined : STUB_VARIABLE),
  })
  process.exit = () => undefined
  process.on('unhandledRejection', () => undefined)
  process.on('uncaughtException', () => undefined)
  const parse = JSON.parse
  JSON.parse = (text, ...others) => (text === STUB_VARIABLE ? stubs.stub() : parse(text, ...others))
  globalThis.fetch = stubs.stub
  // Of parts that are stubs, Node makes none and aborts.
  Object.assign(globalThis, { Blob: stubs.stub(), File: stubs.stub() })
  globalThis.require = (name) => (name === '../stub.mjs' ? stubs : stubs.stubModule())
  globalThis.module = { exports: {} }
  globalThis.__dirname = '/'
  globalThis.__filename = '/file.js'
}

async function runInThread({ folder, name, files, done }) {
  const load = (module) => import(pathToFileURL(join(folder, module)).href)
  stubGlobals(await load('stub.mjs'))
  const sdk = await load('sdk.mjs')
  const runner = await sdk.createRunner()
  const owners = new Map()
  for (const [module, file] of files) {
    if (done.includes(module)) continue
    parentPort.postMessage({ module })
    let exported = []
    let end = 'ok'
    try {
      exported = Object.values(await runner.load(() => load(join(name, module)), file))
    } catch (error) {
      end = firstLine(error)
    }
    parentPort.postMessage({ end })
    // What a file has imported from another one belongs to that one.
    for (const [id, task] of runner.tasks())
      if (!owners.has(id) || exported.includes(task)) owners.set(id, file)
  }
  for (const [id, file] of owners) {
    if (done.includes(id)) continue
    parentPort.postMessage({ id, file })
    parentPort.postMessage({ end: await endOf(runner, id) })
  }
  parentPort.postMessage('over')
}

async function endOf(runner, id) {
  try {
    const { name, message, ...end } = await runner.end(id)
    return { ...end, name: asText(name), message: asText(message) }
  } catch (error) {
    return { problem: firstLine(error) }
  }
}

/** What is thrown may be a stub, or have stubs. */
const asText = (value) => (value === undefined ? undefined : `${value}`)

if (!isMainThread) await runInThread(workerData)
