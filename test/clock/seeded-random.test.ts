import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'

const seeds = fc.oneof(fc.integer(), fc.string())

describe('seededRandom', () => {
  it('gives the same values for the same seed', () => {
    fc.assert(
      fc.property(seeds, fc.array(fc.nat(40)), (seed, lengths) => {
        const [one, other] = [seededRandom(seed), seededRandom(seed)]
        for (const length of lengths) {
          expect(one.bytes(length)).toEqual(other.bytes(length))
          expect(one.fraction()).toBe(other.fraction())
        }
      }),
    )
  })

  it('gives other values for another seed', () => {
    fc.assert(
      fc.property(seeds, seeds, (one, other) => {
        fc.pre(String(one) !== String(other))
        expect(seededRandom(one).bytes(16)).not.toEqual(seededRandom(other).bytes(16))
      }),
    )
  })

  it('gives the same values on every machine and in every version', () => {
    const random = seededRandom(1)
    expect(Buffer.from(random.bytes(10)).toString('hex')).toBe('c541388b54f22de15fc0')
    expect(random.fraction()).toBe(0.055280622064296625)
    expect(seededRandom('1').bytes(4)).toEqual(seededRandom(1).bytes(4))
  })

  it('spreads bytes and fractions evenly', () => {
    const random = seededRandom('even')
    const counts = new Array<number>(256).fill(0)
    for (const byte of random.bytes(256_000)) counts[byte]! += 1
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(Math.max(...counts)).toBeLessThan(1_200)

    const fractions = Array.from({ length: 10_000 }, () => random.fraction())
    expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...fractions)).toBeLessThan(1)
    expect(fractions.reduce((sum, fraction) => sum + fraction, 0) / 10_000).toBeCloseTo(0.5, 1)
  })
})
