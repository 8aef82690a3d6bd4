/*
 * One life of a process under load: `worker <database> <observations> load|finish [phase]`. In `load` it goes on until it
 * is killed, and announces every beginning and end of the phase; in `finish` it brings everything to its end and prints
 * what the database holds then.
 */
import { createEngine, type Engine, task, wait } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { APPROVE_TAG, approveTask, NEVER } from '../approve-task.ts'
import { openUsual } from '../drivers.ts'
import { observe } from './observer.ts'
import { announceBegin, announceEnd, announcing, type Phase } from './phases.ts'

const [path = '', file = '', mode = 'load', phase] = process.argv.slice(2)
const LIVE = ['QUEUED', 'EXECUTING', 'WAITING'] as const
/** So many that a commit takes its time. */
const AT_ONCE = phase === 'commit' ? 64 : 8

const approve = approveTask((run, effect) => observe(file, { what: 'kept', run, effect }))
/** What else a database may have from a life before. */
const others = [
  task({ id: 'hang', run: async () => undefined }),
  task({ id: 'nap', run: async () => wait.until({ date: NEVER }) }),
]

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
    const triggered = names.map(async (name) => {
      const run = await engine.trigger(approve, name, { idempotencyKey: name })
      observe(file, { what: 'triggered', run: run.id })
    })
    await Promise.all([...triggered, answer(engine)])
    await new Promise((resolve) => setImmediate(resolve))
  }
}

async function finish(engine: Engine): Promise<void> {
  for (;;) {
    await answer(engine)
    const { data } = await engine.runs.list({ status: [...LIVE], taskIdentifier: 'approve', limit: 1 })
    if (data.length === 0) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  for await (const { id } of engine.runs.list({ taskIdentifier: 'approve' })) {
    const { status, output } = await engine.runs.retrieve(id)
    // It has not begun, and does not before the year 2100: its stream would be waited for.
    if (status === 'DELAYED') continue
    const chunks: unknown[] = []
    for (let from = 0; ; from = chunks.length) {
      try {
        for await (const chunk of engine.streams.read(id, 'draft', { startIndex: from })) chunks.push(chunk)
        break
      } catch {
        // The segment of an attempt that was killed: what comes after it is another one.
        if (chunks.length === from && from > 0) break
      }
    }
    process.stdout.write(`${JSON.stringify({ id, status, output, chunks })}\n`)
  }
}

const handle = openUsual(path)
const engine = createEngine({
  tasks: [approve, ...others],
  // One of our phases, as the process that started this one says.
  storage: sqliteStorage(phase === undefined ? handle : announcing(handle, phase as Phase)),
  maxInterruptions: 1_000_000,
})
engine.on('run', ({ id, status }) => {
  if (status === 'COMPLETED') observe(file, { what: 'finished', run: id })
})
engine.on('error', ({ error }) => observe(file, { what: 'failed', error: String(error) }))
if (phase === 'start') announceBegin()
await engine.ready()
if (phase === 'start') announceEnd()
if (mode === 'load') await load(engine)
else await finish(engine)
await engine.close()
handle.close()
