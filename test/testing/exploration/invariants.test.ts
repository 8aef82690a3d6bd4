import { describe, expect, it } from 'vitest'
import { metadata, task, wait } from 'waitpoint'
import { type Adapter, type Body, type Invariant } from 'waitpoint/testing'
import { AttemptWatcher } from '../../../src/testing/exploration/attempt-watcher.ts'
import { ContextWatcher } from '../../../src/testing/exploration/context-watcher.ts'
import { Names } from '../../../src/testing/exploration/names.ts'
import { Process } from '../../../src/testing/exploration/process.ts'
import { ScheduleTimers } from '../../../src/testing/exploration/schedule-timers.ts'
import type { StorageCall } from '../../../src/testing/exploration/storage-call.ts'
import { rejection } from '../../support/body-task.ts'
import { askAll, exploreAll } from './bodies.ts'

const review = askAll(['ada'])
const flaky = task({
  id: 'flaky',
  retry: { maxAttempts: 2, minTimeoutInMs: 1_000, maxTimeoutInMs: 1_000, factor: 1, randomize: false },
  run: (_payload: null) => {
    throw new Error('again')
  },
})
const stream = task({
  id: 'stream',
  run: async (_payload: null) => {
    await metadata.stream('words', words())
  },
})

async function* words(): AsyncGenerator<string> {
  for (const word of ['a', 'b', 'c']) yield word
}

const asks: Body = async (t) => {
  const run = await t.engine.trigger(review, null)
  await t.complete({ tag: 'ada' }, 'yes')
  await run.outcome()
}

const asksLater: Body = async (t) => {
  const run = await t.engine.trigger(review, null)
  await t.complete({ tag: 'ada' }, 'yes', { at: '+1h' })
  await run.outcome()
}

const reads: Body = async (t) => {
  const run = await t.engine.trigger(stream, null)
  const keys: string[] = []
  for await (const { type } of t.engine.runs.subscribeToRun(run.id).withStreams()) keys.push(type)
}

const fails: Body = async (t) => {
  await (await t.engine.trigger(flaky, null)).outcome()
}

/** One adapter for each invariant, which breaks it in the first schedule. */
const broken: readonly (readonly [Invariant, Body, Adapter])[] = [
  [
    'tokens are linearizable',
    async (t) => {
      await (await t.engine.trigger(review, null)).outcome()
    },
    (storage) => ({
      ...storage,
      tokens: {
        ...storage.tokens,
        // A cache that is never cleared.
        await: async (request) => {
          const read = await storage.tokens.get(request.tokenId, request.now)
          if (read === undefined) return { outcome: 'unknown' }
          const token = { ...read.record, status: 'COMPLETED', outputJson: '"made up"' } as const
          return { outcome: 'settled', token, settledNow: false }
        },
      },
    }),
  ],
  [
    'no acknowledged completion lost',
    asks,
    (storage) => ({
      ...storage,
      tokens: {
        ...storage.tokens,
        settle: async ({ id, outputJson, now }) => {
          const read = await storage.tokens.get(id, now)
          if (read === undefined) return undefined
          const record = { ...read.record, status: 'COMPLETED', outputJson } as const
          return { record, won: true, settledNow: true, ready: [] }
        },
      },
    }),
  ],
  [
    'waiter and storage agree',
    async (t) => {
      await t.engine.trigger(review, null)
      await t.waitingToken({ isAtRest: true })
    },
    (storage) => ({ ...storage, runs: { ...storage.runs, waits: () => [] } }),
  ],
  [
    'every waiter released exactly once',
    asksLater,
    (storage) => ({
      ...storage,
      tokens: {
        ...storage.tokens,
        settle: async (request) => {
          const settled = await storage.tokens.settle(request)
          if (settled === undefined || settled === 'stale') return settled
          return { ...settled, ready: [...settled.ready, ...settled.ready] }
        },
      },
    }),
  ],
  [
    'attempts within policy',
    fails,
    (storage) => ({
      ...storage,
      runs: {
        ...storage.runs,
        claim: async (request) => {
          const { runs, ended } = await storage.runs.claim(request)
          return { runs: runs.map((run) => ({ ...run, policyAttempt: run.policyAttempt + 2 })), ended }
        },
      },
    }),
  ],
  [
    'attempts within policy',
    fails,
    (storage) => ({
      ...storage,
      runs: {
        ...storage.runs,
        claim: async (request) => {
          const { runs, ended } = await storage.runs.claim(request)
          return { runs: runs.map((run) => ({ ...run, attempt: 1 })), ended }
        },
      },
    }),
  ],
  [
    'readers see a contiguous run of chunks',
    reads,
    (storage) => ({
      ...storage,
      chunks: {
        ...storage.chunks,
        read: async (request) => {
          const read = await storage.chunks.read(request)
          return read && { ...read, first: read.first + 1 }
        },
      },
    }),
  ],
]

