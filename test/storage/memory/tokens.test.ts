import { beforeEach, describe, expect, it } from 'vitest'
import { BY, MemoryFixture, OTHER, idsOf, manualToken, waitOf } from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('tokens.insert', () => {
  it('answers the holder of an unexpired key in whatever state it is', () => {
    const key = { scope: 's', value: 'v', expiresAt: 10 }
    memory.insertToken('t1', { key })
    memory.settle('t1', 1)
    expect(memory.insertToken('t2', { key }, 9)).toMatchObject({
      isCached: true,
      record: { id: 't1', status: 'COMPLETED' },
    })
    expect(memory.insertToken('t2', { key }, 10).isCached).toBe(false)
    expect(memory.storage.tokens.get('t1', 10)).toBeDefined()
  })

  it('is refused, also for a key that is held, when the attempt that asks for it has lost its run', () => {
    const run = memory.start('r')
    const insert = (id: string, epoch: number) => {
      const record = manualToken(id, { key: { scope: 's', value: 'v' } })
      return memory.storage.tokens.insert({ record, fence: { runId: 'r', epoch }, now: 0, by: BY })
    }
    expect(insert('t1', run.epoch - 1)).toBe('stale')
    expect(memory.storage.tokens.get('t1', 0)).toBeUndefined()
    expect(insert('t2', run.epoch)).toMatchObject({ isCached: false })
    expect(insert('t3', run.epoch)).toMatchObject({ isCached: true })
    expect(insert('t3', run.epoch + 1)).toBe('stale')
  })

  it('takes a token that is past its deadline, and the next tick settles it', () => {
    memory.insertToken('t', { timeoutAt: 5 }, 9)
    expect(memory.tick(BY, 9).settled).toMatchObject([{ id: 't', status: 'TIMED_OUT', completedAt: 5 }])
  })
})

describe('tokens.await', () => {
  it('registers a wait for a token that is open', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    expect(memory.wait(run, 't')).toEqual({ outcome: 'registered', token: manualToken('t') })
    expect(idsOf(memory.storage.runs.waits('r'))).toEqual(['t'])
  })

  it('answers a settled token and registers nothing', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.settle('t', 3)
    expect(memory.wait(run, 't')).toMatchObject({
      outcome: 'settled',
      token: { status: 'COMPLETED', outputJson: '1' },
    })
    expect(memory.storage.runs.waits('r')).toEqual([])
  })

  it('settles a token at its deadline, and the waits of others for it', () => {
    const first = memory.start('r1')
    const second = memory.start('r2')
    memory.insertToken('t', { timeoutAt: 10 })
    expect(memory.wait(first, 't', 9).outcome).toBe('registered')
    expect(memory.wait(second, 't', 10)).toMatchObject({
      outcome: 'settled',
      token: { status: 'TIMED_OUT', completedAt: 10 },
    })
    expect(memory.tick(BY, 10).ready).toEqual([waitOf('t', 'r1')])
  })

  it('is stale for an earlier attempt, a final run and one that does not exist', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    expect(memory.wait({ ...run, epoch: 0 }, 't').outcome).toBe('stale')
    expect(memory.wait({ ...run, owner: OTHER }, 't').outcome).toBe('stale')
    expect(memory.wait({ ...run, id: '?' }, 't').outcome).toBe('stale')
    memory.finish(run)
    expect(memory.wait(run, 't').outcome).toBe('stale')
  })

  it('says when it knows no such token', () => {
    const run = memory.start('r')
    expect(memory.wait(run, '?').outcome).toBe('unknown')
    expect(memory.wait(run, 'run:?').outcome).toBe('unknown')
  })

  it('makes one wait of two by the same run for the same token', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.wait(run, 't')
    expect(memory.settle('t')?.ready).toEqual([waitOf('t', 'r')])
  })

  it('lists open waits in the order of registration', () => {
    const run = memory.start('r')
    for (const id of ['t2', 't1', 't3']) {
      memory.insertToken(id)
      memory.wait(run, id)
    }
    memory.settle('t1')
    expect(idsOf(memory.storage.runs.waits('r'))).toEqual(['t2', 't3'])
  })

  it('takes thousands of waits of one run, and of one token', () => {
    const run = memory.start('r')
    memory.insertToken('shared')
    for (let index = 0; index < 5_000; index++) {
      memory.insertToken(`t${index}`)
      memory.wait(run, `t${index}`)
      memory.insert(`r${index}`)
    }
    for (const other of memory.claim({ limit: 5_000 }).runs) memory.wait(other, 'shared')
    for (let index = 5_000; index-- > 0;) {
      memory.settle(`t${index}`)
      memory.storage.tokens.release([waitOf(`t${index}`, 'r')])
      memory.finish({ id: `r${index}` })
    }
    expect(memory.settle('shared')?.ready).toEqual([])
  })
})

