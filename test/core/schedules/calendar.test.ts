import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Calendar } from '../../../src/core/schedules/calendar.ts'

const crons = [
  '*/5 * * * *',
  '30 2 * * *',
  '0 9 * * MON-FRI',
  '15,45 1-3 * * *',
  '0 0 L * *',
  '*/20 * * * * *',
]
const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe']
/** Long before today, and long after. */
const instant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2090, 0, 1) })
const anyCalendar = fc.record({ cron: fc.constantFrom(...crons), timezone: fc.constantFrom(...zones) })

describe('Calendar', () => {
  it('answers as the library does, whatever it was asked before', () => {
    fc.assert(
      fc.property(
        anyCalendar,
        fc.array(fc.tuple(instant, fc.integer({ min: 1, max: 4 })), { maxLength: 4 }),
        (options, questions) => {
          const calendar = new Calendar(options)
          const cron = new Cron(options.cron, { timezone: options.timezone, paused: true })
          for (const [at, count] of questions) {
            const expected = cron.nextRuns(count, new Date(at)).map((next) => next.getTime())
            expect(calendar.after(at, count)).toEqual(expected)
          }
        },
      ),
      { numRuns: 60, seed: 1 },
    )
  })

  it('finds the instants forwards and backwards', () => {
    fc.assert(
      fc.property(anyCalendar, instant, (options, at) => {
        const calendar = new Calendar(options)
        const next = calendar.next(at) ?? 0
        expect(next).toBeGreaterThan(at)
        const before = calendar.before(next) ?? 0
        expect(before).toBeLessThanOrEqual(at)
        expect(calendar.next(before)).toBe(next)
      }),
      { numRuns: 150, seed: 1 },
    )
  })
})
