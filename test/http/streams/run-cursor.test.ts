import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RunCursor } from '../../../src/http/streams/run-cursor.ts'

const positions = fc.array(
  fc.tuple(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }), fc.nat({ max: 1e12 })),
  { maxLength: 5 },
)

/** A cursor that was moved to these places. */
function moved(places: readonly (readonly [key: string, next: number])[]): RunCursor {
  const cursor = RunCursor.parse('')
  if (cursor === undefined) throw new Error('Cannot begin')
  for (const [key, next] of places) cursor.moveTo(key, next)
  return cursor
}

describe('RunCursor', () => {
  it('comes back from its text as it was, whatever the keys, and the text fits into a header', () => {
    fc.assert(
      fc.property(positions, (places) => {
        const cursor = moved(places)
        expect(`${cursor.toString()}${cursor.end}`).toMatch(/^[\x21-\x7e]*$/)
        const again = RunCursor.parse(cursor.toString())
        expect(again?.positions).toEqual(new Map(places))
        expect(again?.isAtEnd).toBe(false)
        expect(RunCursor.parse(cursor.end)?.positions).toEqual(new Map(places))
        expect(RunCursor.parse(cursor.end)?.isAtEnd).toBe(true)
      }),
    )
  })

  it('forgets the keys that the run does not have', () => {
    const cursor = RunCursor.parse('a=1&made%20up=2&b=3')
    cursor?.keepOnly(['b', 'a', 'c'])
    expect(cursor?.toString()).toBe('a=1&b=3')
  })

  it('has a prefix to which only the number of one key is to be added', () => {
    fc.assert(
      fc.property(positions, fc.string({ minLength: 1 }), fc.nat(), (places, key, next) => {
        const cursor = moved(places)
        const id = `${cursor.prefix(key)}${next}`
        expect(RunCursor.parse(id)?.positions).toEqual(new Map([...places, [key, next]]))
      }),
    )
  })
})
