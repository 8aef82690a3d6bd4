import { beforeEach, describe, expect, it } from 'vitest'
import type { PruneRequest } from '../../../src/contract/storage.ts'
import { BY, MemoryFixture, NEVER, idsOf } from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('prune', () => {
  const prune = (before: number, fields: Partial<PruneRequest> = {}) =>
    memory.storage.prune({ before, limit: 100, now: before, ...fields })

  it('drops finished runs with what belongs to them', () => {
    const run = memory.start('r')
    memory.insertToken('once', {
      kind: 'ONCE',
      status: 'COMPLETED',
      completedAt: 1,
      runId: 'r',
      key: { scope: 'r', value: '1' },
    })
    memory.insertToken('sleep', { kind: 'SLEEP', timeoutAt: NEVER, runId: 'r' })
    memory.insertToken('manual', { runId: 'r' })
    memory.storage.chunks.open({ runId: 'r', key: 'k', epoch: 1, attempt: 1, by: BY, now: 0 })
    memory.finish(run, 'COMPLETED', 10)
    expect(prune(10)).toBe(1)
    expect(memory.storage.tokens.get('once', 0)).toBeUndefined()
    expect(prune(11)).toBe(2)
    expect(memory.storage.runs.get('r')).toBeUndefined()
    expect(memory.storage.tokens.get('sleep', 0)).toBeUndefined()
    expect(memory.storage.tokens.get('manual', 0)).toBeDefined()
    expect(memory.storage.chunks.read({ runId: 'r', key: 'k', from: 0, limit: 1 })).toBeUndefined()
    expect(memory.storage.runs.list({}, { limit: 1 })).toEqual({ records: [] })
    expect(memory.tick(BY).nextDue).toBeUndefined()
  })

  it('drops settled tokens and frees what they held', () => {
    memory.insertToken('t', { tags: ['x'], key: { scope: 's', value: 'v' } })
    expect(prune(NEVER)).toBe(0)
    memory.settle('t', 5)
    expect(prune(5)).toBe(0)
    expect(prune(6)).toBe(1)
    expect(memory.storage.tokens.list({ kind: 'MANUAL', tags: ['x'] }, { limit: 1 }, 0)).toEqual({
      records: [],
      settled: [],
    })
    expect(memory.insertToken('t2', { key: { scope: 's', value: 'v' } }).isCached).toBe(false)
  })

  it('keeps what is too young, and drops at most as much as asked for', () => {
    for (const id of ['r1', 'r2', 'r3', 'r4']) memory.finish(memory.start(id), 'COMPLETED', Number(id[1]))
    expect(prune(4, { limit: 2 })).toBe(2)
    expect(prune(4, { limit: 2 })).toBe(1)
    expect(idsOf(memory.storage.runs.list({}, { limit: 9 }).records)).toEqual(['r4'])
  })

  it('counts the tokens of a run as well', () => {
    const run = memory.start('r')
    for (const id of ['s1', 's2', 's3']) memory.insertToken(id, { kind: 'SLEEP', runId: 'r' })
    memory.finish(run)
    expect(prune(1, { limit: 2 })).toBe(2)
    expect(memory.storage.runs.get('r')).toBeDefined()
    expect(prune(1, { limit: 2 })).toBe(2)
    expect(memory.storage.runs.get('r')).toBeUndefined()
  })

  it('drops and counts a token once, that went with its run before its turn', () => {
    const run = memory.start('r1')
    memory.insertToken('once', { kind: 'ONCE', status: 'COMPLETED', completedAt: 20, runId: 'r1' })
    memory.finish(run, 'COMPLETED', 10)
    expect(prune(11)).toBe(2)
    expect(prune(30)).toBe(0)
    memory.finish(memory.start('r2'), 'COMPLETED', 40)
    expect(prune(0, { keep: 1 })).toBe(0)
    expect(prune(0, { keep: 0 })).toBe(1)
  })

  it('keeps a record until its key has expired', () => {
    const key = { scope: 's', value: 'v', expiresAt: 50 }
    memory.finish(memory.start('r', { key }))
    memory.insertToken('t', { key })
    memory.settle('t')
    expect(prune(49)).toBe(0)
    expect(prune(49, { keep: 0 })).toBe(0)
    expect(prune(49, { now: 50 })).toBe(2)
  })

  it('keeps what belongs to a root that goes on', () => {
    const root = memory.start('root')
    memory.finish(memory.start('child', { rootId: 'root', parentId: 'root' }))
    memory.insertToken('t', { runId: 'child' })
    memory.settle('t')
    expect(prune(10, { keep: 0 })).toBe(0)
    memory.finish(root, 'COMPLETED', 5)
    expect(prune(10)).toBe(3)
  })

  it('keeps what a live run waits for until it is released', () => {
    const run = memory.start('r')
    memory.insertToken('t')
    memory.wait(run, 't')
    memory.settle('t')
    expect(prune(10)).toBe(0)
    memory.finish(run)
    expect(prune(10)).toBe(2)
  })

  it('keeps a canceled run for as long as it holds a slot', () => {
    const run = memory.start('r')
    const change = { status: 'CANCELED', slot: true, slotUntil: 20 } as const
    memory.storage.runs.update({ id: run.id, expected: { status: ['EXECUTING'] }, change, by: BY, now: 0 })
    expect(prune(10)).toBe(0)
    memory.tick(BY, 20)
    expect(prune(21)).toBe(1)
  })

  it('drops the oldest beyond the number to keep, whatever their age', () => {
    for (const id of ['r1', 'r2', 'r3']) memory.finish(memory.start(id), 'COMPLETED', Number(id[1]))
    memory.insertToken('t')
    memory.settle('t', 9)
    expect(prune(0, { keep: 2 })).toBe(2)
    expect(idsOf(memory.storage.runs.list({}, { limit: 9 }).records)).toEqual(['r3'])
    expect(memory.storage.tokens.get('t', 9)).toBeDefined()
  })

  it('keeps a completed token of no run until its deadline, whatever its age and the number to keep', () => {
    memory.insertToken('t', { timeoutAt: 500 })
    memory.settle('t', 5)
    expect(prune(499)).toBe(0)
    expect(prune(499, { keep: 0 })).toBe(0)
    expect(memory.storage.tokens.get('t', 499)?.record.outputJson).toBe('1')
    expect(prune(500, { keep: 0 })).toBe(1)
  })

  it('lets the answer of a run that is over go, when there are too many', () => {
    const run = memory.start('r')
    for (const id of ['before', 'after']) memory.insertToken(id, { timeoutAt: NEVER })
    memory.wait(run, 'before')
    memory.settle('before', 1)
    memory.storage.tokens.release([{ tokenId: 'before', runId: 'r', owner: BY }])
    memory.settle('after', 1)
    memory.wait(run, 'after')
    expect(prune(0, { keep: 0 })).toBe(0)
    memory.finish(run, 'COMPLETED', 2)
    expect(prune(0, { keep: 2 })).toBe(1)
    expect(memory.storage.tokens.get('before', 2)).toBeUndefined()
    expect(prune(1_000)).toBe(1)
    expect(memory.storage.runs.get('r')).toBeUndefined()
    expect(memory.storage.tokens.get('after', 2)).toBeDefined()
  })

  it('counts only what may go', () => {
    const key = { scope: 's', value: 'v', expiresAt: NEVER }
    memory.insertToken('keyed', { key })
    memory.insertToken('answer', { timeoutAt: NEVER })
    const live = memory.start('live')
    memory.insertToken('own', { runId: 'live' })
    memory.finish(memory.start('child', { rootId: 'live', parentId: 'live' }))
    memory.finish(memory.start('result'), 'COMPLETED', 1)
    for (const id of ['keyed', 'answer', 'own']) memory.settle(id, 2)
    expect(prune(0, { keep: 1 })).toBe(0)
    expect(memory.storage.runs.get('result')).toBeDefined()
    memory.finish(live, 'COMPLETED', 3)
    expect(prune(0, { keep: 1 })).toBe(3)
    expect(memory.storage.runs.get('live')).toBeDefined()
  })

  it('drops the oldest beyond the bytes to keep', () => {
    for (const id of ['r1', 'r2', 'r3']) {
      const change = { status: 'COMPLETED', outputJson: JSON.stringify('x'.repeat(10_000)) } as const
      const run = memory.start(id)
      memory.storage.runs.update({ id, expected: { status: ['EXECUTING'] }, change, by: BY, now: run.epoch })
    }
    expect(prune(0, { keepBytes: 40_000 })).toBe(0)
    expect(prune(0, { keepBytes: 25_000 })).toBe(1)
    expect(prune(0, { keepBytes: 0 })).toBe(2)
  })

  it('does not look again and again at what has to stay', () => {
    let looks = 0
    const keyOf = (value: string) => ({
      scope: 's',
      value,
      get expiresAt() {
        looks += 1
        return NEVER
      },
    })
    const root = memory.start('root')
    for (let index = 0; index < 1_000; index++) {
      memory.insert(`r${index}`, { rootId: 'root', key: keyOf(`${index}`) })
      memory.finish({ id: `r${index}` })
    }
    for (let round = 0; round < 100; round++) prune(10)
    expect(looks).toBeLessThan(10_000)
    memory.finish(root)
    expect(prune(10, { now: NEVER })).toBe(100)
  })
})
