import fc from 'fast-check'
import { namedStorage } from '../../../src/testing/conformance/named-storage.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { RunChange, RunRecord } from '../../../src/contract/records.ts'
import type { Hint } from '../../../src/contract/storage.ts'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import {
  BY,
  HISTORY,
  MemoryFixture,
  OTHER,
  chunk,
  fence,
  idsOf,
  manualToken,
  queuedRun,
  waitOf,
} from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('every method', () => {
  it('never lets the instants of one record decrease, however the wall clock is set', () => {
    const instant = fc.integer({ min: 0, max: 99 })
    fc.assert(
      fc.property(instant, instant, instant, instant, (insertAt, claimAt, parkAt, endAt) => {
        const own = new MemoryFixture()
        own.insert('r', { createdAt: insertAt, updatedAt: insertAt }, insertAt)
        own.insertToken('t', { createdAt: insertAt }, insertAt)
        const [run] = own.claim({ now: claimAt }).runs
        own.storage.runs.park({ id: 'r', epoch: 1, parks: 1, by: BY, now: parkAt })
        const change = { status: 'COMPLETED', finishedAt: endAt } as const
        const end = { id: 'r', expected: { status: ['WAITING'] as const }, change, by: BY, now: endAt }
        const { createdAt, startedAt, finishedAt, updatedAt } =
          own.storage.runs.update(end)?.record ?? run ?? {}
        const token = own.settle('t', endAt)?.record
        for (const instants of [
          [createdAt, startedAt, finishedAt, updatedAt],
          [token?.createdAt, token?.completedAt],
        ]) {
          expect(instants).toEqual(instants.map(Number).toSorted((one, other) => one - other))
        }
      }),
    )
  })

  it('answers without a promise', () => {
    const plain = namedStorage(memoryStorage())
    const run = queuedRun('r')
    const request = { id: 'r', epoch: 0, parks: 1, by: BY, now: 0 }
    const answers: unknown[] = [
      plain.open(),
      plain.tick({ owner: BY, leaseUntil: 9, now: 0, limit: 1 }),
      plain.runs.insert({ record: run, now: 0, by: BY }),
      plain.runs.get('r'),
      plain.runs.list({}, { limit: 1 }),
      plain.runs.waits('r'),
      plain.runs.update({ id: 'r', expected: { status: [] }, change: {}, by: BY, now: 0 }),
      plain.runs.park(request),
      plain.runs.resume(request),
      plain.tokens.insert({ record: manualToken('t'), now: 0, by: BY }),
      plain.tokens.get('t', 0),
      plain.tokens.list({ kind: 'MANUAL' }, { limit: 1 }, 0),
      plain.tokens.await({ tokenId: 't', runId: 'r', epoch: 0, by: BY, now: 0 }),
      plain.tokens.settle({ id: 't', outputJson: undefined, by: BY, now: 0 }),
      plain.tokens.release([]),
      plain.chunks.open({ runId: 'r', key: 'k', epoch: 0, attempt: 1, by: BY, now: 0 }),
      plain.chunks.read({ runId: 'r', key: 'k', from: 0, limit: 1 }),
      plain.settings.getOrInsert('a', 'b'),
      plain.prune({ before: 0, limit: 1, now: 0 }),
      plain.leave({ owner: BY, now: 0 }),
    ]
    expect(answers.filter((answer) => answer instanceof Promise)).toEqual([])
    expect(answers.length).toBeGreaterThan(15)
  })

  it('replaces records and leaves those it handed out as they were', () => {
    memory.insert('r')
    memory.insertToken('t', { timeoutAt: 10 })
    const handed: unknown[] = [memory.storage.runs.get('r')]
    const run = memory.start('r2')
    handed.push(run, memory.storage.tokens.get('t', 0), memory.wait(run, 't'))
    handed.push(
      memory.storage.chunks.open({ runId: run.id, key: 'k', epoch: run.epoch, attempt: 1, by: BY, now: 0 }),
    )
    const before = JSON.stringify(handed)
    memory.storage.runs.park(fence(run))
    memory.settle('t', 5)
    memory.finish(run)
    expect(JSON.stringify(handed)).toBe(before)
  })
})

