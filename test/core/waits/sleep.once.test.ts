import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sleepDeadline } from '../../../src/core/waits/sleep.ts'

const NOW = 1_000_000
const DAY_MS = 86_400_000

describe('sleepDeadline', () => {
  it.each([
    [{ seconds: 1 }, 1_000],
    [{ minutes: 1 }, 60_000],
    [{ hours: 1 }, 3_600_000],
    [{ days: 1 }, DAY_MS],
    [{ weeks: 1 }, 7 * DAY_MS],
    [{ months: 1 }, 30 * DAY_MS],
    [{ years: 1 }, 365 * DAY_MS],
    [{ hours: 1, minutes: 30, seconds: 0.5 }, 5_400_500],
    [{ hours: 1, minutes: -90 }, 0],
    [{ seconds: 0 }, 0],
    [{ seconds: 0.0004 }, 0],
    [{ seconds: -1 }, 0],
    [{ years: -1e300 }, 0],
  ])('%j', (time, ms) => {
    expect(sleepDeadline(time, NOW)).toEqual({ timeoutAt: NOW + ms })
  })

  it('is a whole millisecond, never in the past, and adds its parts up', () => {
    const count = fc.option(fc.double({ min: -1e6, max: 1e6, noNaN: true }), { nil: undefined })
    const seconds = fc.double({ min: -1e6, max: 1e6, noNaN: true })
    fc.assert(
      fc.property(
        fc.record({ seconds, minutes: count, hours: count }),
        ({ seconds: some, minutes = 0, hours = 0 }) => {
          const { timeoutAt } = sleepDeadline({ seconds: some, minutes, hours }, NOW)
          const ms = Math.max(0, some * 1_000 + minutes * 60_000 + hours * 3_600_000)
          expect(Number.isInteger(timeoutAt)).toBe(true)
          expect(timeoutAt).toBeGreaterThanOrEqual(NOW)
          expect(Math.abs(timeoutAt - NOW - ms)).toBeLessThanOrEqual(1)
        },
      ),
    )
  })

  it.each([
    [{}, /Cannot wait: give one of seconds, minutes, hours, days, weeks, months, years/],
    [{ seconds: undefined }, /Cannot wait: give one of/],
    [{ seconds: Number.NaN }, /Cannot wait for NaN seconds: it must be a finite number/],
    [{ hours: Infinity }, /Cannot wait for Infinity hours/],
    [{ days: '1' }, /Cannot wait for 1 days/],
    [{ days: null }, /Cannot wait for null days/],
    [{ years: 280_000, days: 1 }, /Cannot wait for 1 days, 280000 years: no date is that far ahead/],
    [{ years: 1e300 }, /no date is that far ahead/],
    [{ date: new Date(Number.NaN) }, /Cannot wait until Invalid Date: date must be a valid Date/],
    [{ date: 5 }, /Cannot wait until 5: date must be a valid Date/],
    [{ date: undefined }, /Cannot wait until undefined/],
  ])('refuses %j', (time, message) => {
    const begin = (): unknown => sleepDeadline(time as never, NOW)
    expect(begin).toThrow(RangeError)
    expect(begin).toThrow(message)
  })

  it('until a date in the past is over at once, unless told to refuse it', () => {
    const date = new Date(NOW - 1)
    expect(sleepDeadline({ date, throwIfInThePast: false }, NOW)).toEqual({ timeoutAt: NOW })
    expect(sleepDeadline({ date, throwIfInThePast: true }, NOW).past).toBeInstanceOf(RangeError)
    for (const at of [NOW, NOW + 1]) {
      expect(sleepDeadline({ date: new Date(at), throwIfInThePast: true }, NOW)).toEqual({ timeoutAt: at })
    }
  })
})
