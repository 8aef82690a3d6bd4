import fc from 'fast-check'
import { madeId } from '../../../src/testing/conformance/named-storage.ts'
import { beforeEach, describe, expect, it } from 'vitest'
import type { RunStatus } from '../../../src/contract/records.ts'
import type { RunFilter } from '../../../src/contract/storage.ts'
import { cases } from '../../support/cases.ts'
import { BY, MemoryFixture, NEVER, OTHER, fence, idsOf, queuedRun, waitOf } from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('runs.insert', () => {
  const key = { scope: 's', value: 'v', expiresAt: 10 }

  it('answers the holder of an unexpired key', () => {
    const first = memory.insert('r1', { key })
    expect(first).toEqual({ record: queuedRun('r1', { key }), isCached: false })
    expect(memory.insert('r2', { key }, 9)).toEqual({ record: queuedRun('r1', { key }), isCached: true })
    expect(memory.storage.runs.get('r2')).toBeUndefined()
  })

  it('takes over a key at the instant it expires, and the old record stays', () => {
    memory.insert('r1', { key })
    expect(memory.insert('r2', { key: { ...key, expiresAt: 20 } }, 10).isCached).toBe(false)
    expect(memory.storage.runs.get('r1')).toBeDefined()
    expect(memory.insert('r3', { key }, 19).record.id).toBe('r2')
  })

  it('is refused, also for a key that is held, when the attempt that asks for it has lost its run', () => {
    const run = memory.start('r')
    const insert = (id: string, epoch: number) =>
      memory.storage.runs.insert({
        record: queuedRun(id, { key }),
        fence: { runId: 'r', epoch },
        now: 0,
        by: BY,
      })
    expect(insert('r1', run.epoch - 1)).toBe('stale')
    expect(memory.storage.runs.get('r1')).toBeUndefined()
    expect(insert('r2', run.epoch)).toMatchObject({ isCached: false })
    expect(insert('r3', run.epoch + 1)).toBe('stale')
  })

  it('keeps a key without an end', () => {
    memory.insert('r1', { key: { scope: 's', value: 'v' } })
    expect(memory.insert('r2', { key }, NEVER).record.id).toBe('r1')
  })

  it('tells scopes apart, and keys of runs from keys of tokens', () => {
    memory.insert('r1', { key })
    expect(memory.insert('r2', { key: { scope: 'sv', value: '' } }).isCached).toBe(false)
    expect(memory.insertToken('t1', { key }).isCached).toBe(false)
  })

  it('refuses an id that is taken and changes nothing', () => {
    memory.insert('r1')
    expect(() => memory.insert('r1', { taskId: 'else' })).toThrow(
      `Cannot insert run "${madeId('run', 'r1', 0)}": there is one of this id already`,
    )
    expect(memory.storage.runs.get('r1')?.taskId).toBe('task')
    expect(idsOf(memory.claim().runs)).toEqual(['r1'])
  })
})

