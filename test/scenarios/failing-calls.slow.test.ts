import { describe, expect, it } from 'vitest'
import { type Engine, once, StorageUnavailableError, task, wait } from 'waitpoint'
import { createTestEngine, type StorageOperation, testClock } from 'waitpoint/testing'
import type { Storage } from '../../src/contract/storage.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'
import { isFarAway, isInMemory, projectStorage } from '../support/abandon.ts'
import { RUN_OPERATIONS } from '../support/run-operations.ts'

/** An operation, or the subscription to the hints of a storage. */
type Failing = StorageOperation | 'subscribe'

const OPERATIONS: readonly Failing[] = [
  'open',
  'settings.getOrInsert',
  'subscribe',
  'prune',
  'leave',
  'runs.asked',
  'tokens.release',
  'chunks.read',
  ...RUN_OPERATIONS,
]

/** Each of the first calls fails in its turn: more in memory, where a scene takes milliseconds. */
const MOST_CALLS = isInMemory() ? 20 : isFarAway() ? 2 : 4

/** The other engine only answers: on a server its renewals, each ten seconds for a quarter of an hour, took a third of the time. */
const OTHER_LEASE_MS = isFarAway() ? 600_000 : 30_000

/** How a call fails: at once or later, because the storage is away or because of a defect. */
const FAILURES: readonly (readonly [how: string, fail: (answer: () => unknown) => unknown])[] = [
  ['throws that it is away', () => refuse(new StorageUnavailableError('away', { mayBeDone: false }))],
  ['throws a defect', () => refuse(new Error('a defect'))],
  ['rejects a defect', () => Promise.reject(new Error('a defect'))],
  [
    'loses its answer',
    async (answer) => {
      await answer()
      throw new StorageUnavailableError('cut', { mayBeDone: true })
    },
  ],
]

function refuse(error: Error): never {
  throw error
}

const child = task({ id: 'child', run: async (_: null) => wait.for({ minutes: 1 }) })
const all = task({
  id: 'all',
  retry: { maxAttempts: 2, minTimeoutInMs: 1_000 },
  run: async (_: null, { metadata, streams, runs, ctx }) => {
    metadata.set('a', 1)
    await once('mail', () => 'sent')
    const race = [child.triggerAndWait(null), wait.for({ hours: 1 })]
    await streams.append('s', 'one')
    await runs.retrieve(ctx.run.id)
    await Promise.race(race)
    const loser = new AbortController()
    const dropped = wait.forToken(await wait.createToken(), { signal: loser.signal })
    dropped.catch(() => undefined)
    await wait.for({ seconds: 1 })
    loser.abort()
    await wait.forToken(await wait.createToken({ timeout: '1m' }))
  },
})

interface FailingStorage {
  readonly storage: Storage
  /** Whether there was such a call. */
  readonly hasFailed: () => boolean
}

/** The storage with its `nth` call of one operation failing. */
function failing(
  storage: Storage,
  name: Failing,
  nth: number,
  fail: (answer: () => unknown) => unknown,
): FailingStorage {
  let calls = 0
  const isNext = (operation: Failing): boolean => operation === name && (calls += 1) === nth
  const wrapped = wrapStorage(storage, (operation, ask) => (...args) => {
    if (!isNext(operation)) return ask(...args)
    return fail(() => ask(...args)) as ReturnType<typeof ask>
  })
  // Nothing can be lost of a subscription, which is no question: it is there, or throws.
  const subscribe: Storage['subscribe'] = (...args) =>
    isNext('subscribe') ? refuse(new Error('a defect')) : storage.subscribe(...args)
  return { storage: { ...wrapped, subscribe }, hasFailed: () => calls >= nth }
}

/** What was thrown into the process meanwhile. */
async function thrownIntoHost(act: () => Promise<unknown>): Promise<unknown[]> {
  const thrown: unknown[] = []
  const note = (error: unknown): void => void thrown.push(error)
  process.on('unhandledRejection', note)
  process.on('uncaughtException', note)
  try {
    await act().catch(() => undefined)
    await new Promise((resolve) => setImmediate(resolve))
  } finally {
    process.off('unhandledRejection', note)
    process.off('uncaughtException', note)
  }
  return thrown
}

/** Reads all there is to read of a run, as long as it lives. */
async function follow(engine: Engine, runId: string): Promise<void> {
  for await (const part of engine.runs.subscribeToRun(runId).withStreams()) part.type satisfies string
}

async function live(storage: Storage, other: Storage): Promise<void> {
  const clock = testClock({ mode: 'manual' })
  const silently = (promise: Promise<unknown>): Promise<unknown> => promise.catch(() => undefined)
  const [one, two] = await Promise.all([
    createTestEngine({ tasks: [all, child], storage, clock, seed: 1, retention: { maxAge: '2m' } }),
    createTestEngine({ tasks: [], storage: other, clock, seed: 2, leaseMs: OTHER_LEASE_MS }),
  ])
  const run = await one.engine.trigger(all, null).catch(() => undefined)
  if (run !== undefined) silently(run.result()).catch(() => undefined)
  if (run !== undefined) void silently(follow(one.engine, run.id))
  await silently(clock.advance('30s'))
  // An engine that is a day ahead ends the leases of all others.
  const ahead = clock.now() + 86_400_000
  await other.tick({ owner: 'ahead', leaseUntil: ahead + 1, now: ahead, limit: 0 })
  for (let minute = 0; minute < 5; minute += 1) {
    await silently(clock.advance('1m'))
    await silently(one.engine.wait.listTokens())
    const { data } = await two.engine.wait.listTokens({ status: 'WAITING' })
    for (const token of data) {
      await silently(one.engine.wait.retrieveToken(token))
      await two.engine.wait.completeToken(token, 'yes')
    }
  }
  if (run !== undefined) await silently(one.engine.runs.cancel(run))
  await silently(clock.advance('10m'))
  await silently(one.close())
  await silently(two.close())
}

describe.each(FAILURES)('a call of the storage that %s', (_how, fail) => {
  it.each(OPERATIONS)('throws nothing into the process: %s', async (name) => {
    let calls = 0
    for (let hasFailed = true; hasFailed && calls < MOST_CALLS; calls += 1) {
      const storage = projectStorage()
      const failingStorage = failing(storage, name, calls + 1, fail)
      const thrown = await thrownIntoHost(() => live(failingStorage.storage, storage))
      expect(thrown, `call ${calls + 1}`).toEqual([])
      hasFailed = failingStorage.hasFailed()
    }
    expect(calls).toBeGreaterThan(1)
  })
})
