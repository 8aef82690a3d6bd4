import { describe, expect, it } from 'vitest'
import {
  type Engine,
  type MetadataNamespace,
  once,
  type RunTools,
  type StreamInterruptedError,
  task,
  type Task,
  type TaskOptions,
  wait,
} from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { createTestEngine, type TestClock, testClock, type TestEngine } from 'waitpoint/testing'
import type { StorageOperation } from '../../src/contract/storage.ts'
import { SECRET } from '../http/requests.ts'
import { abandonable, memoryOfProject, projectStorage } from '../support/abandon.ts'
import { bodyTask } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

/** Work of five minutes. */
const WORKS: Readonly<Record<string, (clock: TestClock, metadata: Metadata) => Promise<unknown>>> = {
  source: (clock, metadata) =>
    metadata.stream(
      'draft',
      (async function* () {
        for (let chunk = 1; chunk <= 5; chunk += 1) {
          await clock.sleep('1m')
          yield chunk
        }
      })(),
    ),
  effect: (clock) => once('draft', () => clock.sleep('5m').then(() => 5)),
}

type Metadata = MetadataNamespace

/** Calls that change a run, or what it waits for. */
const WRITES: readonly string[] = [
  'runs.insert',
  'runs.claim',
  'runs.update',
  'runs.park',
  'runs.resume',
  'tokens.insert',
  'tokens.await',
  'tokens.settle',
]

/** A task that works beside a question that is answered after days: from the beginning, or after a pause that the engine cannot see. */
function working(
  kind: string,
  clock: TestClock,
  options: Partial<Omit<TaskOptions<null, unknown>, 'run'>> & {
    readonly begun?: () => void
    readonly pause?: string | undefined
  } = {},
): Task<null, unknown> {
  const { begun, pause, ...rest } = options
  return bodyTask(async ({ metadata }) => {
    begun?.()
    const begin = async (): Promise<unknown> => {
      if (pause !== undefined) await clock.sleep(pause)
      return WORKS[kind]?.(clock, metadata)
    }
    const work = begin()
    // The wait may be aborted first.
    work.catch(() => undefined)
    const answer = await wait.forToken(await wait.createToken({ timeout: '30d', tags: ['ask'] })).unwrap()
    await work
    return answer
  }, rest)
}

const statusOf = async (t: TestEngine, { id }: { readonly id: string }): Promise<string> =>
  (await t.engine.runs.retrieve(id)).status

const LATER = '10m'

describe.each(
  Object.keys(WORKS).flatMap((kind) => [
    [kind, 'from the beginning', undefined] as const,
    [kind, 'that it has begun while it was parked', LATER] as const,
  ]),
)('a run with an open %s beside a wait, %s', (kind, _when, pause) => {
  /** Until the work begins. A run that has none waits meanwhile. */
  async function begins(t: TestEngine, run: { readonly id: string }): Promise<void> {
    if (pause === undefined) return
    await t.clock.advance('1m')
    expect(await statusOf(t, run)).toBe('WAITING')
    await t.clock.advance('9m')
  }

  it('executes until that has ended, and parks then', async () => {
    const clock = testClock({ mode: 'manual' })
    const work = working(kind, clock, { pause })
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    const run = await t.engine.trigger(work, null)
    await begins(t, run)
    await clock.advance('4m')
    expect([await statusOf(t, run), t.engine.stats().executing]).toEqual(['EXECUTING', 1])
    await clock.advance('2m')
    expect([await statusOf(t, run), t.engine.stats().executing]).toEqual(['WAITING', 0])
    await t.complete({ tag: 'ask' }, 'yes')
    expect(await run.result()).toBe('yes')
  })

  it('keeps the slot of its queue', async () => {
    const clock = testClock({ mode: 'manual' })
    let begun = 0
    const work = working(kind, clock, { queue: { concurrencyLimit: 1 }, begun: () => (begun += 1), pause })
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    await begins(t, await t.engine.trigger(work, null))
    await t.engine.trigger(work, null)
    await clock.advance('4m')
    expect(begun).toBe(1)
    await clock.advance('2m')
    expect(begun).toBe(2)
    await clock.advance('10m')
  })

  it('is out of time when it takes too long', async () => {
    const clock = testClock({ mode: 'manual' })
    const work = working(kind, clock, { maxDuration: '3m', pause })
    await using t = await createTestEngine({ tasks: [work], clock, storage: projectStorage() })
    const run = await t.engine.trigger(work, null)
    await begins(t, run)
    await clock.advance('10m')
    expect((await run.outcome()).ok).toBe(false)
    expect(await statusOf(t, run)).toBe('TIMED_OUT')
  })

  it('is executed again when its process dies, and not only when it is answered', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    let begun = 0
    const work = working(kind, clock, { begun: () => (begun += 1), pause })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({
      tasks: [work],
      storage: ports.storage,
      clock: ports.clock,
    })
    const run = await first.engine.trigger(work, null)
    await begins(first, run)
    await clock.advance('2m')
    ports.abandon()
    await using next = await createTestEngine({ tasks: [work], storage, clock, seed: 2 })
    // The lease of the dead process has to end first.
    await clock.advance('2m')
    const again = pause === undefined ? 'EXECUTING' : 'WAITING'
    expect([begun, await statusOf(next, run)]).toEqual([2, again])
    await clock.advance('16m')
    expect(await statusOf(next, run)).toBe('WAITING')
    await next.complete({ tag: 'ask' }, 'yes')
    expect((await next.engine.runs.poll(run)).output).toBe('yes')
  })
})