describe('tick', () => {
  it('hands ready waits over again until they are released', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.settle('t', 0, OTHER)
    expect(memory.tick(BY).ready).toEqual([waitOf('t', 'r')])
    expect(memory.tick(BY).ready).toEqual([waitOf('t', 'r')])
    memory.storage.runs.park(fence(run))
    memory.storage.runs.resume(fence(run))
    expect(memory.tick(BY).ready).toEqual([waitOf('t', 'r')])
    memory.storage.tokens.release([waitOf('t', 'r')])
    expect(memory.tick(BY).ready).toEqual([])
  })

  it('settles what is due, at most as much as asked for', () => {
    memory.insertToken('t1', { timeoutAt: 3 })
    memory.insertToken('t2', { kind: 'SLEEP', timeoutAt: 2 })
    memory.insert('r1', { expiresAt: 4 })
    const first = memory.tick(BY, 10, { limit: 1 })
    expect(first).toMatchObject({ settled: [{ id: 't2', status: 'COMPLETED', completedAt: 2 }], expired: [] })
    expect(first.nextDue).toEqual({ at: 3, what: 'token t1' })
    const second = memory.tick(BY, 10)
    expect(second).toMatchObject({
      settled: [{ id: 't1', status: 'TIMED_OUT', completedAt: 3 }],
      expired: [{ record: { id: 'r1', status: 'EXPIRED', finishedAt: 4 } }],
    })
    expect(second.nextDue).toBeUndefined()
  })

  it('says when to come again, and forgets what is settled', () => {
    expect(memory.tick(BY).nextDue).toBeUndefined()
    memory.insertToken('t1', { timeoutAt: 5 })
    memory.insertToken('t2', { timeoutAt: 3 })
    memory.insert('r1', { status: 'DELAYED', wakeAt: 7, expiresAt: 9 })
    expect(memory.tick(BY).nextDue).toEqual({ at: 3, what: 'token t2' })
    memory.settle('t2')
    expect(memory.tick(BY).nextDue).toEqual({ at: 5, what: 'token t1' })
    memory.settle('t1')
    expect(memory.tick(BY)).toMatchObject({ nextDue: { at: 7, what: 'run r1' }, claimable: false })
    expect(memory.tick(BY, 7)).toMatchObject({ nextDue: { at: 9, what: 'run r1' }, claimable: true })
    expect(idsOf(memory.claim({ now: 8 }).runs)).toEqual(['r1'])
    expect(memory.tick(BY, 8)).toMatchObject({ claimable: false })
    expect(memory.tick(BY, 8).nextDue).toBeUndefined()
  })
})