describe('runs.update', () => {
  it('applies only while status and epoch are as expected', () => {
    const run = memory.start('r')
    const update = (status: RunStatus, epoch?: number) =>
      memory.storage.runs.update({
        id: 'r',
        expected: { status: [status], epoch },
        change: { metadataJson: '{}' },
        by: BY,
        now: 1,
      })
    expect(update('WAITING')).toBeUndefined()
    expect(update('EXECUTING', run.epoch - 1)).toBeUndefined()
    expect(update('EXECUTING', run.epoch)?.record.metadataJson).toBe('{}')
    expect(
      memory.storage.runs.update({ id: '?', expected: { status: ['QUEUED'] }, change: {}, by: BY, now: 0 }),
    ).toBeUndefined()
  })

  it('clears what is explicitly undefined and lets updatedAt never decrease', () => {
    memory.insert('r', { metadataJson: '{}', updatedAt: 5, createdAt: 5 })
    const change = { metadataJson: undefined }
    const updated = memory.storage.runs.update({
      id: 'r',
      expected: { status: ['QUEUED'] },
      change,
      by: BY,
      now: 3,
    })
    expect(updated?.record).toMatchObject({ metadataJson: undefined, updatedAt: 5 })
  })

  it('settles the own token of a run that becomes final and answers who waits for it', () => {
    const child = memory.start('child')
    const parent = memory.start('parent')
    expect(memory.wait(parent, 'run:child')).toMatchObject({
      outcome: 'registered',
      token: { kind: 'RUN', status: 'WAITING' },
    })
    expect(memory.finish(child, 'FAILED', 7)?.ready).toEqual([waitOf('run:child', 'parent')])
    expect(memory.storage.tokens.get('run:child', 0)).toMatchObject({
      record: { kind: 'RUN', status: 'COMPLETED', completedAt: 7 },
      settledNow: false,
    })
    expect(memory.wait(parent, 'run:child').outcome).toBe('settled')
    expect(memory.tick(BY).ready).toEqual([waitOf('run:child', 'parent')])
  })

  it('drops what a finished run waited for', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.finish(run)
    expect(memory.storage.runs.waits('r')).toEqual([])
    expect(memory.settle('t')?.ready).toEqual([])
  })

  it('drops the ready waits of a finished run', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.settle('t')
    expect(memory.tick(BY).ready).toHaveLength(1)
    memory.finish(run)
    expect(memory.tick(BY).ready).toEqual([])
  })

  it('never lets a final status change', () => {
    const run = memory.start('r')
    memory.finish(run, 'CANCELED')
    const again = memory.storage.runs.update({
      id: 'r',
      expected: { status: ['CANCELED'] },
      change: { status: 'COMPLETED' },
      by: BY,
      now: 1,
    })
    expect(again).toBeUndefined()
    expect(memory.storage.runs.get('r')?.status).toBe('CANCELED')
  })

  it('gives slot and owner back for a retry, and wakes it at its instant', () => {
    const run = memory.start('r')
    const change = { status: 'DELAYED', wakeAt: 50 } as const
    const expected = { status: ['EXECUTING'] as const, epoch: run.epoch }
    const updated = memory.storage.runs.update({ id: 'r', expected, change, by: BY, now: 1 })
    expect(updated?.record).toMatchObject({ status: 'DELAYED', slot: false, owner: undefined, wakeAt: 50 })
    expect(memory.tick(BY, 1).nextDue).toEqual({ at: 50, what: 'run r' })
    expect(memory.claim({ now: 49 }).runs).toEqual([])
    expect(memory.claim({ now: 50 }).runs[0]).toMatchObject({
      attempt: 2,
      policyAttempt: 2,
      interruptions: 0,
      wakeAt: undefined,
    })
  })

  it('lets a canceled run keep its slot until it is given back', () => {
    const limits = { queueLimits: new Map([['queue', 1]]) }
    const run = memory.start('r1')
    memory.insert('r2')
    const change = { status: 'CANCELED', epoch: run.epoch + 1, slot: true, slotUntil: 50 } as const
    const canceled = memory.storage.runs.update({
      id: 'r1',
      expected: { status: ['EXECUTING'] },
      change,
      by: BY,
      now: 1,
    })
    expect(canceled?.record).toMatchObject({
      status: 'CANCELED',
      slot: true,
      owner: undefined,
      epoch: run.epoch + 1,
    })
    expect(memory.claim({ ...limits, now: 2 }).runs).toEqual([])
    expect(memory.tick(BY, 2).nextDue).toEqual({ at: 50, what: 'run r1' })
    memory.storage.runs.update({
      id: 'r1',
      expected: { status: ['CANCELED'] },
      change: { slot: false },
      by: BY,
      now: 3,
    })
    expect(memory.storage.runs.get('r1')).toMatchObject({ slot: false, slotUntil: undefined })
    expect(memory.tick(BY, 3).nextDue).toBeUndefined()
    expect(idsOf(memory.claim({ ...limits, now: 3 }).runs)).toEqual(['r2'])
  })

  it('takes the slot of a canceled run back at slotUntil at the latest', () => {
    const limits = { queueLimits: new Map([['queue', 1]]) }
    memory.start('r1')
    memory.insert('r2')
    const change = { status: 'CANCELED', slot: true, slotUntil: 50 } as const
    memory.storage.runs.update({ id: 'r1', expected: { status: ['EXECUTING'] }, change, by: BY, now: 1 })
    expect(memory.claim({ ...limits, now: 49 }).runs).toEqual([])
    expect(idsOf(memory.claim({ ...limits, now: 50 }).runs)).toEqual(['r2'])
  })

  it('takes no slot for a parked run that is canceled', () => {
    const parked = memory.parkOn('t', 'r')
    const change = { status: 'CANCELED', slot: true, slotUntil: 50 } as const
    const canceled = memory.storage.runs.update({
      id: parked.id,
      expected: { status: ['WAITING'] },
      change,
      by: BY,
      now: 1,
    })
    expect(canceled?.record).toMatchObject({ slot: false, slotUntil: undefined })
  })
})

