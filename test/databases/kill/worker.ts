/*
 * One life of a process under load: `worker <place> <observations> load|finish [phase]`. In `load` it goes on until it is
 * killed, and announces every beginning and end of the phase; in `finish` it brings everything to its end and prints what
 * the database holds then.
 */
import { createEngine, type Engine, type RunHandle, task, wait } from 'waitpoint'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { APPROVE_TAG, approveTask, NEVER } from '../approve-task.ts'
import { endWithParent, leaseMs, roundPauseMs } from './life.ts'
import { machineTime, NARROW } from './narrow-place.ts'
import { observe, type RunAtEnd } from './observer.ts'
import { announceBegin, announceEnd, type Phase } from './phases.ts'
import { storageAt } from './storage-at.ts'

const [place = '', file = '', mode = 'load', phaseName] = process.argv.slice(2)
// One of ours, as the process that started this one says.
const phase = phaseName as Phase | undefined
/** What is brought to its end. */
const OURS = { taskIdentifier: ['approve', 'pass'] }
const LIVE = ['QUEUED', 'EXECUTING', 'WAITING'] as const
/** So many that a commit takes its time. */
const AT_ONCE = phase === 'commit' ? 64 : 8
/** For a database that does not answer. */
const PAUSE_MS = 20
let passages = 0

const approve = approveTask({
  kept: (run, effect) => observe(file, { what: 'kept', run, effect }),
  aborted: (run, reason) => {
    observe(file, { what: 'aborted', run, code: codeOf(reason), at: machineTime() })
  },
})

const pass = task({
  id: 'pass',
  queue: { concurrencyLimit: NARROW },
  run: async () => {
    const passage = `${process.pid} ${(passages += 1)}`
    observe(file, { what: 'entered', passage, at: machineTime() })
    await pauseReal(3)
    observe(file, { what: 'left', passage, at: machineTime() })
  },
})

/** What else a database may have from a life before. */
const others = [
  task({ id: 'hang', run: async () => undefined }),
  task({ id: 'nap', run: async () => wait.until({ date: NEVER }) }),
]

function codeOf(reason: unknown): string {
  return String((reason as { readonly code?: unknown }).code)
}

/** Completes what waits; a completion that was not acknowledged is made again by a later life. */
async function answer(engine: Engine): Promise<void> {
  for await (const token of engine.wait.listTokens({ tags: APPROVE_TAG, status: 'WAITING' })) {
    const value = Number.parseInt(token.id.slice(-4), 36)
    const { success } = await engine.wait.completeToken(token, value)
    observe(
      file,
      success ? { what: 'completed', token: token.id, value } : { what: 'refused', token: token.id },
    )
  }
}

async function load(engine: Engine): Promise<never> {
  for (let round = 0; ; round += 1) {
    const names = Array.from({ length: AT_ONCE }, (_, index) => `${process.pid} ${round} ${index}`)
    const triggered = names.map(async (name, index) => {
      const acknowledged = ({ id }: RunHandle<unknown>): void => observe(file, { what: 'triggered', run: id })
      if (index > 0) acknowledged(await engine.trigger(approve, name, { idempotencyKey: name }))
      else acknowledged(await engine.trigger(pass, undefined, { idempotencyKey: name }))
    })
    const done = await Promise.allSettled([...triggered, answer(engine)])
    const failures = done.filter((one) => one.status === 'rejected')
    for (const { reason } of failures) failed(reason)
    await pauseReal(failures.length > 0 ? PAUSE_MS : roundPauseMs)
  }
}

/** What was not acknowledged may have happened or not; that it was not is written down. */
function failed(error: unknown): void {
  observe(file, { what: 'failed', error: String(error) })
}

async function finish(engine: Engine): Promise<void> {
  for (;;) {
    await answer(engine)
    const { data } = await engine.runs.list({ ...OURS, status: [...LIVE], limit: 1 })
    if (data.length === 0) break
    await pauseReal(5)
  }
  for await (const { id } of engine.runs.list(OURS)) {
    const { status, output, taskIdentifier } = await engine.runs.retrieve(id)
    // It has not begun, and does not before the year 2100: its stream would be waited for.
    if (status === 'DELAYED') continue
    const chunks = taskIdentifier === approve.id ? await everyChunk(engine, id) : []
    // As `approve` returns it, or nothing.
    const atEnd = { id, status, output, chunks } as RunAtEnd
    process.stdout.write(`${JSON.stringify(atEnd)}\n`)
  }
}

async function everyChunk(engine: Engine, run: string): Promise<string[]> {
  const chunks: string[] = []
  for (let from = 0; ; from = chunks.length) {
    try {
      for await (const chunk of engine.streams.read<string>(run, 'draft', { startIndex: from }))
        chunks.push(chunk)
      return chunks
    } catch {
      // The segment of an attempt that was killed: what comes after it is another one.
      if (chunks.length === from && from > 0) return chunks
    }
  }
}

/** Whatever the database does meanwhile. */
async function opened(engine: Engine): Promise<void> {
  for (;;) {
    try {
      await engine.ready()
      return
    } catch (error) {
      failed(error)
      await pauseReal(PAUSE_MS)
    }
  }
}

endWithParent()
const placed = storageAt(place, phase)
const engine = createEngine({
  tasks: [approve, pass, ...others],
  storage: placed.storage,
  maxInterruptions: 1_000_000,
  leaseMs,
})
engine.on('run', ({ id, status }) => {
  if (status === 'COMPLETED') observe(file, { what: 'finished', run: id })
})
engine.on('error', ({ error }) => failed(error))
if (phase === 'start') announceBegin()
await opened(engine)
if (phase === 'start') announceEnd()
if (mode === 'load') await load(engine)
else await finish(engine)
await engine.close()
placed.close()