describe('owners that are gone', () => {
  function startAs(owner: string, ...ids: string[]): readonly RunRecord[] {
    memory.tick(owner, 0, { leaseUntil: 100 })
    for (const id of ids) memory.insert(id)
    return memory.claim({ by: owner }).runs
  }

  it('lose what they executed at leaseUntil, counted as an interruption', () => {
    startAs(OTHER, 'r')
    expect(memory.tick(BY, 1)).toMatchObject({
      nextDue: undefined,
      nextLease: { at: 100, what: `lease ${OTHER}` },
    })
    expect(memory.claim({ now: 99 }).runs).toEqual([])
    expect(memory.tick(BY, 100)).toMatchObject({ claimable: true })
    expect(memory.claim({ now: 100 }).runs[0]).toMatchObject({
      attempt: 2,
      policyAttempt: 1,
      interruptions: 1,
      epoch: 2,
      owner: BY,
    })
    expect(memory.tick(OTHER, 100).alive).toBe(false)
    expect(memory.tick(OTHER, 200).alive).toBe(false)
  })

  it('are not waited for while they hold nothing', () => {
    const [run] = startAs(OTHER, 'r')
    memory.finish(run!)
    expect(memory.tick(BY, 1).nextLease).toBeUndefined()
  })

  it('need no renewal while their owner is alone, which is told when another one comes', () => {
    const hints: Hint[] = []
    memory.storage.leave({ owner: BY, now: 0 })
    memory.storage.subscribe(OTHER, (hint) => hints.push(hint))
    expect(memory.tick(OTHER, 0, { leaseUntil: 100, endless: true }).leaseUntil).toBeUndefined()
    memory.insert('r')
    expect(memory.claim({ by: OTHER, now: 5_000 }).runs).toHaveLength(1)
    hints.length = 0

    const arrival = memory.tick(BY, 6_000, { leaseUntil: 6_100, endless: true })
    expect(arrival).toMatchObject({ leaseUntil: 6_100, nextLease: { at: 6_100 } })
    expect(hints).toContainEqual({ topic: 'waits' })
    expect(memory.claim({ by: BY, now: 6_099 }).runs).toEqual([])
  })

  it('end at the arrival of another engine, unless they are renewed', () => {
    memory.storage.leave({ owner: BY, now: 0 })
    memory.tick(OTHER, 0, { leaseUntil: 100, endless: true })
    memory.insert('r')
    memory.claim({ by: OTHER, now: 5_000 })
    memory.tick(BY, 6_000, { leaseUntil: 6_100 })
    memory.tick(BY, 6_050, { leaseUntil: 6_900 })
    expect(memory.claim({ by: BY, now: 6_099 }).runs).toEqual([])
    expect(memory.claim({ by: BY, now: 6_100 }).runs).toHaveLength(1)
  })

  it('stay alive as long as they tick', () => {
    startAs(OTHER, 'r')
    memory.tick(OTHER, 50, { leaseUntil: 150 })
    expect(memory.claim({ now: 149 }).runs).toEqual([])
    expect(memory.claim({ now: 150 }).runs).toHaveLength(1)
  })

  it('leave without counting as interrupted', () => {
    startAs(OTHER, 'r')
    memory.storage.leave({ owner: OTHER, now: 5 })
    expect(memory.storage.runs.get('r')).toMatchObject({ status: 'EXECUTING', owner: undefined, epoch: 1 })
    expect(memory.tick(BY, 5)).toMatchObject({ claimable: true })
    expect(memory.claim({ now: 5 }).runs[0]).toMatchObject({ attempt: 2, interruptions: 0, epoch: 2 })
  })

  it('crash a run past maxInterruptions, which frees its slot and tells its parent', () => {
    const parent = memory.start('parent')
    startAs(OTHER, 'r')
    memory.wait(parent, 'run:r')
    memory.insert('next')
    const queueLimits = new Map([['queue', 2]])
    const { runs, ended } = memory.claim({ now: 100, maxInterruptions: 0, queueLimits })
    expect(ended).toMatchObject([
      {
        record: { status: 'CRASHED', interruptions: 1, epoch: 2, slot: false },
        ready: [waitOf('run:r', 'parent')],
      },
    ])
    expect(idsOf(runs)).toEqual(['next'])
  })

  it('crash nothing when they leave, however often it was interrupted before', () => {
    startAs(OTHER, 'r')
    memory.claim({ now: 100 })
    memory.storage.leave({ owner: BY, now: 101 })
    memory.tick('engine-c', 101)
    const { runs } = memory.claim({ by: 'engine-c', now: 101, maxInterruptions: 0 })
    expect(runs).toMatchObject([{ id: 'r', interruptions: 1 }])
  })

  it('complete a run that had returned', () => {
    const [run] = startAs(OTHER, 'r')
    const change = { returned: true, slot: false, outputJson: '42' }
    memory.storage.runs.update({
      id: run!.id,
      expected: { status: ['EXECUTING'] },
      change,
      by: OTHER,
      now: 1,
    })
    const { runs, ended } = memory.claim({ now: 100 })
    expect(runs).toEqual([])
    expect(ended[0]?.record).toMatchObject({
      status: 'COMPLETED',
      outputJson: '42',
      epoch: 2,
      finishedAt: 100,
    })
  })

  it('leave their parked runs asleep until a wait is settled', () => {
    const [run] = startAs(OTHER, 'r')
    memory.insertToken('t')
    memory.wait(run!, 't')
    memory.storage.runs.park(fence(run!))
    expect(memory.claim({ now: 100 }).runs).toEqual([])
    expect(memory.tick(BY, 100)).toMatchObject({ claimable: false })
    expect(memory.settle('t', 101)?.ready).toEqual([waitOf('t', 'r', OTHER)])
    expect(memory.tick(BY, 101)).toMatchObject({ claimable: true, ready: [] })
    expect(memory.claim({ now: 101 }).runs[0]).toMatchObject({
      status: 'EXECUTING',
      interruptions: 0,
      attempt: 2,
    })
    expect(memory.storage.runs.waits('r')).toEqual([])
  })

  it('leave parked runs behind that wake when a wait is due, ticked or not', () => {
    const [run] = startAs(OTHER, 'r')
    memory.insertToken('t', { timeoutAt: 200 })
    memory.wait(run!, 't')
    memory.storage.runs.park(fence(run!))
    memory.storage.leave({ owner: OTHER, now: 5 })
    expect(memory.claim({ now: 199 }).runs).toEqual([])
    expect(memory.tick(BY, 199).nextDue).toEqual({ at: 200, what: 'token t' })
    expect(idsOf(memory.claim({ now: 200 }).runs)).toEqual(['r'])
    expect(memory.storage.tokens.get('t', 200)?.record.status).toBe('TIMED_OUT')
  })

  it('leave parked runs behind that wake when their child ends', () => {
    const child = memory.start('child')
    const [run] = startAs(OTHER, 'r')
    memory.wait(run!, 'run:child')
    memory.storage.runs.park(fence(run!))
    memory.storage.leave({ owner: OTHER, now: 5 })
    expect(memory.claim({ now: 5 }).runs).toEqual([])
    memory.finish(child)
    expect(idsOf(memory.claim({ now: 5 }).runs)).toEqual(['r'])
  })

  it('cannot let go of what wakes their parked runs', () => {
    const [run] = startAs(OTHER, 'r')
    memory.insertToken('t')
    memory.wait(run!, 't')
    memory.storage.runs.park(fence(run!))
    memory.claim({ now: 100 })
    memory.storage.tokens.release([waitOf('t', 'r')])
    memory.settle('t', 101)
    expect(idsOf(memory.claim({ now: 101 }).runs)).toEqual(['r'])
  })

  it('do not keep a full queue from being recovered', () => {
    const queueLimits = new Map([['queue', 1]])
    const [older] = startAs(OTHER, 'r1')
    memory.insertToken('t')
    memory.wait(older!, 't')
    memory.storage.runs.park(fence(older!))
    startAs(OTHER, 'r2')
    memory.settle('t')
    const { runs } = memory.claim({ now: 100, queueLimits })
    expect(idsOf(runs)).toEqual(['r2'])
    memory.insert('r3')
    memory.finish(runs[0]!)
    expect(idsOf(memory.claim({ now: 100, queueLimits }).runs)).toEqual(['r1'])
  })

  it('come first, before what is queued', () => {
    startAs(OTHER, 'r2')
    memory.insert('r1', { priorityMs: 5 })
    expect(idsOf(memory.claim({ now: 100 }).runs)).toEqual(['r2', 'r1'])
  })

  it('never lose a parked run while they are alive', () => {
    const [run] = startAs(OTHER, 'r')
    memory.insertToken('t')
    memory.wait(run!, 't')
    memory.storage.runs.park(fence(run!))
    memory.settle('t', 50)
    expect(memory.claim({ now: 50 }).runs).toEqual([])
    expect(memory.tick(OTHER, 50).ready).toEqual([waitOf('t', 'r', OTHER)])
  })
})

