import { describe, expect, it } from 'vitest'
import type { SegmentEnd } from '../../src/contract/records.ts'
import { endOfAll, OtherWriters } from '../../src/storage/stream-writers.ts'

const DONE: SegmentEnd = { reason: 'done' }
const STOPPED: SegmentEnd = { reason: 'interrupted', isIntended: true }
const INTERRUPTED: SegmentEnd = { reason: 'interrupted' }

function failed(message: string): SegmentEnd {
  return { reason: 'failed', errorJson: JSON.stringify({ message }) }
}

describe('OtherWriters', () => {
  it('has the worst end, of those that are as bad the first by id, and forgets one that goes on or is done', () => {
    const others = new OtherWriters()
    expect(others.worst).toEqual(DONE)
    others.note('b', failed('b'))
    others.note('c', INTERRUPTED)
    others.note('a', failed('a'))
    others.note('d', STOPPED)
    expect(others.worst).toEqual(failed('a'))
    others.note('a', undefined)
    expect(others.areOpen).toBe(true)
    others.note('a', DONE)
    expect(others.areOpen).toBe(false)
    expect(others.worst).toEqual(failed('b'))
    others.note('b', DONE)
    expect(others.worst).toEqual(INTERRUPTED)
    others.note('c', DONE)
    expect(others.worst).toEqual(STOPPED)
  })

  it('is kept as JSON, without the runs that have written to the end', () => {
    const others = new OtherWriters()
    others.note('open', undefined)
    others.note('failed', failed('x'))
    others.note('done', DONE)
    const kept = JSON.stringify(others)
    expect(kept).toBe(JSON.stringify({ open: null, failed: failed('x') }))
    const read = new OtherWriters(JSON.parse(kept) as ReturnType<OtherWriters['toJSON']>)
    expect(read.toJSON()).toEqual(others.toJSON())
  })
})

describe('endOfAll', () => {
  it('looks at no end of any run while one goes on, however many have written', () => {
    const others = new OtherWriters()
    others.note('one', undefined)
    Object.defineProperty(others, 'worst', {
      get: () => {
        throw new Error('looked at all')
      },
    })
    expect(endOfAll({ others })).toBeUndefined()
    expect(endOfAll({ own: 1, others })).toBeUndefined()
    others.note('one', DONE)
    expect(endOfAll({ own: 1, others })).toBeUndefined()
    expect(() => endOfAll({ own: 1, ownEnd: DONE, others })).toThrow('looked at all')
  })

  it('is the worst of all, and that of the run that has the stream among those that are as bad', () => {
    const others = new OtherWriters({ one: INTERRUPTED })
    expect(endOfAll({ others })).toEqual(INTERRUPTED)
    expect(endOfAll({ own: 0, ownEnd: failed('own'), others })).toEqual(failed('own'))
    expect(endOfAll({ own: 0, ownEnd: DONE, others })).toEqual(INTERRUPTED)
  })
})