/** Ways to follow the stream of a run. Each tells its chunks, and that the attempt that wrote them is lost. */
const READERS: Readonly<Record<string, (engine: Engine, id: string, told: string[]) => Promise<void>>> = {
  'streams.read': async (engine, id, told) => read(engine.streams.read(id, 'draft'), told),
  withStreams: async (engine, id, told) => {
    for await (const part of engine.runs.subscribeToRun(id).withStreams()) {
      if (part.type !== 'run') told.push(String(part.chunk))
      else if (part.run.attemptCount === 2 && !told.includes(LOST)) told.push(LOST)
    }
  },
  'streams.read of a client': async (engine, id, told) => {
    const fetch = createHandler(engine)
    const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch })
    return read(client.streams.read(id, 'draft'), told)
  },
}

const LOST = 'ERR_STREAM_INTERRUPTED'

async function read(chunks: AsyncIterable<unknown>, told: string[]): Promise<void> {
  try {
    for await (const chunk of chunks) told.push(String(chunk))
  } catch (error) {
    told.push((error as StreamInterruptedError).code)
  }
}

describe.each(Object.keys(READERS))('a reader of a source beside a wait: %s', (reader) => {
  it('is told when its process dies, and not only when the wait is answered', async () => {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    let begun = 0
    const work = working('source', clock, { begun: () => (begun += 1) })
    const ports = abandonable(clock, storage)
    const first = await createTestEngine({ tasks: [work], storage: ports.storage, clock: ports.clock })
    const { id } = await first.engine.trigger(work, null)
    await clock.advance('2m')
    await using next = await createTestEngine({ tasks: [work], storage, clock, seed: 2, secretKey: SECRET })
    const told: string[] = []
    const reading = READERS[reader]?.(next.engine, id, told)
    await clock.advance('1s')
    ports.abandon()
    while (begun < 2) await clock.advance('1s')
    // The next attempt has its first chunk a minute later.
    for (let turns = 0; turns < 50 && told.length < 3; turns += 1) await clock.advance('1s')
    // The next attempt has no chunk yet.
    expect(told).toEqual(['1', '2', LOST])
    await next.engine.runs.cancel(id)
    await clock.settle()
    await reading
  })
})

/** What the storage learns of a run beside its wait. */
const FENCED: Readonly<Record<string, (tools: RunTools) => Promise<unknown>>> = {
  'creates a token': ({ wait }) => wait.createToken({ timeout: '30d' }),
  'completes a token': async ({ wait }) => {
    const [token] = (await wait.listTokens({ tag: 'other' })).data
    await wait.completeToken(token ?? '', 1)
  },
  'triggers a run': ({ tasks }) => tasks.trigger('child', null, { delay: '30d' }),
  'does an effect of once': () => once('effect', () => 1),
}

