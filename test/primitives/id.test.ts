import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createIdSource, idsAt, timeOfId } from '../../src/primitives/id.ts'

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const LAST_MILLISECOND = 2 ** 48 - 1

/** A source whose clock gives these instants, one per id, and whose randomness is these bytes over and over. */
function idSource(instants: readonly number[], bytes: readonly number[]): () => string {
  const clock = instants.values()
  const random = {
    bytes: (length: number) => Uint8Array.from({ length }, (_, index) => bytes[index % bytes.length] ?? 0),
  }
  const createId = createIdSource({ now: () => clock.next().value ?? 0, random })
  return () => createId('run').id
}

function timeOf(id: string): number {
  const characters = Array.from(id.slice('run_'.length, 'run_'.length + 10))
  return characters.reduce((time, character) => time * 32 + ALPHABET.indexOf(character), 0)
}

// Few milliseconds, so that many ids share one; and whatever a broken clock may say.
const instants = fc.array(
  fc.oneof(
    fc.integer({ min: 0, max: 5 }),
    fc.integer({ min: 0, max: LAST_MILLISECOND }),
    fc.double(),
    fc.constant(LAST_MILLISECOND),
  ),
  { minLength: 2, maxLength: 100 },
)
const fullBytes = fc.array(fc.constant(0xff), { minLength: 10, maxLength: 10 })
const randomBytes = fc.oneof(
  fc.array(fc.nat(255), { minLength: 1, maxLength: 10 }),
  // The lower half, the upper half, or all of the random part is about to overflow.
  fullBytes.map((bytes) => [...bytes.slice(0, 9), 0xfe]),
  fullBytes.map((bytes) => [...bytes.slice(0, 4), 0x11, ...bytes.slice(5)]),
  fullBytes,
)

describe('createIdSource', () => {
  it('gives ever greater strings of the same form, however the clock steps', () => {
    fc.assert(
      fc.property(instants, randomBytes, (steps, bytes) => {
        const createId = idSource(steps, bytes)
        let last = ''
        for (const _ of steps) {
          const id = createId()
          expect(id).toMatch(/^run_[0-9a-hjkmnp-tv-z]{26}$/)
          expect(id > last).toBe(true)
          last = id
        }
      }),
    )
  })

  it('begins with the millisecond, and clamps one that does not fit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: LAST_MILLISECOND }),
        (at) => timeOf(idSource([at], [1])()) === at,
      ),
    )
    expect(timeOf(idSource([-1], [1])())).toBe(0)
    expect(timeOf(idSource([NaN], [1])())).toBe(0)
    expect(timeOf(idSource([1.9], [1])())).toBe(1)
    expect(timeOf(idSource([Infinity], [1])())).toBe(LAST_MILLISECOND)
  })

  it('keeps the last millisecond while the clock is behind it', () => {
    const createId = idSource([5_000, 10, 4_999, 5_001], [1])
    expect(Array.from({ length: 4 }, createId).map(timeOf)).toEqual([5_000, 5_000, 5_000, 5_001])
  })

  it('goes on in the next millisecond when the random part is used up', () => {
    const createId = idSource([7, 7, 7], [0xff])
    expect(Array.from({ length: 3 }, createId).map(timeOf)).toEqual([7, 8, 9])
  })

  it('carries from the lower half of the random part to the upper one', () => {
    const createId = idSource([7, 7], [0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff])
    expect([createId(), createId()]).toEqual([
      'run_0000000007' + '00000000zzzzzzzz',
      'run_0000000007' + '0000000100000000',
    ])
  })

  it('spells out all eighty random bits', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 10, maxLength: 10 }), (bytes) => {
        const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
        const spelt = Array.from(idSource([0], [...bytes])().slice(-16))
        expect(spelt.reduce((sum, character) => sum * 32n + BigInt(ALPHABET.indexOf(character)), 0n)).toBe(
          value,
        )
      }),
    )
  })

  it('shares one order between prefixes', () => {
    const createId = createIdSource({ now: () => 1, random: { bytes: (length) => new Uint8Array(length) } })
    const [first, second] = [createId('run').id, createId('waitpoint').id]
    expect(second.split('_')[1]! > first.split('_')[1]!).toBe(true)
  })

  it('reads random bytes that are a window of a larger buffer', () => {
    const pool = Uint8Array.from({ length: 64 }, (_, index) => (index < 32 ? 0 : 0xff))
    const createId = createIdSource({
      now: () => 1,
      random: { bytes: (length) => pool.subarray(32, 32 + length) },
    })
    expect(createId('run').id).toBe('run_0000000001zzzzzzzzzzzzzzzz')
  })
})

describe('createIdSource, with the instant', () => {
  it('counts on from its last one while the clock is behind it', () => {
    const clock = [5, 9, 3, 3, 10].values()
    const createId = createIdSource({
      now: () => clock.next().value ?? 0,
      random: { bytes: (length) => new Uint8Array(length) },
    })
    const made = Array.from({ length: 5 }, () => createId('run'))
    expect(made.map(({ createdAt }) => createdAt)).toEqual([5, 9, 9, 9, 10])
    expect(made.map(({ id }) => timeOfId('run', id))).toEqual([5, 9, 9, 9, 10])
  })
})

describe('timeOfId', () => {
  it('is the millisecond that the id was made at', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: LAST_MILLISECOND }), (at) => {
        const id = idSource([at], [7])()
        expect(timeOfId('run', id)).toBe(at)
        expect(id.startsWith(idsAt('run', at))).toBe(true)
        expect(idsAt('run', at) < id).toBe(true)
        expect(idsAt('run', at + 1) > id).toBe(true)
        expect(idsAt('run', at + 0.5)).toBe(idsAt('run', at + 1))
      }),
    )
  })

  it.each(['', 'run_1', 'run', 'token_00000000070000000000000000', 'run_0000000007000000000000000u'])(
    'is not there for %j',
    (id) => {
      expect(timeOfId('run', id)).toBeUndefined()
    },
  )
})
