/*
 * One life of a process under load: `worker <database> <observations> load|finish`. In `load` it goes on until it is
 * killed; in `finish` it brings everything to its end and prints what the database holds then.
 */
import { createEngine, type Engine } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { APPROVE_TAG, approveTask } from '../approve-task.ts'
import { hasNodeSqlite, openDriver } from '../drivers.ts'
import { observe } from './observer.ts'

const [path = '', file = '', mode = 'load'] = process.argv.slice(2)
const LIVE = ['QUEUED', 'DELAYED', 'EXECUTING', 'WAITING'] as const
const AT_ONCE = 8

const approve = approveTask((run, effect) => observe(file, { what: 'kept', run, effect }))

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
    const { data } = await engine.runs.list({ status: [...LIVE], limit: 1 })
    if (data.length === 0) break
    await new Promise((resolve) => setImmediate(resolve))
  }
  for await (const { id } of engine.runs.list()) {
    const { status, output } = await engine.runs.retrieve(id)
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

const engine = createEngine({
  tasks: [approve],
  storage: sqliteStorage(hasNodeSqlite ? path : openDriver(path)),
  maxInterruptions: 1_000_000,
})
engine.on('run', ({ id, status }) => {
  if (status === 'COMPLETED') observe(file, { what: 'finished', run: id })
})
engine.on('error', ({ error }) => observe(file, { what: 'failed', error: String(error) }))
if (mode === 'load') await load(engine)
else await finish(engine)
await engine.close()
