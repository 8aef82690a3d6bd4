import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseDeadline, parseDuration, parseInstant, parseSeconds } from '../../src/primitives/duration.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const LAST_INSTANT = 8.64e15

const units = fc.constantFrom(
  ['ms', 1],
  ['s', SECOND],
  ['sec', SECOND],
  ['m', MINUTE],
  ['minutes', MINUTE],
  ['H', HOUR],
  ['hours', HOUR],
  ['d', DAY],
  ['weeks', 7 * DAY],
  ['y', 365.25 * DAY],
)
const parts = fc.tuple(fc.nat(10_000), fc.constantFrom('', ' '), units)
const spellings = fc
  .tuple(fc.array(parts, { minLength: 1, maxLength: 5 }), fc.constantFrom('', ' ', '  '))
  .map(([several, between]) => ({
    text: several.map(([count, space, [unit]]) => `${count}${space}${unit}`).join(between),
    sum: several.reduce((sum, [count, , [, size]]) => sum + count * size, 0),
  }))

const unreadable = [
  ...[
    '',
    ' ',
    '10',
    '-5m',
    '+5m',
    '1.5',
    'soon',
    '10x',
    'm',
    '1h 30',
    '1h,30m',
    '1h and 30m',
    ' 10m',
    '10m ',
  ],
  ...['1e3ms', '1..5h', 'NaN', 'Infinity', '∞', '10mm', '1m2', `${'1'.repeat(100)}m`, '٣m', '1h\n30m'],
]
const unreadableNumbers = [NaN, Infinity, -Infinity, -1, -0.6, -0.4]

function messageOf(read: () => unknown): string {
  try {
    read()
  } catch (error) {
    expect(error).toBeInstanceOf(RangeError)
    return (error as RangeError).message
  }
  throw new Error('It was accepted')
}

describe('parseDuration', () => {
  it('takes whole milliseconds as they are', () => {
    fc.assert(fc.property(fc.maxSafeNat(), (count) => parseDuration(count, 'timeout') === count))
  })

  it('sums up parts of a count and a unit', () => {
    fc.assert(fc.property(spellings, ({ text, sum }) => parseDuration(text, 'timeout') === sum))
  })

  it.each([
    ['10m', 10 * MINUTE],
    ['1.5h', 90 * MINUTE],
    ['.5h', 30 * MINUTE],
    ['2 days', 2 * DAY],
    ['1h30m', 90 * MINUTE],
    ['2d 4h', 52 * HOUR],
    ['1.1h', 66 * MINUTE],
    ['0ms', 0],
  ])('reads %j as %d ms', (spelling, expected) => {
    expect(parseDuration(spelling, 'timeout')).toBe(expected)
  })

  it('reads or refuses any string, and names the one it refuses', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[-+0-9.hms ]{0,12}$/)), (text) => {
        let duration: number
        try {
          duration = parseDuration(text, 'timeout')
        } catch (error) {
          expect(error).toBeInstanceOf(RangeError)
          expect((error as RangeError).message).toContain(`timeout ${JSON.stringify(text)}`)
          return
        }
        expect(Number.isInteger(duration) && duration >= 0).toBe(true)
      }),
    )
  })

  it.each(unreadable)('refuses %j, naming it', (text) => {
    expect(messageOf(() => parseDuration(text, 'ttl'))).toBe(
      `Cannot read ttl ${JSON.stringify(text)}: use milliseconds, "10m", "1h30m", "2 days", …`,
    )
  })

  it.each(unreadableNumbers)('refuses %d, naming it', (count) => {
    expect(messageOf(() => parseDuration(count, 'ttl'))).toContain(`Cannot read ttl ${count}: `)
  })

  it.each([null, undefined, {}, true, 10n, new Date(0)])('refuses a value of another type: %s', (value) => {
    expect(() => parseDuration(value as never, 'ttl')).toThrow(TypeError)
    expect(() => parseDuration(value as never, 'ttl')).toThrow('Cannot read ttl')
  })

  it('refuses a long string without trying for long', () => {
    expect(messageOf(() => parseDuration('1'.repeat(1_000_000), 'ttl'))).toContain('Cannot read ttl')
  })
})

describe('parseSeconds', () => {
  it('takes a number for seconds', () => {
    fc.assert(fc.property(fc.nat(), (count) => parseSeconds(count, 'ttl') === count * SECOND))
    expect(parseSeconds(1.5, 'ttl')).toBe(1_500)
  })

  it('reads strings as everywhere', () => {
    fc.assert(fc.property(spellings, ({ text }) => parseSeconds(text, 'ttl') === parseDuration(text, 'ttl')))
  })

  it.each([...unreadable, ...unreadableNumbers, Number.MAX_VALUE])('refuses %j, naming it', (value) => {
    const shown = typeof value === 'string' ? JSON.stringify(value) : String(value)
    expect(messageOf(() => parseSeconds(value, 'maxDuration'))).toContain(
      `Cannot read maxDuration ${shown}: use seconds`,
    )
  })

  it('refuses a value of another type', () => {
    expect(() => parseSeconds({} as never, 'ttl')).toThrow(TypeError)
  })
})

