import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Calendar } from '../../../src/core/schedules/calendar.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** What the clocks of a zone show at an instant, as if it were UTC. */
type Clocks = (at: number) => number

function clocksOf(timeZone: string): Clocks {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    ...{
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    },
  })
  return (at) => {
    const [month = 0, day, year = 0, ...time] = (format.format(at).match(/\d+/g) ?? []).map(Number)
    return Date.UTC(year, month - 1, day, ...time)
  }
}

/** The first instants at which clocks are changed, a few days apart at least. */
function changesOf(clocks: Clocks, from: number, to: number): number[] {
  const changes: number[] = []
  const offset = (at: number): number => clocks(at) - at
  for (let at = from; at < to; at += DAY) {
    if (offset(at) === offset(at + DAY)) continue
    let [last, change] = [at, at + DAY]
    while (change - last > MINUTE) {
      const middle = last + Math.floor((change - last) / MINUTE / 2) * MINUTE
      if (offset(middle) === offset(at)) last = middle
      else change = middle
    }
    changes.push(change)
  }
  return changes
}

/** What a field names. */
function valuesOf(field: string, from: number, to: number): ReadonlySet<number> {
  const values = new Set<number>()
  for (const item of field.split(',')) {
    const [range = '', step = '1'] = item.split('/')
    const [first = from, last = item.includes('/') ? to : first] =
      range === '*' ? [from, to] : range.split('-').map(Number)
    for (let value = first; value <= last; value += Number(step)) values.add(value)
  }
  return values
}

/** The instants of a pattern around a change of the clocks, by the words of docs/queues-and-schedules.md#schedules: minute by minute. */
function reference(cron: string, around: Around): number[] {
  const fields = cron.split(' ')
  const [second = '0', minute = '', hour = '', day = '', month = '', weekday = ''] =
    fields.length === 6 ? fields : ['0', ...fields]
  const isInterval = [second, minute, hour].some((field) => field.includes('*'))
  const seconds = Array.from(valuesOf(second, 0, 59))
  const [minutes, hours] = [valuesOf(minute, 0, 59), valuesOf(hour, 0, 23)]
  const [days, months, weekdays] = [valuesOf(day, 1, 31), valuesOf(month, 1, 12), valuesOf(weekday, 0, 6)]
  const fits = (time: number): boolean => {
    const date = new Date(time)
    if (!minutes.has(date.getUTCMinutes()) || !hours.has(date.getUTCHours())) return false
    const [isDay, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())]
    const isEither = day !== '*' && weekday !== '*' ? isDay || isWeekday : isDay && isWeekday
    return isEither && months.has(date.getUTCMonth() + 1)
  }
  const instants = new Set<number>()
  const { shown } = around
  if (isInterval) {
    for (const [at, time] of shown)
      if (fits(time)) for (const after of seconds) instants.add(at + after * 1_000)
  } else {
    for (const [time, at] of around.times)
      if (fits(time)) for (const after of seconds) instants.add(at.isSkipped ? at.at : at.at + after * 1_000)
  }
  return Array.from(instants).sort((one, other) => one - other)
}

/** Some hours, with a change of the clocks in their middle. */
interface Around {
  readonly from: number
  readonly to: number
  /** Each minute, and what the clocks show. */
  readonly shown: ReadonlyMap<number, number>
  /** Each minute that the clocks show or skip: when it first comes, else when the gap ends. */
  readonly times: ReadonlyMap<number, { readonly at: number; readonly isSkipped: boolean }>
}

function aroundChange(clocks: Clocks, change: number, hours: number): Around {
  const [from, to] = [change - hours * HOUR, change + hours * HOUR]
  const [before, after] = [change - 3 * HOUR, change + 3 * HOUR]
  const shown = new Map<number, number>()
  const first = new Map<number, number>()
  // Nothing is changed far from it: there the clocks need not be asked.
  const [early, late] = [clocks(before) - before, clocks(after) - after]
  for (let at = from; at < to; at += MINUTE) {
    const time = at < before ? at + early : at >= after ? at + late : clocks(at)
    shown.set(at, time)
    if (!first.has(time)) first.set(time, at)
  }
  const times = new Map<number, { at: number; isSkipped: boolean }>()
  for (let time = from + early; time < to + late; time += MINUTE)
    times.set(time, { at: first.get(time) ?? change, isSkipped: !first.has(time) })
  return { from, to, shown, times }
}

const number = (values: readonly number[]): fc.Arbitrary<number> => fc.constantFrom(...values)

/** A field of the time, with all that its grammar has. */
function fieldOf(values: readonly number[], to: number): fc.Arbitrary<string> {
  const value = number(values)
  const step = fc.integer({ min: 1, max: to })
  const range = fc.tuple(value, value).map((pair) => pair.sort((one, other) => one - other).join('-'))
  const item = fc.oneof(
    { weight: 4, arbitrary: value.map(String) },
    range,
    fc.tuple(range, step).map((pair) => pair.join('/')),
    fc.tuple(value, step).map((pair) => pair.join('/')),
  )
  return fc.oneof(
    { weight: 6, arbitrary: fc.array(item, { minLength: 1, maxLength: 3 }).map((items) => items.join(',')) },
    { weight: 1, arbitrary: fc.constant('*') },
    { weight: 1, arbitrary: step.map((text) => `*/${text}`) },
  )
}

