import { describe, expect, it } from 'vitest'
import {
  isSame,
  like,
  Mismatch,
  refused,
  same,
  describeValue,
} from '../../../src/testing/conformance/sameness.ts'

describe('same', () => {
  it('takes a field that is undefined for one that is not there', () => {
    expect(isSame({ a: 1, b: undefined }, { a: 1 }, true)).toBe(true)
    expect(isSame({ a: 1 }, { a: 1, b: undefined }, true)).toBe(true)
    expect(isSame({ a: 1, b: null }, { a: 1 }, true)).toBe(false)
  })

  it('looks into objects and lists', () => {
    expect(isSame({ a: [{ b: 1 }] }, { a: [{ b: 1 }] }, true)).toBe(true)
    expect(isSame({ a: [{ b: 1 }] }, { a: [{ b: 2 }] }, true)).toBe(false)
    expect(isSame([1, 2], [1], true)).toBe(false)
    expect(isSame([], {}, true)).toBe(false)
  })

  it('says what, what was expected and what was seen', () => {
    expect(() => same('the answer', 1, undefined)).toThrow('the answer: expected undefined, saw 1')
  })
})

describe('like', () => {
  it('looks only at what is expected', () => {
    like('the answer', { a: 1, b: 2 }, { a: 1 })
    expect(() => like('the answer', { a: 1 }, { a: 1, b: 2 })).toThrow(Mismatch)
    expect(() => like('the answer', { a: 1 }, { a: undefined })).toThrow(Mismatch)
  })
})

describe('refused', () => {
  it('wants an error, thrown or rejected', async () => {
    await refused('a call', () => Promise.reject(new Error('no')))
    await refused('a call', () => {
      throw new Error('no')
    })
    await expect(refused('a call', () => 1)).rejects.toThrow('a call: expected "an error", saw 1')
  })
})

describe('show', () => {
  it('tells maps and errors', () => {
    expect(describeValue({ limits: new Map([['a', 1]]) })).toBe('{"limits":{"a":1}}')
    expect(describeValue(new RangeError('no'))).toBe('RangeError: no')
  })
})