describe('tokens.settle', () => {
  it('wins before the deadline and makes all waits ready', () => {
    const runs = ['r1', 'r2'].map((id) => memory.start(id))
    memory.insertToken('t', { timeoutAt: 10, tags: ['x'] })
    for (const run of runs) memory.wait(run, 't')
    expect(memory.settle('t', 9)).toEqual({
      record: manualToken('t', {
        timeoutAt: 10,
        tags: ['x'],
        status: 'COMPLETED',
        outputJson: '1',
        completedAt: 9,
      }),
      won: true,
      settledNow: true,
      ready: [waitOf('t', 'r1'), waitOf('t', 'r2')],
    })
  })

  it('loses from the deadline on, which times the token out', () => {
    const run = memory.start('r')
    memory.insertToken('t', { timeoutAt: 10 })
    memory.wait(run, 't')
    expect(memory.settle('t', 15)).toMatchObject({
      won: false,
      settledNow: true,
      record: { status: 'TIMED_OUT', completedAt: 10, outputJson: undefined },
      ready: [waitOf('t', 'r')],
    })
  })

  it('changes a settled token never again', () => {
    memory.insertToken('t')
    const { record } = memory.settle('t', 1)!
    expect(memory.storage.tokens.settle({ id: 't', outputJson: '2', by: BY, now: 2 })).toEqual({
      record,
      won: false,
      settledNow: false,
      ready: [],
    })
  })

  it('is refused, and settles nothing, when the attempt that asks for it has lost its run', () => {
    const run = memory.start('r')
    memory.insertToken('t', { timeoutAt: 10 })
    const settle = (fields: { epoch?: number; by?: string; now?: number }) => {
      const { epoch = run.epoch, by = BY, now = 0 } = fields
      const fence = { runId: 'r', epoch }
      return memory.storage.tokens.settle({ id: 't', outputJson: '1', fence, by, now })
    }
    expect(settle({ epoch: run.epoch - 1 })).toBe('stale')
    expect(settle({ by: OTHER, now: 10 })).toBe('stale')
    expect(memory.storage.tokens.get('t', 9)?.record.status).toBe('WAITING')
    expect(settle({})).toMatchObject({ won: true })
    memory.finish(run)
    expect(settle({})).toBe('stale')
  })

  it('knows neither unknown tokens nor the ends of runs', () => {
    memory.start('r')
    expect(memory.settle('?')).toBeUndefined()
    expect(memory.settle('run:r')).toBeUndefined()
  })

  it('completes a sleep at its deadline', () => {
    memory.insertToken('t', { kind: 'SLEEP', timeoutAt: 10 })
    expect(memory.settle('t', 12)).toMatchObject({
      won: false,
      record: { status: 'COMPLETED', completedAt: 10 },
    })
  })
})

describe('tokens.release', () => {
  it('leaves the waits of another owner alone', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.storage.tokens.release([waitOf('t', 'r', OTHER)])
    expect(memory.settle('t')?.ready).toEqual([waitOf('t', 'r')])
  })

  it('drops a wait, ready or not', () => {
    const run = memory.start('r')
    for (const id of ['t1', 't2']) {
      memory.insertToken(id)
      memory.wait(run, id)
    }
    memory.settle('t1')
    memory.storage.tokens.release([waitOf('t1', 'r'), waitOf('t2', 'r'), waitOf('?', 'r'), waitOf('t1', '?')])
    expect(memory.tick(BY).ready).toEqual([])
    expect(memory.settle('t2')?.ready).toEqual([])
  })
})