describe('parseDeadline', () => {
  const context = { now: Date.UTC(2030, 0, 1), name: 'timeout' }
  const spell = (deadline: number | string | Date): string =>
    deadline instanceof Date && Number.isNaN(deadline.getTime()) ? '"Invalid Date"' : JSON.stringify(deadline)

  it('counts a duration from now', () => {
    fc.assert(
      fc.property(
        fc.nat(),
        fc.nat(),
        (now, wait) => parseDeadline(wait, { now, name: 'timeout' }) === now + wait,
      ),
    )
    expect(parseDeadline('1h30m', context)).toBe(context.now + 90 * MINUTE)
  })

  it('takes any date from now on, as a Date and as its ISO string', () => {
    fc.assert(
      fc.property(fc.date({ min: new Date(0), noInvalidDate: true }), fc.nat(), (date, before) => {
        const at = date.getTime()
        const now = Math.max(0, at - before)
        expect(parseDeadline(date, { now, name: 'timeout' })).toBe(at)
        expect(parseDeadline(date.toISOString(), { now, name: 'timeout' })).toBe(at)
      }),
    )
  })

  it.each([
    ['2030-01-31', Date.UTC(2030, 0, 31)],
    ['2032-02-29', Date.UTC(2032, 1, 29)],
    ['2030-01-31T12:30Z', Date.UTC(2030, 0, 31, 12, 30)],
    ['2030-01-31T12:30:15.25Z', Date.UTC(2030, 0, 31, 12, 30, 15, 250)],
    ['2030-01-31T12:30:00+02:00', Date.UTC(2030, 0, 31, 10, 30)],
    ['+012345-01-31', Date.UTC(12_345, 0, 31)],
  ])('reads %j', (text, expected) => {
    expect(parseDeadline(text, context)).toBe(expected)
  })

  it.each([
    ...[
      '2030-02-30',
      '2031-02-29',
      '2030-02-30T00:00:00Z',
      '2030-13-01',
      '2030-00-10',
      '2030-01-32',
      '2030',
      '2030-01',
    ],
    ...[
      '2030-01-31T12:30',
      '2030-01-31T12:30:00',
      '2030-01-31 12:30Z',
      '2030-01-31T25:00Z',
      '2030-01-31T12:60Z',
    ],
    ...[
      '2030-01-31Z',
      '20300131',
      '1/31/2030',
      'Jan 31 2030',
      'Thu, 31 Jan 2030 12:00:00 GMT',
      '2030-1-31',
      'tomorrow',
    ],
    ...[
      '2030-01-31T12:30:00+0200',
      '2030-01-31T12:30:00 Z',
      '-000000-01-01',
      ...unreadable,
      ...unreadableNumbers,
    ],
    new Date(NaN),
  ])('refuses %j, naming it', (value) => {
    const shown = typeof value === 'number' ? String(value) : spell(value)
    const message = messageOf(() => parseDeadline(value, context))
    expect(message).toContain(`Cannot read timeout ${shown}: use milliseconds, "10m"`)
    expect(message).toContain('ISO 8601')
  })

  it.each(['2029-12-31', '2029-12-31T23:59:59.999Z', new Date(context.now - 1)])(
    'refuses %j, which is past, naming it and now',
    (value) => {
      expect(messageOf(() => parseDeadline(value, context))).toBe(
        `Cannot use timeout ${JSON.stringify(value)}: it is in the past, now is "2030-01-01T00:00:00.000Z"`,
      )
    },
  )

  it('is taken by parseInstant, which reads and refuses everything else alike', () => {
    const past = new Date(context.now - 1)
    expect(parseInstant(past, context)).toBe(past.getTime())
    expect(parseInstant('2029-12-31', context)).toBe(Date.UTC(2029, 11, 31))
    for (const value of ['1h', 5, '2030-01-31'])
      expect(parseInstant(value, context)).toBe(parseDeadline(value, context))
    for (const value of ['soon', -1, new Date(NaN), LAST_INSTANT])
      expect(messageOf(() => parseInstant(value, context))).toBe(
        messageOf(() => parseDeadline(value, context)),
      )
  })

  it('takes now itself', () => {
    expect(parseDeadline(new Date(context.now), context)).toBe(context.now)
    expect(parseDeadline(0, context)).toBe(context.now)
  })

  it('refuses what no date can hold, naming it', () => {
    expect(parseDeadline(LAST_INSTANT - context.now, context)).toBe(LAST_INSTANT)
    expect(messageOf(() => parseDeadline(LAST_INSTANT, context))).toContain(
      `timeout ${LAST_INSTANT}: no date`,
    )
    expect(messageOf(() => parseDeadline('300000y', context))).toContain('timeout "300000y": no date')
  })

  it.each([null, undefined, {}, true, 10n])('refuses a value of another type: %s', (value) => {
    expect(() => parseDeadline(value as never, context)).toThrow(TypeError)
  })
})