describe.each(Object.keys(FENCED))('a parked run that %s', (name) => {
  /** The run parks, and makes its call five minutes later, while another one has the slot for ten. */
  async function whileBusy(
    told: (call: Promise<unknown>, clock: TestClock) => Promise<unknown>,
    body: (t: TestEngine, run: { readonly id: string }) => Promise<void>,
  ): Promise<void> {
    const clock = testClock({ mode: 'manual' })
    const child = task({ id: 'child', run: async (_payload: null) => null })
    const busy = task({ id: 'busy', run: async (_payload: null) => clock.sleep('10m') })
    const work = bodyTask(async (tools) => {
      const token = await wait.createToken({ timeout: '30d', tags: ['ask'] })
      const beside = async (): Promise<void> => {
        await clock.sleep('5m')
        await told(FENCED[name]?.(tools) ?? Promise.reject(new Error(name)), clock)
      }
      await Promise.all([wait.forToken(token), beside()])
    })
    await using t = await createTestEngine({
      tasks: [work, child, busy],
      clock,
      concurrency: 1,
      storage: projectStorage(),
    })
    await t.engine.wait.createToken({ timeout: '30d', tags: ['other'] })
    const run = await t.engine.trigger(work, null)
    await clock.settle()
    await t.engine.trigger(busy, null)
    await body(t, run)
  }

  it('has its slot first, and parks again', async () => {
    const calls: string[] = []
    const told = async (call: Promise<unknown>, clock: TestClock): Promise<void> => {
      await call
      calls.push(name)
      await clock.sleep('10m')
    }
    await whileBusy(told, async (t, run) => {
      await t.clock.advance('9m')
      expect([calls, await statusOf(t, run)]).toEqual([[], 'WAITING'])
      expect((await t.engine.runs.explain(run)).sentence).toMatch(
        /waiting for token .*; its work beside that goes on with the next free slot\.$/,
      )
      await t.clock.advance('2m')
      expect([calls, await statusOf(t, run), t.engine.stats().executing]).toEqual([[name], 'WAITING', 0])
      await t.complete({ tag: 'ask' }, 1)
      await t.clock.advance('1h')
      expect(await statusOf(t, run)).toBe('COMPLETED')
    })
  })

  it('is told when it is canceled before it has one', async () => {
    const failed: unknown[] = []
    const told = async (call: Promise<unknown>): Promise<unknown> =>
      call.catch((error: unknown) => failed.push(error))
    await whileBusy(told, async (t, run) => {
      await t.clock.advance('6m')
      await t.engine.runs.cancel(run)
      await t.clock.advance('10m')
      expect(failed).toMatchObject([{ code: 'ERR_RUN_CANCELED' }])
    })
  })
})