describe('tokens.get and tokens.list', () => {
  const list = (filter: object = {}, page: object = {}, now = 0) =>
    memory.storage.tokens.list({ kind: 'MANUAL', ...filter }, { limit: 2, ...page }, now)

  it('settle what is past its deadline before they answer', () => {
    memory.insertToken('t1', { timeoutAt: 10 })
    memory.insertToken('t2', { timeoutAt: 10 })
    expect(memory.storage.tokens.get('t1', 9)?.record.status).toBe('WAITING')
    expect(memory.storage.tokens.get('t1', 10)).toMatchObject({
      record: { status: 'TIMED_OUT', completedAt: 10 },
      settledNow: true,
    })
    expect(memory.storage.tokens.get('t1', 10)?.settledNow).toBe(false)
    expect(idsOf(list({ status: ['WAITING'] }, {}, 9).records)).toEqual(['t2'])
    const { records, settled } = list({ status: ['WAITING'] }, {}, 10)
    expect([records, idsOf(settled)]).toEqual([[], ['t2']])
    expect(idsOf(list({ status: ['TIMED_OUT'] }, {}, 10).records)).toEqual(['t2', 't1'])
    expect(list({}, {}, 10).settled).toEqual([])
    expect(memory.settle('t2', 10)?.won).toBe(false)
    expect(memory.tick(BY, 10).nextDue).toBeUndefined()
  })

  it('page through all of a kind, newest first, whatever order they came in', () => {
    for (const id of ['t3', 't1', 't5', 't4', 't2']) memory.insertToken(id)
    memory.insertToken('s1', { kind: 'SLEEP' })
    const first = list()
    expect(first).toEqual({ records: [manualToken('t5'), manualToken('t4')], next: 't4', settled: [] })
    const second = list({}, { after: first.next })
    expect([idsOf(second.records), second.next, second.previous]).toEqual([['t3', 't2'], 't2', 't3'])
    const third = list({}, { after: second.next })
    expect([idsOf(third.records), third.next, third.previous]).toEqual([['t1'], undefined, 't1'])
    const back = list({}, { before: third.previous })
    expect([idsOf(back.records), back.next, back.previous]).toEqual([['t3', 't2'], 't2', 't3'])
    const top = list({}, { before: back.previous })
    expect([idsOf(top.records), top.next, top.previous]).toEqual([['t5', 't4'], 't4', undefined])
    expect(list({}, { before: 't5' })).toEqual({ records: [], settled: [] })
  })

  it('keep pages stable while tokens are added and settled', () => {
    for (const id of ['t1', 't2', 't3', 't4']) memory.insertToken(id)
    const first = list()
    memory.insertToken('t9')
    memory.settle('t2')
    expect(idsOf(list({}, { after: first.next }).records)).toEqual(['t2', 't1'])
  })

  it('filter by tags (any of them), key, status and creation', () => {
    const key = { scope: 's', value: 'v', expiresAt: 5 }
    memory.insertToken('t1', { tags: ['a', 'b'], createdAt: 1, key })
    memory.insertToken('t2', { tags: ['b'], createdAt: 2 })
    memory.insertToken('t3', { tags: ['c'], createdAt: 3, key }, 5)
    memory.insertToken('t4', { createdAt: 4 })
    memory.settle('t2')
    expect(idsOf(list({ tags: ['a', 'b'] }).records)).toEqual(['t2', 't1'])
    expect(list({ tags: ['b', 'c'] })).toMatchObject({ next: 't2' })
    expect(idsOf(list({ tags: ['?'] }).records)).toEqual([])
    expect(idsOf(list({ key }).records)).toEqual(['t3', 't1'])
    expect(idsOf(list({ key, tags: ['a'] }).records)).toEqual(['t1'])
    expect(idsOf(list({ status: ['COMPLETED'] }).records)).toEqual(['t2'])
    expect(idsOf(list({ from: 2, to: 3 }).records)).toEqual(['t3', 't2'])
  })

  it('answer a page without looking at all tokens', () => {
    let looks = 0
    for (let index = 1_000; index < 2_000; index++) {
      const record = {
        ...manualToken(`t${index}`),
        get createdAt() {
          looks += 1
          return 0
        },
      }
      memory.storage.tokens.insert({ record, now: 0, by: BY })
    }
    looks = 0
    expect(list({}, { after: 't1500' }).next).toBe('t1498')
    expect(looks).toBeLessThan(10)
  })

  it('look at little besides their page, also when few tokens have the status that they look for', () => {
    let looks = 0
    const many = 20_000
    const idOf = (at: number): string => `t${String(at).padStart(5, '0')}`
    for (let at = 0; at < many; at += 1) {
      const record = {
        ...manualToken(idOf(at), { status: at % 5_000 === 7 ? 'TIMED_OUT' : 'COMPLETED' }),
        get createdAt() {
          looks += 1
          return at
        },
      }
      memory.storage.tokens.insert({ record, now: at, by: BY })
    }
    for (const [at, timeoutAt] of [
      [100, undefined],
      [200, many + 5],
    ] as const)
      memory.insertToken(`t${String(at).padStart(5, '0')}x`, { createdAt: at, timeoutAt }, at)
    const listed = (filter: object, now = many): readonly string[] => {
      looks = 0
      const { records } = list(filter, { limit: 10 }, now)
      expect(looks).toBeLessThan(1_000)
      return idsOf(records)
    }
    const timedOut = [15_007, 10_007, 5_007, 7].map(idOf)
    expect(listed({ status: ['TIMED_OUT'] })).toEqual(timedOut)
    expect(listed({ status: ['TIMED_OUT'], from: 5_000, to: 9_999 })).toEqual([idOf(5_007)])
    expect(listed({ status: ['WAITING'] })).toEqual(['t00200x', 't00100x'])
    expect(listed({ status: ['WAITING', 'TIMED_OUT'], to: 100 })).toEqual(['t00100x', idOf(7)])
    // One more is past its deadline, and no tick has settled it.
    expect(listed({ status: ['TIMED_OUT'] }, many + 5)).toEqual([...timedOut.slice(0, 3), 't00200x', idOf(7)])
    memory.settle('t00100x', many + 6)
    expect(listed({ status: ['WAITING'] }, many + 6)).toEqual([])
  })
})