describe('retention', () => {
  it('is an hour, a hundred thousand records and 256 MiB', () => {
    expect(memoryStorage().retention).toEqual({
      maxAgeMs: 3_600_000,
      maxCount: 100_000,
      maxBytes: 268_435_456,
    })
  })

  it('counts the texts of runs that have ended, and what their attempts have thrown', async () => {
    async function bytesOf(change: RunChange): Promise<number> {
      const storage = namedStorage(memoryStorage())
      await storage.runs.insert({ record: queuedRun('r'), now: 0, by: BY })
      const expected = { status: ['QUEUED'] } as const
      await storage.runs.update({
        id: 'r',
        expected,
        change: { status: 'CANCELED', ...change },
        by: BY,
        now: 1,
      })
      return storage.endedBytes?.() ?? 0
    }
    const text = 'x'.repeat(5_000)
    const none = await bytesOf({})
    expect(none).toBeGreaterThan(0)
    for (const change of [{ attemptsJson: text }, { errorJson: text }, { metadataJson: text }])
      expect((await bytesOf(change)) - none).toBe(5_000)
  })
})

describe('settings', () => {
  it('store the first candidate', () => {
    expect(memory.storage.settings.getOrInsert('secret', 'one')).toBe('one')
    expect(memory.storage.settings.getOrInsert('secret', 'two')).toBe('one')
    expect(memory.storage.settings.getOrInsert('other', 'two')).toBe('two')
  })
})

