import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { correctClock, correctClockAtOpen } from '../../../src/core/host/host.ts'
import type { Clock } from '../../../src/contract/clock.ts'
import { memoryStorage } from 'waitpoint'

interface Skewed extends Clock {
  /** How far it is from the time of the storage. */
  error: number
}

/** A clock that is `error` ahead of a storage; `time` is that of the storage. */
function skewedClock(error: number, time: () => number): Skewed {
  return {
    error,
    now() {
      return time() + this.error
    },
    setTimer: () => () => undefined,
    adjust(byMs) {
      this.error += byMs
    },
  }
}

describe('correctClock', () => {
  it('leaves a clock that is no further from the storage than the way there and back, however often it is asked', () => {
    const ways = fc.array(fc.tuple(fc.nat(2_000), fc.nat(2_000)), { minLength: 1 })
    fc.assert(
      fc.property(fc.integer({ min: -600_000, max: 600_000 }), ways, (error, samples) => {
        let time = 1_000_000
        const clock = skewedClock(error, () => time)
        for (const [there, back] of samples) {
          const askedAt = clock.now()
          time += there
          const said = time
          time += back
          correctClock(clock, { askedAt, time: said })
          expect(Math.abs(clock.error)).toBeLessThanOrEqual(there + back + 2)
        }
        expect(Number.isInteger(clock.error)).toBe(true)
      }),
    )
  })

  it('does not touch a clock that cannot be set', () => {
    const clock: Clock = { now: () => 5, setTimer: () => () => undefined }
    expect(() => correctClock(clock, { askedAt: 0, time: 1_000 })).not.toThrow()
  })
})

describe('correctClockAtOpen', () => {
  it('asks a storage that has a time of its own', async () => {
    const clock = skewedClock(60_000, () => 0)
    await correctClockAtOpen(clock, { ...memoryStorage(), time: () => Promise.resolve(0) })
    expect(clock.error).toBe(0)
  })

  it('asks no other', () => {
    const clock = skewedClock(60_000, () => 0)
    expect(correctClockAtOpen(clock, memoryStorage())).toBeUndefined()
    expect(clock.error).toBe(60_000)
  })
})
