import { url as debuggerUrl } from 'node:inspector'
import timers from 'node:timers'
import { isMainThread, Worker } from 'node:worker_threads'

const { setInterval } = timers

/** How long code keeps the event loop until it is told of. */
const PATIENCE_MS = 10_000
/** The event loop is looked at so many times until then, so that a process that was suspended is not told of. */
const LOOKS = 10
/** Most lines that say where the code is. */
const MOST_LINES = 6

/**
 * What the thread does. It is text because it is loaded from sources and from the package alike. It looks whether the
 * process has counted a turn; if not, it stops the process as a debugger does, for as long as it takes to see where it is.
 */
const THREAD = `
const { workerData: { turns, lookMs, looks, lines } } = require('node:worker_threads')
const { Session } = require('node:inspector')
const { SourceMap } = require('node:module')
const { writeSync } = require('node:fs')
let last = -1
let missed = 0
setInterval(() => {
  missed = turns[0] === last ? missed + 1 : 0
  last = turns[0]
  if (missed === looks) tell()
}, lookMs)

function tell() {
  const session = new Session()
  const scripts = new Map()
  let tries = 0
  session.connectToMainThread()
  session.on('Debugger.scriptParsed', ({ params }) => scripts.set(params.scriptId, params))
  session.on('Debugger.paused', ({ params }) => {
    const frames = []
    for (let part = params; part != null; part = part.asyncStackTrace ?? part.parent) frames.push(...part.callFrames)
    const places = frames.map((frame) => placeOf(frame, scripts)).filter((place) => place !== undefined)
    tries += 1
    if (places.length > 0 || tries === 100) {
      session.post('Debugger.resume')
      session.post('Debugger.disable', () => session.disconnect())
      writeSync(2, messageOf(places.slice(0, lines)))
      return
    }
    // It was stopped between two steps of the code, in Node.js itself. While it is stopped it cannot be stopped anew.
    session.once('Debugger.resumed', () => session.post('Debugger.pause'))
    session.post('Debugger.resume')
  })
  session.post('Debugger.enable', () => {
    // What is awaited from then on has an asynchronous stack.
    session.post('Debugger.setAsyncCallStackDepth', { maxDepth: 8 })
    setTimeout(() => session.post('Debugger.pause'), lookMs)
  })
}

function placeOf({ functionName, location, scriptId, lineNumber, columnNumber }, scripts) {
  const script = scripts.get(location?.scriptId ?? scriptId)
  const line = location?.lineNumber ?? lineNumber
  const column = location?.columnNumber ?? columnNumber
  if (script === undefined || script.url === '' || script.url.startsWith('node:')) return
  const entry = mapOf(script)?.findEntry(line, column)
  const url = entry?.originalSource === undefined ? script.url : new URL(entry.originalSource, urlOf(script.url)).href
  const place = url.replace(/^file:\\/\\//, '') + ':' + ((entry?.originalLine ?? line) + 1) + ':' + ((entry?.originalColumn ?? column) + 1)
  return '    at ' + (functionName === '' ? place : functionName + ' (' + place + ')')
}

function mapOf({ sourceMapURL = '' }) {
  const [, text] = /^data:application\\/json;.*?base64,(.*)$/.exec(sourceMapURL) ?? []
  return text === undefined ? undefined : new SourceMap(JSON.parse(Buffer.from(text, 'base64').toString()))
}

function urlOf(url) {
  return url.startsWith('/') ? 'file://' + url : url
}

function messageOf(places) {
  return [
    'waitpoint: code has kept the event loop for ' + (lookMs * looks) / 1000 + ' s, and still does:',
    ...places,
    'Until it lets go no timer fires and no time limit applies, not even that of the test. A loop must await a wait, a timer or I/O.',
    '',
  ].join('\\n')
}
`

let isWatching = false

/**
 * Tells on stderr where code is that keeps the event loop for seconds, such as a loop that awaits settled promises. Nothing else
 * in the process can: its timers do not fire. One thread watches from the first call on, until the process ends.
 */
export function watchStalls(patienceMs: number = PATIENCE_MS): void {
  // A debugger stops the process on purpose. From a worker thread only the main thread can be looked at.
  if (isWatching || !isMainThread || debuggerUrl() !== undefined) return
  isWatching = true
  const turns = new Int32Array(new SharedArrayBuffer(4))
  const lookMs = patienceMs / LOOKS
  const thread = new Worker(THREAD, {
    eval: true,
    workerData: { turns, lookMs, looks: LOOKS, lines: MOST_LINES },
  })
  // It may be missing without harm.
  thread.on('error', () => undefined)
  thread.unref()
  setInterval(() => (turns[0] = (turns[0] ?? 0) + 1), lookMs / 2).unref()
}