describe('runs.park and runs.resume', () => {
  const queueLimit = 1
  const queueLimits = new Map([['queue', queueLimit]])

  it('gives the slot back and forgets interruptions', () => {
    const run = memory.start('r')
    expect(memory.storage.runs.park(fence(run, 3))).toMatchObject({
      status: 'WAITING',
      slot: false,
      interruptions: 0,
      owner: BY,
      updatedAt: 3,
    })
    expect(memory.storage.runs.park(fence(run))).toMatchObject({ status: 'WAITING', parks: 1 })
    expect(memory.storage.runs.resume(fence(run))).toMatchObject({
      outcome: 'resumed',
      record: { status: 'EXECUTING', slot: true },
    })
  })

  it('refuses an earlier attempt, and an engine that does not hold the run', () => {
    const run = memory.start('r')
    expect(memory.storage.runs.park({ ...fence(run), epoch: run.epoch - 1 })).toBeUndefined()
    expect(memory.storage.runs.park({ ...fence(run), by: OTHER })).toBeUndefined()
    expect(memory.storage.runs.resume(fence(run))).toEqual({ outcome: 'stale' })
    memory.storage.runs.park(fence(run))
    expect(memory.storage.runs.resume({ ...fence(run), epoch: run.epoch - 1 })).toEqual({ outcome: 'stale' })
    expect(memory.storage.runs.resume({ ...fence(run), id: '?' })).toEqual({ outcome: 'stale' })
  })

  it('lets a parked run that was refused go before the queued ones', () => {
    const parked = memory.parkOn('t', 'r1')
    const second = memory.start('r2')
    memory.insert('r3')
    expect(memory.storage.runs.resume({ ...fence(parked), queueLimit })).toEqual({ outcome: 'full' })
    memory.finish(second)
    expect(memory.claim({ queueLimits }).runs).toEqual([])
    expect(memory.storage.runs.resume({ ...fence(parked), queueLimit }).outcome).toBe('resumed')
    memory.finish(parked)
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r3'])
  })

  it('holds queued runs back for a refused one, not those that an owner left behind', () => {
    memory.tick(OTHER)
    memory.insert('left')
    const [left] = memory.claim({ by: OTHER }).runs
    memory.insertToken('t2')
    memory.wait(left!, 't2')
    memory.storage.runs.park(fence(left!))
    memory.storage.leave({ owner: OTHER, now: 0 })

    const parked = memory.parkOn('t', 'r1')
    const second = memory.start('r2')
    memory.insert('r3')
    memory.storage.runs.resume({ ...fence(parked), queueLimit })
    memory.finish(second)
    expect(memory.claim({ queueLimits }).runs).toEqual([])
    memory.settle('t2')
    expect(memory.tick(BY).claimable).toBe(true)
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['left'])
  })

  it('gives the reservation of a refused run back when that run ends', () => {
    const parked = memory.parkOn('t', 'r1')
    const second = memory.start('r2')
    memory.insert('r3')
    memory.storage.runs.resume({ ...fence(parked), queueLimit })
    memory.finish(second)
    expect(memory.claim({ queueLimits }).runs).toEqual([])
    memory.finish(parked, 'CANCELED')
    expect(idsOf(memory.claim({ queueLimits }).runs)).toEqual(['r3'])
  })

  it('reserves nothing for an owner that is known to be dead', () => {
    memory.tick(OTHER, 0, { leaseUntil: 10 })
    memory.insert('r1')
    const [run] = memory.claim({ by: OTHER }).runs
    memory.storage.runs.park(fence(run!))
    const second = memory.start('r2')
    memory.insert('r3')
    memory.tick(BY, 10)
    expect(memory.storage.runs.resume({ ...fence(run!, 10), queueLimit })).toEqual({ outcome: 'full' })
    memory.finish(second)
    expect(idsOf(memory.claim({ queueLimits, now: 10 }).runs)).toEqual(['r3'])
  })

  it('gives the reservation of a refused run back when its owner dies', () => {
    memory.tick(OTHER, 0, { leaseUntil: 10 })
    memory.insert('r1')
    const [run] = memory.claim({ by: OTHER }).runs
    memory.storage.runs.park(fence(run!))
    const second = memory.start('r2')
    memory.insert('r3')
    memory.storage.runs.resume({ ...fence(run!), queueLimit })
    memory.finish(second)
    expect(memory.claim({ queueLimits, now: 9 }).runs).toEqual([])
    expect(idsOf(memory.claim({ queueLimits, now: 10 }).runs)).toEqual(['r3'])
  })
})

