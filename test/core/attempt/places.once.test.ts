import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { enterCall, Place } from '../../../src/core/attempt/places.ts'

/** The place after calls with these contents, each made where the one before led. */
function after(path: readonly number[]): Place<string> {
  return path.reduce((place, content) => place.call(content, true), new Place('attempt'))
}

const paths = fc.array(fc.integer(), { maxLength: 8 })

describe('Place', () => {
  it('has one name for a path, in every execution', () => {
    fc.assert(
      fc.property(paths, (path) => {
        expect(after(path).name).toBe(after(path).name)
      }),
    )
  })

  it('is named by its two halves in base 36, as the keys of stored waits have them', () => {
    const half = fc.oneof(fc.integer(), fc.nat(36))
    fc.assert(
      fc.property(half, half, (high, low) => {
        const [first, second] = [high >>> 0, low >>> 0].map((number) => number.toString(36))
        expect(new Place('attempt', high, low).name).toBe(`${first}-${second}`)
      }),
    )
  })

  it('has different names for different paths', () => {
    const different = fc.uniqueArray(paths, { minLength: 2, maxLength: 30, selector: String })
    fc.assert(
      fc.property(different, (all) => {
        expect(new Set(all.map((path) => after(path).name)).size).toBe(all.length)
      }),
    )
  })

  it('counts calls of one content on their own, whatever stands between them', () => {
    const contents = fc.array(fc.nat(3), { maxLength: 20 })
    fc.assert(
      fc.property(contents, (calls) => {
        const place = new Place('attempt')
        for (const [at, content] of calls.entries()) {
          const before = calls.slice(0, at).filter((other) => other === content).length
          place.call(content, false)
          expect([place.latest.index, place.latest.position]).toEqual([before, at])
        }
      }),
    )
  })

  it('has a branch that no call leads to', () => {
    const place = new Place('attempt')
    const branch = place.branch(7).name
    expect(place.branch(7).name).toBe(branch)
    for (let time = 0; time < 100; time += 1) expect(place.call(7, false).name).not.toBe(branch)
  })
})

describe('enterCall', () => {
  it('makes all calls of synchronous code where that code began, and later ones where it has led', async () => {
    const start = new Place('attempt')
    const first = enterCall(start, 1)
    const { index, continuation } = start.latest
    const second = enterCall(first, 1)
    expect([first.origin, second.origin]).toEqual([start, start])
    expect([index, start.latest.index]).toEqual([0, 1])
    expect(start.latest.continuation).toBe(continuation)
    await Promise.resolve()
    expect(enterCall(second, 1).origin).toBe(second)
  })

  it('tells continuations apart that come to one place', async () => {
    const start = new Place('attempt')
    enterCall(start, 1)
    const { continuation } = start.latest
    await Promise.resolve()
    enterCall(start, 1)
    expect(start.latest).toMatchObject({ index: 1, continuation: continuation + 1 })
  })
})
