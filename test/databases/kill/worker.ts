/*
 * One life of a process under load: `worker <place> <observations> load|finish`. In `load` it goes on until it is
 * killed; in `finish` it brings everything to its end and prints what the database holds then.
 */
import { createEngine, type Engine, metadata, once, type RunHandle, task, wait } from 'waitpoint'
import { pauseReal } from '../../../src/storage/real-timer.ts'
import { leaseMs } from './life.ts'
import { machineTime, NARROW } from './narrow-place.ts'
import { observe, type RunAtEnd } from './observer.ts'
import { storageAt } from './storage-at.ts'

const [place = '', file = '', mode = 'load'] = process.argv.slice(2)
const LIVE = ['QUEUED', 'DELAYED', 'EXECUTING', 'WAITING'] as const
const AT_ONCE = 8
const CHUNKS = 5
let passages = 0

const approve = task({
  id: 'approve',
  run: async (name: string, { ctx, signal }) => {
    const run = ctx.run.id
    signal.addEventListener('abort', () =>
      observe(file, { what: 'aborted', run, code: codeOf(signal.reason) }),
    )
    const effect = await once('effect', () => `${name} of ${process.pid}`)
    observe(file, { what: 'kept', run, effect })
    await metadata.stream('draft', words(ctx.attempt.number))
    const token = await wait.createToken({ tags: ['load'], timeout: '1h' })
    const value = await wait.forToken<number>(token).unwrap()
    return { token: token.id, value, effect }
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

function codeOf(reason: unknown): string {
  return String((reason as { readonly code?: unknown }).code)
}

async function* words(attempt: number): AsyncGenerator<string> {
  for (let index = 0; index < CHUNKS; index += 1) {
    await Promise.resolve()
    yield `${attempt} ${index}`
  }
}

/** Completes what waits; a completion that was not acknowledged is made again by a later life. */
async function answer(engine: Engine): Promise<void> {
  for await (const token of engine.wait.listTokens({ tags: 'load', status: 'WAITING' })) {
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
    for (const one of done) if (one.status === 'rejected') failed(one.reason)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** What was not acknowledged may have happened or not; that it was not is written down. */
function failed(error: unknown): void {
  observe(file, { what: 'failed', error: String(error) })
}

async function finish(engine: Engine): Promise<void> {
  for (;;) {
    await answer(engine)
    const { data } = await engine.runs.list({ status: [...LIVE], limit: 1 })
    if (data.length === 0) break
    await pauseReal(5)
  }
  for await (const { id } of engine.runs.list()) {
    const { status, output, taskIdentifier } = await engine.runs.retrieve(id)
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

const engine = createEngine({
  tasks: [approve, pass],
  storage: storageAt(place),
  maxInterruptions: 1_000_000,
  leaseMs,
})
engine.on('run', ({ id, status }) => {
  if (status === 'COMPLETED') observe(file, { what: 'finished', run: id })
})
engine.on('error', ({ error }) => failed(error))
if (mode === 'load') await load(engine)
else await finish(engine)
await engine.close()