describe('a parked run', () => {
  it('has its slot before one is kept for a run that it triggers', async () => {
    const clock = testClock({ mode: 'manual' })
    const { storage } = steeredStorage(memoryOfProject(), { claimsNew: true })
    const calls: string[] = []
    const child = task({ id: 'child', run: async (_payload: null) => void calls.push('begun') })
    const work = bodyTask(async ({ tasks }) => {
      const token = await wait.createToken({ timeout: '30d' })
      const beside = async (): Promise<void> => {
        await clock.sleep('5m')
        await tasks.trigger('child', null)
        calls.push('triggered')
      }
      await Promise.all([wait.forToken(token), beside()])
    })
    await using t = await createTestEngine({ tasks: [work, child], clock, storage, concurrency: 1 })
    const run = await t.engine.trigger(work, null)
    await clock.advance('6m')
    expect(calls).toEqual(['triggered', 'begun'])
    expect(await statusOf(t, run)).toBe('WAITING')
  })

  it('creates a token whose deadline counts from its creation, not from the call that waited for a slot', async () => {
    const clock = testClock({ mode: 'manual' })
    const busy = task({ id: 'busy', run: async (_payload: null) => clock.sleep('1h') })
    const work = bodyTask(async ({ wait }) => {
      const token = await wait.createToken({ timeout: '30d' })
      const beside = async (): Promise<void> => {
        await clock.sleep('5m')
        await wait.createToken({ timeout: '10m', tags: ['late'] })
      }
      await Promise.all([wait.forToken(token), beside()])
    })
    await using t = await createTestEngine({
      tasks: [work, busy],
      clock,
      storage: projectStorage(),
      concurrency: 1,
    })
    await t.engine.trigger(work, null)
    await clock.settle()
    await t.engine.trigger(busy, null)
    await clock.advance('61m')
    const [late] = (await t.engine.wait.listTokens({ tag: 'late' })).data
    expect(late?.status).toBe('WAITING')
    expect(Number(late?.timeoutAt) - Number(late?.createdAt)).toBe(600_000)
  })

  it('loses no stream that it registers before it returns, without a slot', async () => {
    const clock = testClock({ mode: 'manual' })
    const busy = task({ id: 'busy', run: async (_payload: null) => clock.sleep('1h') })
    const work = bodyTask(async ({ metadata }) => {
      const token = await wait.createToken({ timeout: '30d' })
      await Promise.race([wait.forToken(token), clock.sleep('5m')])
      metadata.stream('draft', chunksOf(clock)).catch(() => undefined)
    })
    await using t = await createTestEngine({
      tasks: [work, busy],
      clock,
      storage: projectStorage(),
      concurrency: 1,
    })
    const run = await t.engine.trigger(work, null)
    await clock.settle()
    await t.engine.trigger(busy, null)
    await clock.advance('10m')
    expect(await statusOf(t, run)).toBe('COMPLETED')
    const told: string[] = []
    await read(t.engine.streams.read(run.id, 'draft'), told)
    expect(told).toEqual(['1', '2'])
  })

  it('executes while a source goes on that it pipes to another run', async () => {
    const clock = testClock({ mode: 'manual' })
    const other = task({ id: 'other', run: async (_payload: null) => wait.for({ days: 1 }) })
    const work = bodyTask(async ({ streams }) => {
      const token = await wait.createToken({ timeout: '30d' })
      const beside = async (): Promise<void> => {
        await clock.sleep('5m')
        await streams.pipe('draft', chunksOf(clock), { target: to.id }).waitUntilComplete()
      }
      await Promise.all([wait.forToken(token), beside()])
    })
    await using t = await createTestEngine({ tasks: [work, other], clock, storage: projectStorage() })
    const to = await t.engine.trigger(other, null)
    const run = await t.engine.trigger(work, null)
    const statuses: string[] = []
    for (const time of ['4m', '70s', '5m'] as const) {
      await clock.advance(time)
      statuses.push(await statusOf(t, run))
    }
    expect(statuses).toEqual(['WAITING', 'EXECUTING', 'WAITING'])
  })
})

/** Two of them, in less than the minute that the streams of a run have once it has returned. */
async function* chunksOf(clock: TestClock): AsyncGenerator<number> {
  for (const chunk of [1, 2]) {
    await clock.sleep('20s')
    yield chunk
  }
}

/** What a run has the storage do beside its wait. */
const OUT: Readonly<Record<string, readonly [StorageOperation, (tools: RunTools) => PromiseLike<unknown>]>> =
  {
    'opens a stream': ['chunks.open', ({ streams }) => streams.append('draft', 1)],
    'appends a chunk': ['chunks.append', ({ streams }) => streams.append('draft', 1)],
    'creates a token': ['tokens.insert', ({ wait }) => wait.createToken()],
    'waits for another token': ['tokens.await', ({ wait }) => wait.for({ days: 1 })],
  }

it.each(Object.keys(OUT))('a run that %s does not park before storage has answered', async (name) => {
  const steering = steeredStorage(memoryOfProject())
  const { storage, calls } = steering
  let answer = (): void => undefined
  const work = bodyTask(async (tools) => {
    const token = await tools.wait.createToken({ timeout: '30d' })
    const waited = tools.wait.forToken(token).then()
    await until(() => calls.includes('tokens.await'))
    const [operation, call] = OUT[name] ?? []
    if (operation !== undefined) answer = steering.holdCall(operation)
    await Promise.all([waited, call?.(tools)])
  })
  await using t = await createTestEngine({ tasks: [work], storage })
  const run = await t.engine.trigger(work, null)
  // A run that may park does so after two turns.
  for (let turns = 0; turns < 20; turns += 1) await turn()
  expect(calls).not.toContain('runs.park')
  answer()
  await until(() => calls.includes('runs.park'))
  await t.engine.runs.cancel(run.id)
})

