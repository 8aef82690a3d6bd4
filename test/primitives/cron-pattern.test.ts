import { Cron } from 'croner'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { requireCron, requireTimeZone } from '../../src/primitives/cron-pattern.ts'

const values: readonly (readonly [from: number, to: number])[] = [
  [0, 59],
  [0, 59],
  [0, 23],
  [1, 31],
  [1, 12],
  [0, 7],
]

/** Items that are right, and items that are nearly right. */
function item([from, to]: readonly [from: number, to: number]): fc.Arbitrary<string> {
  const value = fc.integer({ min: Math.max(0, from - 1), max: to + 1 }).map(String)
  const step = fc.integer({ min: 0, max: to + 2 }).map(String)
  const word = fc.constantFrom(
    'JAN',
    'dec',
    'SUN',
    'Fri',
    'L',
    'W',
    '?',
    '',
    'SUN#2',
    '5#L',
    '5#6',
    '3L',
    '@daily',
  )
  return fc.oneof(
    fc.constant('*'),
    value,
    fc.tuple(value, value).map((pair) => pair.join('-')),
    fc.tuple(fc.constantFrom('*', '2', '1-9'), step).map((pair) => pair.join('/')),
    word,
  )
}

const pattern = fc
  .tuple(
    fc.integer({ min: 4, max: 6 }),
    fc.tuple(...values.map((range) => fc.array(item(range), { minLength: 1, maxLength: 2 }))),
  )
  .map(([count, fields]) =>
    fields
      .slice(-count)
      .map((items) => items.join(','))
      .join(' '),
  )

describe('requireCron', () => {
  it('takes only patterns that the library can read', () => {
    let taken = 0
    fc.assert(
      fc.property(pattern, (text) => {
        try {
          requireCron(text, 'cron')
        } catch {
          return
        }
        taken += 1
        expect(() => new Cron(text, { paused: true, mode: '5-or-6-parts', sloppyRanges: true })).not.toThrow()
      }),
      { numRuns: 5_000, seed: 1 },
    )
    expect(taken).toBeGreaterThan(50)
  })

  it.each([
    ...['* * * * *', '*/5 * * * *', '0 0 1,15 * *', '0 9-17/2 * * MON-FRI', '0 0 L * *', '0 9 * * FRI#L'],
    ...['30 2 29 feb *', '0 0 * * 7', '5/15 * * * *', '*/10 * * * * *', '@daily', '@hourly', ' 0  9 * * * '],
  ])('takes %s', (text) => {
    expect(requireCron(text, 'cron')).toBe(text.trim())
  })
})

describe('requireTimeZone', () => {
  it.each(Intl.supportedValuesOf('timeZone').filter((_, index) => index % 40 === 0))('takes %s', (zone) => {
    expect(requireTimeZone(zone, 'timezone')).toBe(zone)
  })
})
