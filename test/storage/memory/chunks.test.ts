import { beforeEach, describe, expect, it } from 'vitest'
import { madeId } from '../../../src/testing/conformance/named-storage.ts'
import type { RunRecord } from '../../../src/contract/records.ts'
import type { ChunkAppend } from '../../../src/contract/storage.ts'
import { BY, HISTORY, MemoryFixture, OTHER, chunk } from '../storage-fixture.ts'

let memory: MemoryFixture

beforeEach(() => {
  memory = new MemoryFixture()
})

describe('chunks', () => {
  function open(run: RunRecord, key = 'k', attempt = run.attempt) {
    return memory.storage.chunks.open({ runId: run.id, key, epoch: run.epoch, attempt, by: BY, now: 4 })
  }

  function append(
    run: RunRecord,
    first: number,
    values: readonly unknown[],
    fields: Partial<ChunkAppend> = {},
  ) {
    const chunks = values.map(chunk)
    return memory.storage.chunks.append({
      runId: run.id,
      key: 'k',
      epoch: run.epoch,
      first,
      chunks,
      history: HISTORY,
      by: BY,
      ...fields,
    })
  }

  function read(from = 0, limit = 100) {
    const found = memory.storage.chunks.read({ runId: 'r', key: 'k', from, limit })
    return found && { ...found, chunks: found.chunks.map((one) => one.value) }
  }

  it('are listed on their run and read in order, with the stream as it is', () => {
    const run = memory.start('r')
    expect(read()).toBeUndefined()
    expect(open(run)).toEqual({
      runId: 'r',
      key: 'k',
      first: 0,
      next: 0,
      segments: [{ attempt: 1, first: 0 }],
    })
    expect(memory.storage.runs.get('r')).toMatchObject({ streams: ['k'], updatedAt: 4 })
    expect(open(run)?.segments).toHaveLength(1)
    expect(memory.storage.runs.get('r')?.streams).toEqual(['k'])
    expect(append(run, 0, ['a', 'b'])).toBe('appended')
    expect(append(run, 2, ['c'], { end: { reason: 'done' } })).toBe('appended')
    expect(read(1, 1)).toMatchObject({ first: 1, chunks: ['b'], stream: { next: 3 } })
    expect(read(3)).toMatchObject({ first: 3, chunks: [] })
    expect(read()).toMatchObject({
      chunks: ['a', 'b', 'c'],
      stream: { segments: [{ attempt: 1, first: 0, end: { reason: 'done' } }] },
    })
  })

  it('may be said twice, but not otherwise', () => {
    const run = memory.start('r')
    open(run)
    append(run, 0, ['a', 'b'])
    expect(append(run, 0, ['a', 'b'])).toBe('appended')
    expect(append(run, 1, ['b', 'c'], { end: { reason: 'done' } })).toBe('appended')
    expect(append(run, 1, ['b', 'c'], { end: { reason: 'done' } })).toBe('appended')
    expect(read()?.chunks).toEqual(['a', 'b', 'c'])
    const place = `to stream "k" of run "${madeId('run', 'r', 0)}"`
    expect(() => append(run, 1, ['x'])).toThrow(
      `Cannot append chunks from 1 ${place}: chunk 1 is there with another value`,
    )
    expect(() => append(run, 4, ['x'])).toThrow(`Cannot append chunks from 4 ${place}: its next chunk is 3`)
    expect(() => append(run, 2, ['c'], { end: { reason: 'interrupted' } })).toThrow(
      `Cannot append chunks from 2 ${place}: this attempt has ended it, reason "done"`,
    )
    expect(() => append(run, 0, [], { key: 'other' })).toThrow('attempt 1 has not opened it')
    expect(read()?.chunks).toEqual(['a', 'b', 'c'])
  })

  it('go on after their end, which is then open until it is ended again', () => {
    const run = memory.start('r')
    open(run)
    append(run, 0, ['a'], { end: { reason: 'done' } })
    expect(append(run, 1, ['b'])).toBe('appended')
    expect(append(run, 0, ['a'])).toBe('appended')
    expect(read()).toMatchObject({ chunks: ['a', 'b'], stream: { segments: [{ attempt: 1, first: 0 }] } })
    expect(read()?.stream.segments[0]?.end).toBeUndefined()
    append(run, 2, [], { end: { reason: 'interrupted' } })
    append(run, 2, ['c'], { end: { reason: 'done' } })
    expect(read()?.stream.segments).toEqual([{ attempt: 1, first: 0, end: { reason: 'done' } }])
  })

  it('keep the newest of a stream, as many as the history allows', () => {
    const run = memory.start('r')
    open(run)
    append(run, 0, ['a', 'b', 'c', 'd'], { history: { chunks: 3, bytes: 10_000 } })
    expect(read()).toMatchObject({ first: 1, chunks: ['b', 'c', 'd'], stream: { first: 1, next: 4 } })
    expect(append(run, 0, ['a', 'b', 'c', 'd'])).toBe('appended')
    expect(read()?.chunks).toEqual(['b', 'c', 'd'])
  })

  it('keep no more bytes than the history allows', () => {
    const run = memory.start('r')
    open(run)
    append(run, 0, ['a', 'b', 'c', 'd'], { history: { chunks: 100, bytes: 25 } })
    expect(read()).toMatchObject({ first: 2, chunks: ['c', 'd'] })
  })

  it('are refused from an attempt that is over', () => {
    const run = memory.start('r')
    open(run)
    memory.storage.leave({ owner: BY, now: 0 })
    memory.tick(OTHER)
    const [again] = memory.claim({ by: OTHER }).runs
    expect(append(run, 0, ['a'])).toBe('stale')
    expect(open(run)).toBeUndefined()
    memory.finish(again!)
    expect(append(again!, 0, ['a'])).toBe('stale')
    expect(open(again!)).toBeUndefined()
    expect(append({ ...run, id: '?' }, 0, ['a'])).toBe('stale')
  })

  it('are refused between two attempts', () => {
    const run = memory.start('r')
    open(run)
    const change = { status: 'DELAYED', wakeAt: 9 } as const
    memory.storage.runs.update({ id: 'r', expected: { status: ['EXECUTING'] }, change, by: BY, now: 0 })
    expect(append(run, 0, ['a'])).toBe('stale')
  })

  it('of a second attempt go on after the last one, in a segment of their own', () => {
    const run = memory.start('r')
    open(run)
    append(run, 0, ['a', 'b'])
    memory.storage.leave({ owner: BY, now: 0 })
    memory.tick(BY)
    const [again] = memory.claim().runs
    expect(read()?.stream.segments).toEqual([{ attempt: 1, first: 0, end: { reason: 'interrupted' } }])
    expect(() => append(again!, 2, ['c'])).toThrow('attempt 2 has not opened it')
    expect(open(again!)?.segments).toEqual([
      { attempt: 1, first: 0, end: { reason: 'interrupted' } },
      { attempt: 2, first: 2 },
    ])
    expect(() => append(again!, 1, ['b'])).toThrow('this attempt writes from 2')
    append(again!, 2, ['c'])
    expect(read()?.chunks).toEqual(['a', 'b', 'c'])
    expect(memory.storage.runs.get('r')?.streams).toEqual(['k'])
  })

  it('end as interrupted with their run', () => {
    const run = memory.start('r')
    open(run)
    memory.finish(run)
    expect(read()?.stream.segments).toEqual([{ attempt: 1, first: 0, end: { reason: 'interrupted' } }])
  })
})
