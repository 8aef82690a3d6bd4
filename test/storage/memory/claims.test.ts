import { beforeEach, describe, expect, it } from 'vitest'
import { BY, MemoryFixture, OTHER, fence, idsOf, queuedRun } from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('runs.claim', () => {
  it('hands out a parked run that has begun to wait since its owner was gone', () => {
    memory.tick(OTHER, 0, { leaseUntil: 10 })
    memory.insert('r')
    const [run] = memory.claim({ by: OTHER }).runs
    if (run === undefined) throw new Error('nothing was claimed')
    memory.storage.runs.park(fence(run))
    memory.insertToken('t', { timeoutAt: 50 })
    expect(memory.claim({ now: 20 }).runs).toEqual([])
    expect(memory.wait(run, 't', 20)).toMatchObject({ outcome: 'registered' })
    memory.insert('later', {}, 20)
    expect(idsOf(memory.claim({ now: 60, limit: 1 }).runs)).toEqual(['r'])
  })

  it('hands out nothing without a live lease', () => {
    memory.insert('r')
    expect(memory.claim({ by: OTHER }).runs).toEqual([])
    memory.tick(OTHER, 0, { leaseUntil: 10 })
    expect(memory.claim({ by: OTHER, now: 10 }).runs).toEqual([])
    expect(memory.claim({ now: 10 }).runs).toHaveLength(1)
  })

  it('hands each run out once, oldest first, as many as asked for', () => {
    memory.insert('r3', { createdAt: 3 })
    memory.insert('r1', { createdAt: 1 })
    memory.insert('r2', { createdAt: 2, taskId: 'other' })
    memory.insert('r4', { createdAt: 2 })
    const taskIds = ['task', 'other']
    expect(idsOf(memory.claim({ limit: 3, taskIds }).runs)).toEqual(['r1', 'r2', 'r4'])
    expect(idsOf(memory.claim({ limit: 3, taskIds }).runs)).toEqual(['r3'])
  })

  it('keeps the order of arrival within one instant, across queues and tasks', () => {
    for (const [id, queue, taskId] of [
      ['r1', 'a', 'task'],
      ['r2', 'a', 'task'],
      ['r3', 'b', 'other'],
      ['r4', 'a', 'other'],
      ['r5', 'b', 'task'],
    ] as const) {
      memory.insert(id, { queue, taskId })
    }
    expect(idsOf(memory.claim({ taskIds: ['other', 'task'] }).runs)).toEqual(['r1', 'r2', 'r3', 'r4', 'r5'])
  })

  it('makes a run execute with a raised fence', () => {
    memory.insert('r', { createdAt: 1, updatedAt: 1 })
    expect(memory.claim({ now: 7 }).runs[0]).toEqual(
      queuedRun('r', {
        status: 'EXECUTING',
        createdAt: 1,
        attempt: 1,
        policyAttempt: 1,
        owner: BY,
        epoch: 1,
        slot: true,
        startedAt: 7,
        updatedAt: 7,
      }),
    )
  })

  it('as a muster answers what its caller executes, and claims nothing', () => {
    for (const id of ['r1', 'r2', 'r3', 'r4']) memory.insert(id)
    const first = memory.claim({ number: 1, limit: 3 })
    memory.finish({ id: 'r2' })
    expect(memory.claim({ number: 2, limit: 0 }).runs).toEqual([first.runs[0], first.runs[2]])
    expect(idsOf(memory.claim({ number: 3 }).runs)).toEqual(['r4'])
    expect(memory.claim({ number: 3 })).toEqual({ runs: [], ended: [] })
  })

  it('as a muster does not answer what another owner has taken over, or what the next attempt waits for', () => {
    memory.insert('r1')
    memory.insert('r2')
    memory.tick(OTHER, 0, { leaseUntil: 10 })
    expect(memory.claim({ by: OTHER, number: 1 }).runs).toHaveLength(2)
    const change = { status: 'DELAYED', wakeAt: 20 } as const
    memory.storage.runs.update({ id: 'r1', expected: { status: ['EXECUTING'] }, change, by: OTHER, now: 1 })
    expect(idsOf(memory.claim({ by: OTHER, number: 2, limit: 0, now: 1 }).runs)).toEqual(['r2'])
    expect(idsOf(memory.claim({ now: 10 }).runs)).toEqual(['r2'])
    expect(memory.claim({ by: OTHER, number: 3, limit: 0, now: 10 }).runs).toEqual([])
  })

  it('leaves runs of tasks it was not asked for', () => {
    memory.insert('r1', { taskId: 'unknown' })
    memory.insert('r2')
    expect(idsOf(memory.claim().runs)).toEqual(['r2'])
    expect(idsOf(memory.claim({ taskIds: ['unknown'] }).runs)).toEqual(['r1'])
  })

  it('hands delayed runs out from their instant on, among the queued by that instant', () => {
    memory.insert('late', { status: 'DELAYED', wakeAt: 20 })
    memory.insert('r1', { createdAt: 10 })
    memory.insert('r2', { createdAt: 30 })
    expect(memory.claim({ limit: 0, now: 19 }).runs).toEqual([])
    expect(idsOf(memory.claim({ now: 30 }).runs)).toEqual(['r1', 'late', 'r2'])
  })

  it('lets runs that were never started expire at their instant', () => {
    memory.start('started', { expiresAt: 10 })
    memory.insert('queued', { expiresAt: 10 })
    memory.insert('delayed', { status: 'DELAYED', wakeAt: 5, expiresAt: 10 })
    memory.insert('asleep', { status: 'DELAYED', wakeAt: 50, expiresAt: 10 })
    memory.insert('fresh', { expiresAt: 11 })
    const { runs, ended } = memory.claim({ now: 10 })
    expect(idsOf(runs)).toEqual(['fresh'])
    expect(ended.map(({ record }) => `${record.id} ${record.status} ${record.finishedAt}`).sort()).toEqual([
      'asleep EXPIRED 10',
      'delayed EXPIRED 10',
      'queued EXPIRED 10',
    ])
  })

  it('does not let a run expire that waits for its retry', () => {
    const run = memory.start('r', { expiresAt: 10 })
    const change = { status: 'DELAYED', wakeAt: 20 } as const
    memory.storage.runs.update({ id: run.id, expected: { status: ['EXECUTING'] }, change, by: BY, now: 1 })
    expect(memory.tick(BY, 1).nextDue).toEqual({ at: 20, what: 'run r' })
    expect(idsOf(memory.claim({ now: 20 }).runs)).toEqual(['r'])
  })
})