describe('a run that only waits', () => {
  it('makes no call of the storage beside those of its waits, one park and one resume', async () => {
    const { storage, calls } = steeredStorage(memoryOfProject())
    const asking = bodyTask(async () => {
      const answers: unknown[] = []
      for (const name of ['first', 'second']) {
        const token = await wait.createToken({ timeout: '30d', tags: [name] })
        answers.push(await wait.forToken(token).unwrap())
      }
      return answers
    })
    await using t = await createTestEngine({ tasks: [asking], storage, clock: { mode: 'manual' } })
    const run = await t.engine.trigger(asking, null)
    await t.clock.settle()
    for (const tag of ['first', 'second']) {
      const before = calls.length
      await t.clock.advance('1d')
      // A lease is renewed while it has an end, and what is left behind is looked for: nothing is written for the run.
      expect(calls.slice(before).filter((name) => /^(runs|tokens|chunks)\./.test(name))).toEqual([])
      await t.complete({ tag }, tag)
      await t.clock.settle()
    }
    expect(await run.result()).toEqual(['first', 'second'])
    const made = calls.slice(calls.indexOf('runs.insert')).filter((name) => WRITES.includes(name))
    const ofWait = ['tokens.insert', 'tokens.await', 'runs.park', 'tokens.settle', 'runs.resume']
    expect(made).toEqual(['runs.insert', 'runs.claim', ...ofWait, ...ofWait, 'runs.update'])
  })
})

describe('with one slot', () => {
  it('a child that an effect of once waits for has it meanwhile', async () => {
    const child = task({ id: 'child', run: async (_payload: null) => 'made' })
    const parent = bodyTask(() => once('effect', () => child.triggerAndWait(null).unwrap()))
    await using t = await createTestEngine({
      tasks: [parent, child],
      concurrency: 1,
      storage: projectStorage(),
    })
    expect(await (await t.engine.trigger(parent, null)).result()).toBe('made')
  })

  // As docs/waitpoints.md says: a wait inside of a source keeps the slot.
  it('a child that a source waits for does not begin before the source is stopped', async () => {
    const clock = testClock({ mode: 'manual' })
    let begun = 0
    const child = task({ id: 'child', run: async (_payload: null) => (begun += 1) })
    const parent = bodyTask(async ({ metadata }) => {
      await metadata.stream(
        'made',
        (async function* () {
          yield await child.triggerAndWait(null).unwrap()
        })(),
      )
      await wait.forToken(await wait.createToken({ timeout: '30d' }))
    })
    await using t = await createTestEngine({
      tasks: [parent, child],
      clock,
      concurrency: 1,
      storage: projectStorage(),
    })
    const run = await t.engine.trigger(parent, null)
    await clock.advance('5m')
    expect([begun, await statusOf(t, run)]).toEqual([0, 'EXECUTING'])
    await t.engine.runs.cancel(run)
    await clock.advance('5m')
  })
})

describe('a close that drains', () => {
  async function closed(
    kind: string,
    drainMs: string,
  ): Promise<{ readonly next: TestEngine; readonly id: string }> {
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const work = working(kind, clock)
    const first = await createTestEngine({ tasks: [work], storage, clock })
    const { id } = await first.engine.trigger(work, null)
    await clock.advance('2m')
    const left = first.engine.close({ drainMs })
    await clock.advance('10m')
    await left
    return { next: await createTestEngine({ tasks: [], storage, clock, seed: 2 }), id }
  }

  it.each(Object.keys(WORKS))('lets an open %s end, and the run park', async (kind) => {
    const { next, id } = await closed(kind, '10m')
    expect(await statusOf(next, { id })).toBe('WAITING')
    await next.close()
  })

  it.each(Object.keys(WORKS))(
    'leaves a run with an open %s to the next engine when its time is up',
    async (kind) => {
      const { next, id } = await closed(kind, '1m')
      expect(await statusOf(next, { id })).toBe('EXECUTING')
      await next.close()
    },
  )

  it('lets readers have all of a source', async () => {
    const { next, id } = await closed('source', '10m')
    const chunks: unknown[] = []
    for await (const chunk of next.engine.streams.read(id, 'draft')) if (chunks.push(chunk) === 5) break
    expect(chunks).toEqual([1, 2, 3, 4, 5])
    await next.close()
  })
})