describe('runs.list', () => {
  it('pages and filters, newest first', () => {
    memory.insert('r1', { tags: ['x'], createdAt: 1 })
    memory.insert('r2', { taskId: 'other', createdAt: 2 })
    memory.insert('r3', { queue: 'q', createdAt: 3 })
    memory.finish({ id: 'r3' })
    const list = (filter: object, limit = 10) => memory.storage.runs.list(filter, { limit })
    expect(idsOf(list({}).records)).toEqual(['r3', 'r2', 'r1'])
    expect(list({}, 2)).toMatchObject({ next: 'r2' })
    expect(idsOf(list({ tags: ['x', 'y'] }).records)).toEqual(['r1'])
    expect(idsOf(list({ taskIds: ['other'] }).records)).toEqual(['r2'])
    expect(idsOf(list({ status: ['QUEUED'] }).records)).toEqual(['r2', 'r1'])
    expect(idsOf(list({ from: 2, to: 2 }).records)).toEqual(['r2'])
  })

  it('looks at little besides its page, whatever it filters by, also when little or nothing matches', () => {
    let looks = 0
    const many = 20_000
    const idOf = (at: number): string => `r${String(at).padStart(5, '0')}`
    for (let at = 0; at < many; at += 1) {
      const isRare = at % 5_000 === 7
      const record = queuedRun(idOf(at), {
        taskId: isRare ? 'rare' : 'task',
        tags: isRare ? ['all', 'rare'] : ['all'],
        status: at === 100 ? 'QUEUED' : at % 5_000 === 9 ? 'FAILED' : 'COMPLETED',
      })
      const createdAt = {
        get: () => {
          looks += 1
          return at
        },
      }
      const counted = Object.defineProperty({ ...record }, 'createdAt', createdAt)
      memory.storage.runs.insert({ record: counted, now: at, by: BY })
    }
    const expected = { status: ['QUEUED'] } as const
    memory.storage.runs.update({ id: idOf(100), expected, change: { status: 'CANCELED' }, by: BY, now: many })
    const listed = (filter: RunFilter): readonly string[] => {
      looks = 0
      const { records } = memory.storage.runs.list(filter, { limit: 10 })
      expect(looks).toBeLessThan(1_000)
      return idsOf(records)
    }
    const rare = [15_007, 10_007, 5_007, 7].map(idOf)
    const failed = [15_009, 10_009, 5_009, 9].map(idOf)
    for (const bounds of [{}, { from: 0, to: many }, { from: 5_000, to: 9_999 }]) {
      const { from = 0, to = many } = bounds
      const within = (ids: readonly string[]): readonly string[] =>
        ids.filter((id) => id >= idOf(from) && id <= idOf(to))
      expect(listed({ taskIds: ['rare'], ...bounds })).toEqual(within(rare))
      expect(listed({ tags: ['rare'], ...bounds })).toEqual(within(rare))
      expect(listed({ notTaskIds: ['task'], ...bounds })).toEqual(within(rare))
      expect(listed({ status: ['FAILED'], ...bounds })).toEqual(within(failed))
      expect(listed({ status: ['FAILED'], taskIds: ['task'], ...bounds })).toEqual(within(failed))
      expect(listed({ status: ['CANCELED', 'EXECUTING'], ...bounds })).toEqual(within([idOf(100)]))
      expect(listed({ status: ['QUEUED'], ...bounds })).toEqual([])
      expect(listed({ taskIds: ['none'], ...bounds })).toEqual([])
      expect(listed({ tags: ['none'], ...bounds })).toEqual([])
      expect(listed(bounds)).toHaveLength(10)
    }
  })

  it('finds what looking at all runs finds, whatever became of them since', () => {
    const statuses = ['QUEUED', 'EXECUTING', 'COMPLETED', 'FAILED'] as const
    const tags = fc.subarray(['a', 'b', 'c'])
    const step = fc.record({
      // Mostly in order.
      late: fc.option(fc.nat(400), { freq: 20, nil: 0 }),
      taskId: fc.constantFrom('t', 'u'),
      tags,
      change: fc.option(
        fc.record({
          of: fc.nat(),
          tags,
          status: fc.option(fc.constantFrom(...statuses), { nil: undefined }),
        }),
      ),
      prunes: fc.boolean(),
    })
    const filter = fc.record(
      {
        status: fc.subarray([...statuses]),
        taskIds: fc.subarray(['t', 'u', 'v'], { minLength: 1 }),
        notTaskIds: fc.subarray(['t', 'v']),
        tags: fc.subarray(['a', 'b', 'c', 'd'], { minLength: 1 }),
        from: fc.nat(400),
        to: fc.nat(400),
        root: fc.constantFrom('one', 'two', 'none'),
        isRoot: fc.constant(true as const),
      },
      { requiredKeys: [] },
    )
    const query = fc.tuple(filter, fc.nat(400), fc.nat(2))
    fc.assert(
      fc.property(
        fc.array(step, { minLength: 250, maxLength: 350, size: 'max' }),
        fc.array(query, { minLength: 10 }),
        (steps, queries) => {
          const { storage } = new MemoryFixture()
          const ids: string[] = []
          const idOf = (at: number): string => `r${String(at).padStart(3, '0')}`
          for (const [at, { late, taskId, tags: ofRun, change, prunes }] of steps.entries()) {
            const createdAt = Math.max(0, at - late)
            const id = idOf(createdAt)
            ids.push(id)
            const family = at % 3 === 0 ? { rootId: at % 2 === 0 ? 'one' : 'two', parentId: 'one' } : {}
            const record = queuedRun(id, { taskId, tags: ofRun, createdAt, ...family })
            if (storage.runs.get(id) === undefined) storage.runs.insert({ record, now: at, by: BY })
            if (change !== null) {
              const { status, ...changed } = change
              const changedId = ids[change.of % ids.length]!
              const expected = { status: ['QUEUED', 'EXECUTING'] } as const
              const what = { tags: changed.tags, ...(status && { status }) }
              storage.runs.update({ id: changedId, expected, change: what, by: BY, now: at })
            }
            if (prunes && at % 8 === 0) storage.prune({ before: at - 50, limit: 5, now: at })
          }
          const all = storage.runs.list({}, { limit: 1_000 }).records
          expect(all).toHaveLength(new Set(idsOf(all)).size)
          for (const [
            { status, taskIds, notTaskIds, tags: any, from = 0, to = 999, root, isRoot },
            cursor,
            towards,
          ] of queries) {
            const matching = all.filter(
              (run) =>
                (status?.includes(run.status as never) ?? true) &&
                (taskIds?.includes(run.taskId) ?? true) &&
                notTaskIds?.includes(run.taskId) !== true &&
                (any?.some((tag) => run.tags.includes(tag)) ?? true) &&
                run.createdAt >= from &&
                run.createdAt <= to &&
                (root === undefined || (run.rootId === root && run.parentId !== undefined)) &&
                (isRoot !== true || run.parentId === undefined),
            )
            const id = idOf(cursor)
            const made = madeId('run', id, cursor)
            const page = [{ limit: 5 }, { limit: 5, after: made }, { limit: 5, before: made }][towards]!
            const expected = [
              matching.slice(0, 5),
              matching.filter((run) => run.id < id).slice(0, 5),
              matching.filter((run) => run.id > id).slice(-5),
            ][towards]!
            const asked = { status, taskIds, notTaskIds, tags: any, from, to }
            expect(idsOf(storage.runs.list({ ...asked, root, isRoot }, page).records)).toEqual(
              idsOf(expected),
            )
            if (notTaskIds !== undefined || root !== undefined || isRoot !== undefined) continue
            const counted = { ...asked, ...(status?.length === 0 && { status: undefined }) }
            for (const one of statuses) {
              const there = matching.filter((run) => run.status === one).length
              const { count, isMore } = storage.counts?.runs({ ...counted, status: [one] }, 1_000)[one] ?? {}
              if (status?.includes(one) ?? true) expect([count, isMore]).toEqual([there, false])
            }
          }
        },
      ),
      { numRuns: cases(30) },
    )
  })
})