describe('subscribe', () => {
  function listen(owner: string): Hint[] {
    const hints: Hint[] = []
    memory.storage.subscribe(owner, (hint) => hints.push(hint))
    return hints
  }

  it('hints at every change, to the others only', () => {
    const own = listen(BY)
    const others = listen(OTHER)
    const told = () => others.splice(0)
    memory.insert('r')
    expect(told()).toEqual([{ topic: 'queue' }, { topic: 'run', runId: 'r', goesOn: true, isNew: true }])
    const [run] = memory.claim().runs
    expect(told()).toEqual([{ topic: 'run', runId: 'r' }])
    memory.insertToken('t')
    expect(told()).toEqual([{ topic: 'token' }])
    memory.wait(run!, 't')
    expect(told()).toEqual([])
    memory.settle('t')
    expect(told()).toEqual([{ topic: 'token' }])
    memory.storage.chunks.open({ runId: 'r', key: 'k', epoch: 1, attempt: 1, by: BY, now: 0 })
    expect(told()).toEqual([
      { topic: 'run', runId: 'r' },
      { topic: 'stream', runId: 'r', key: 'k' },
    ])
    memory.storage.chunks.append({
      runId: 'r',
      key: 'k',
      epoch: 1,
      first: 0,
      chunks: [chunk(1)],
      history: HISTORY,
      by: BY,
    })
    expect(told()).toEqual([{ topic: 'stream', runId: 'r', key: 'k' }])
    memory.storage.leave({ owner: BY, now: 0 })
    expect(told()).toContainEqual({ topic: 'queue' })
    expect(own).toEqual([])
  })

  it('tells the owner of a wait that another owner settled, once', () => {
    const own = listen(BY)
    const run = memory.start('r1')
    const second = memory.start('r2')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.wait(second, 't')
    memory.settle('t', 0, OTHER)
    expect(own).toEqual([{ topic: 'token' }, { topic: 'waits' }])
  })

  it('tells all owners of a wait that a read settled', () => {
    const own = listen(BY)
    const run = memory.start('r')
    memory.insertToken('t', { timeoutAt: 5 })
    memory.wait(run, 't')
    memory.storage.tokens.get('t', 5)
    expect(own).toEqual([{ topic: 'token' }, { topic: 'waits' }])
  })

  it('tells of a slot that was given back while another owner waits for one', () => {
    const others = listen(OTHER)
    const run = memory.start('r1')
    memory.insert('r2')
    memory.claim({ queueLimits: new Map([['queue', 1]]) })
    others.length = 0
    memory.finish(run)
    expect(others).toContainEqual({ topic: 'queue' })
    memory.finish(memory.claim().runs[0]!)
    others.length = 0
    memory.start('r3')
    memory.finish({ id: 'r3' })
    expect(others.filter((hint) => hint.topic === 'queue')).toHaveLength(1)
  })

  it('keeps what a listener throws from the caller and from the others', () => {
    memory.storage.subscribe(OTHER, () => {
      throw new Error('listener')
    })
    const others = listen(OTHER)
    expect(memory.insert('r').isCached).toBe(false)
    expect(others).toHaveLength(2)
  })

  it('sends when the change is complete, so that a listener may call again', () => {
    memory.tick(OTHER)
    const claimed: string[] = []
    memory.storage.subscribe(OTHER, ({ topic }) => {
      if (topic === 'queue') claimed.push(...idsOf(memory.claim({ by: OTHER }).runs))
    })
    memory.insert('r')
    expect(claimed).toEqual(['r'])
  })

  it('ends with the unsubscription', () => {
    const hints: Hint[] = []
    const unsubscribe = memory.storage.subscribe(OTHER, (hint) => hints.push(hint))
    unsubscribe()
    unsubscribe()
    memory.insert('r')
    expect(hints).toEqual([])
  })
})