describe('limits', () => {
  const queueLimits = new Map([['queue', 1]])

  it('count per queue and concurrency key', () => {
    memory.insert('r1')
    memory.insert('r2')
    memory.insert('r3', { concurrencyKey: 'k' })
    memory.insert('r4', { concurrencyKey: 'k' })
    memory.insert('r5', { queue: 'free' })
    memory.insert('r6', { queue: 'free' })
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r1', 'r3', 'r5', 'r6'])
    memory.finish({ id: 'r3' })
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r4'])
  })

  it('are those of the call that asks', () => {
    for (const id of ['r1', 'r2', 'r3', 'r4']) memory.insert(id)
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r1'])
    expect(idsOf(memory.claim({ queueLimits: new Map([['queue', 2]]) }).runs)).toEqual(['r2'])
    expect(idsOf(memory.claim({ queueLimits: new Map([['queue', 2]]) }).runs)).toEqual([])
    expect(idsOf(memory.claim().runs)).toEqual(['r3', 'r4'])
  })

  it('are those of the call that asks, whatever other lanes of the queue were refused', () => {
    const claimUpTo = (limit: number) =>
      idsOf(memory.claim({ queueLimits: new Map([['queue', limit]]) }).runs)
    for (const id of ['r1', 'r2', 'r3']) memory.insert(id, { concurrencyKey: 'one' })
    expect(claimUpTo(2)).toEqual(['r1', 'r2'])
    for (const id of ['r4', 'r5']) memory.insert(id, { concurrencyKey: 'two' })
    expect(claimUpTo(1)).toEqual(['r4'])
    expect(claimUpTo(2)).toEqual(['r5'])
  })

  it('let nothing run in a queue of limit 0', () => {
    memory.insert('r1')
    expect(memory.claim({ queueLimits: new Map([['queue', 0]]) }).runs).toEqual([])
    expect(memory.tick(BY).claimable).toBe(false)
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r1'])
  })

  it('are shared by the tasks of a queue', () => {
    memory.insert('r1', { taskId: 'unknown' })
    memory.insert('r2')
    memory.insert('r3', { taskId: 'unknown' })
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r2'])
    expect(memory.claim({ queueLimits, taskIds: ['unknown'] }).runs).toEqual([])
    memory.finish({ id: 'r2' })
    expect(idsOf(memory.claim({ queueLimits, taskIds: ['unknown'] }).runs)).toEqual(['r1'])
  })

  it('do not count a run that drains its streams', () => {
    const run = memory.start('r1')
    memory.insert('r2')
    expect(memory.claim({ queueLimits }).runs).toEqual([])
    const change = { returned: true, slot: false, outputJson: '1' }
    memory.storage.runs.update({ id: run.id, expected: { status: ['EXECUTING'] }, change, by: BY, now: 0 })
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r2'])
  })

  it('are not asked again for every run that waits for a slot', () => {
    let asked = 0
    class CountingLimits extends Map<string, number> {
      override get(queue: string): number | undefined {
        asked += 1
        return super.get(queue)
      }
    }
    for (let index = 0; index < 1_000; index++) memory.insert(`r${index}`)
    for (let round = 0; round < 100; round++) memory.claim({ queueLimits: new CountingLimits(queueLimits) })
    expect(asked).toBeLessThan(500)
  })
})
