import { describe, expect, it } from 'vitest'
import { cryptoRandom } from '../../src/clock/crypto-random.ts'

describe('cryptoRandom', () => {
  it('gives as many bytes as asked for', () => {
    const random = cryptoRandom()
    for (const length of [0, 1, 16, 4_095, 4_096, 4_097, 70_000]) {
      expect(random.bytes(length)).toHaveLength(length)
    }
  })

  it('never gives the same bytes twice, nor zeros it has left behind', () => {
    const random = cryptoRandom()
    const drawn = Array.from({ length: 2_000 }, () => Buffer.from(random.bytes(12)).toString('hex'))
    expect(new Set(drawn).size).toBe(drawn.length)
    expect(drawn).not.toContain('0'.repeat(24))
  })

  it('gives bytes that nothing changes later', () => {
    const random = cryptoRandom()
    const bytes = random.bytes(16)
    const before = Buffer.from(bytes).toString('hex')
    for (let draw = 0; draw < 1_000; draw++) random.bytes(16)
    expect(Buffer.from(bytes).toString('hex')).toBe(before)
  })

  it('gives fractions from 0 to below 1, evenly', () => {
    const random = cryptoRandom()
    const fractions = Array.from({ length: 20_000 }, () => random.fraction())
    expect(Math.min(...fractions)).toBeGreaterThanOrEqual(0)
    expect(Math.max(...fractions)).toBeLessThan(1)
    // The mean of so many is off by 0.03 once in 10^47 times.
    expect(fractions.reduce((sum, fraction) => sum + fraction, 0) / 20_000).toBeCloseTo(0.5, 1)
    expect(new Set(fractions).size).toBe(20_000)
  })
})