/** Patterns that are due near a change: hours of the night, the days around it. */
function patternsAround(time: number): fc.Arbitrary<string> {
  const near = [-1, 0, 1].map((days) => new Date(time + days * DAY))
  const minute = fieldOf([0, 1, 15, 29, 30, 31, 45, 59], 59)
  const hours = [0, 1, 2, 3, 4, 22, 23, new Date(time).getUTCHours(), 13]
  const rarely = (field: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
    fc.oneof({ weight: 3, arbitrary: fc.constant('*') }, { weight: 1, arbitrary: field.map(String) })
  return fc
    .tuple(
      fc.oneof(
        { weight: 9, arbitrary: fc.constant([]) },
        { weight: 1, arbitrary: fieldOf([0, 1, 30, 59], 59) },
      ),
      minute,
      fieldOf(hours, 23),
      rarely(number(near.map((date) => date.getUTCDate()))),
      rarely(number(near.map((date) => date.getUTCMonth() + 1))),
      rarely(number(near.map((date) => date.getUTCDay()))),
    )
    .map((fields) => fields.flat().join(' '))
}

/** Forwards, backwards and some at once. */
function agrees(options: { cron: string; timezone: string }, around: Around): void {
  const expected = reference(options.cron, around)
  const calendar = new Calendar(options)
  const what = `${options.cron} in ${options.timezone} from ${new Date(around.from).toISOString()}`
  const forwards: number[] = []
  for (let at = calendar.next(around.from - 1); at !== undefined && at < around.to; at = calendar.next(at))
    forwards.push(at)
  expect(difference(forwards, expected), what).toBeUndefined()
  const backwards: number[] = []
  for (let at = calendar.before(around.to); at !== undefined && at >= around.from; at = calendar.before(at))
    backwards.push(at)
  expect(difference(backwards.reverse(), expected), `${what}, backwards`).toBeUndefined()
  expect(difference(calendar.after(around.from - 1, expected.length), expected), what).toBeUndefined()
}

/** The first instants that are not the same. */
function difference(got: readonly number[], expected: readonly number[]): unknown {
  const index = Array.from({ length: Math.max(got.length, expected.length) }).findIndex(
    (_, place) => got[place] !== expected[place],
  )
  if (index === -1) return undefined
  const text = (at: number | undefined): string | undefined =>
    at === undefined ? at : new Date(at).toISOString()
  return { index, got: text(got[index]), expected: text(expected[index]) }
}

const zones = Intl.supportedValuesOf('timeZone')
const instant = fc.integer({ min: Date.UTC(1990, 0, 1), max: Date.UTC(2090, 0, 1) })
const anyCalendar = fc.record({
  cron: fc.oneof(
    patternsAround(Date.UTC(2026, 2, 29, 1)),
    fc.constantFrom('0 0 L * *', '30 2 29 2 *', '0 9 * * MON#1', '0 12 * * FRI#L', '@hourly', '@daily'),
  ),
  timezone: fc.constantFrom('UTC', 'Europe/Berlin', 'America/Nuuk', 'Australia/Lord_Howe', 'Pacific/Apia'),
})

describe('Calendar', () => {
  it('is due as the page says, at each change from 2024 to 2030 in each time zone', () => {
    let count = 0
    for (const timezone of zones) {
      const clocks = clocksOf(timezone)
      for (const change of changesOf(clocks, Date.UTC(2024, 0, 1), Date.UTC(2031, 0, 1))) {
        count += 1
        const around = aroundChange(clocks, change, 4)
        for (const cron of fc.sample(patternsAround(clocks(change)), 1)) agrees({ cron, timezone }, around)
      }
    }
    expect(count).toBeGreaterThan(1_000)
  })

  it.each([
    ['Australia/Lord_Howe', 2026],
    ['Antarctica/Troll', 2026],
    ['America/Nuuk', 2026],
    ['Africa/Casablanca', 2026],
    ['America/New_York', 2026],
    ['Europe/Lisbon', 1993],
    ['America/Recife', 2000],
  ])('is due as the page says in %s in %i, by all kinds of patterns', (timezone, year) => {
    const clocks = clocksOf(timezone)
    const changes = changesOf(clocks, Date.UTC(year, 0, 1), Date.UTC(year + 1, 0, 1))
    expect(changes.length).toBeGreaterThan(1)
    for (const change of changes) {
      const around = aroundChange(clocks, change, 26)
      fc.assert(
        fc.property(patternsAround(clocks(change)), (cron) => agrees({ cron, timezone }, around)),
        { numRuns: 10 },
      )
    }
  })

  it('makes up for a day that the clocks skip', () => {
    // The 30th of December 2011 was left out.
    const calendar = new Calendar({ cron: '0,30 9 * * *', timezone: 'Pacific/Apia' })
    const expected = ['2011-12-29T19:30', '2011-12-30T10:00', '2011-12-30T19:00', '2011-12-30T19:30']
    const from = Date.UTC(2011, 11, 29, 19, 30) - 1
    expect(calendar.after(from, 4).map((at) => new Date(at).toISOString().slice(0, 16))).toEqual(expected)
    const hours = new Calendar({ cron: '0 * * * *', timezone: 'Pacific/Apia' }).after(from, 24)
    expect(hours.map((at, index) => at - (hours[index - 1] ?? at - HOUR))).toEqual(Array(24).fill(HOUR))
  })

  it('answers what it would if it had not been asked before', () => {
    fc.assert(
      fc.property(
        anyCalendar,
        fc.array(fc.tuple(instant, fc.integer({ min: 1, max: 4 })), { maxLength: 4 }),
        (options, questions) => {
          const calendar = new Calendar(options)
          for (const [at, count] of questions)
            expect(calendar.after(at, count)).toEqual(new Calendar(options).after(at, count))
        },
      ),
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
    )
  })

  it('ends where a pattern has no instant', () => {
    const calendar = new Calendar({ cron: '0 0 30 2 *', timezone: 'Europe/Berlin' })
    expect(calendar.next(0)).toBeUndefined()
    expect(calendar.before(0)).toBeUndefined()
  })
})