describe('invariants', () => {
  it.each(broken)(
    '%s: found in a storage that breaks it, and in no other',
    async (invariant, body, adapter) => {
      const options = { tasks: [review, flaky, stream], maxDeviations: 0 }
      await exploreAll(body, options)
      expect(await rejection(exploreAll(body, { ...options, adapter }))).toMatchObject({ invariant })
    },
  )

  it('attempts within policy: a claim may be answered when another engine has the run', () => {
    const watcher = new AttemptWatcher(new Names(), () => 3)
    const process = new Process({ name: 'worker', isMortal: true })
    const claim = (attempt: number, calledAt: number, answeredAt: number): void => {
      const answer = { runs: [{ id: 'run_a', taskId: 'a', attempt, policyAttempt: attempt }] }
      const args = [{ by: `engine_${calledAt}`, number: 1 }]
      const call = { name: 'runs.claim', args, calledAt, now: 0, process, reply: { answeredAt, answer } }
      // As much of a claim as is looked at.
      watcher.answered(call as unknown as StorageCall)
    }
    claim(2, 2, 3)
    claim(1, 1, 4)
    expect(() => claim(1, 5, 6)).toThrow('attempt 1 was claimed after attempt 2')
  })

  it('context preserved: a wait in the context of another run is a violation', () => {
    const names = new Names()
    names.run('run_a', 'one')
    names.run('run_b', 'other')
    const request = { tokenId: 'waitpoint_x', runId: 'run_a', epoch: 1, by: 'engine', now: 0 }
    const watcher = new ContextWatcher(names)
    const awaitIn = (runId: string): void => {
      const process = new Process({ name: 'engine', isMortal: true })
      watcher.called({ name: 'tokens.await', args: [request], calledAt: 1, now: 0, process, runId })
    }
    awaitIn('run_a')
    expect(() => awaitIn('run_b')).toThrow('of run "one" was made in the context of run "other"')
  })

  it('nothing left at dispose: what user code still sleeps on is its own business', async () => {
    const napper = task({ id: 'napper', run: (_payload: null) => wait.for({ hours: 1 }) })
    const body: Body = async (t) => {
      t.use(napper, task({ id: 'sleeper', run: (_payload: null) => t.clock.sleep('1h') }))
      await t.engine.trigger(napper, null)
      await t.engine.tasks.trigger('sleeper', null)
    }
    await exploreAll(body, { maxDeviations: 1 })
  })
})

describe('ScheduleTimers', () => {
  it('move time to a timer, and fire what is due on the way in order, each once', () => {
    const timers = new ScheduleTimers(new Names())
    const start = timers.now
    const fired: [string, number][] = []
    const set = (label: string, at: number): void => {
      timers.set(() => fired.push([label, timers.now - start]), { at: start + at, label })
    }
    set('late', 30)
    set('early', 10)
    set('same', 10)
    expect(timers.upcoming().map(({ label }) => label)).toEqual(['time/early#1', 'time/same#1'])
    const [, same] = timers.upcoming()
    timers.fire(same!)
    const [early] = timers.due()
    timers.fire(early!)
    set('soon', 20)
    timers.fire(timers.upcoming()[0]!)
    timers.fire(timers.upcoming()[0]!)
    expect(fired).toEqual([
      ['same', 10],
      ['early', 10],
      ['soon', 20],
      ['late', 30],
    ])
    expect(() => timers.fire(same!)).toThrow('fired twice')
  })
})
