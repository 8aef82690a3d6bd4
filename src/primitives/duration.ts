import ms from 'ms'

/** The instant that a deadline is counted from, and the option it belongs to (for the error message). */
export interface DeadlineContext {
  readonly now: number
  readonly name: string
}

/** The last instant a `Date` can hold. */
export const LAST_INSTANT = 8.64e15
const LONGEST_SPELLING = 100
const PART = /(?:\d+(?:\.\d+)?|\.\d+) *[a-z]+(?: +(?=[\d.]))?/gi
const ISO_8601 =
  /^(\d{4}-\d\d-\d\d|[+-]\d{6}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))?$/
const SPELLINGS = '"10m", "1h30m", "2 days", …'

/** The types of `ms` list what it can read; any other string it answers with `undefined`. */
type ReadPart = (part: string) => number | undefined

/**
 * Reads a duration as whole milliseconds.
 *
 * @param value Milliseconds, or a string in the spellings of `ms` (`10m`, `1.5h`, `2 days`), also several in a
 * row (`1h30m`, `2d 4h`). A string needs units: `"10"` is refused.
 * @param name The option it belongs to, for the error message.
 * @throws RangeError naming the value when it is negative, not finite or unreadable.
 * @throws TypeError when it is neither a number nor a string.
 *
 * @example
 * ```ts
 * parseDuration('1h30m', 'timeout') // 5_400_000
 * ```
 */
export function parseDuration(value: number | string, name: string): number {
  if (!isNumberOrString(value)) throw wrongType(value, name)
  const duration = toMilliseconds(value, 1)
  if (Number.isNaN(duration)) throw unreadable(value, { name, accepted: `milliseconds, ${SPELLINGS}` })
  return duration
}

/** Like {@link parseDuration}, except that a plain number means *seconds*. */
export function parseSeconds(value: number | string, name: string): number {
  if (!isNumberOrString(value)) throw wrongType(value, name)
  const duration = toMilliseconds(value, 1_000)
  if (Number.isNaN(duration)) throw unreadable(value, { name, accepted: `seconds, ${SPELLINGS}` })
  return duration
}

/**
 * Like {@link parseInstant}, except that an instant before `now` is refused.
 *
 * @throws RangeError also for an instant before `now`.
 *
 * @example
 * ```ts
 * parseDeadline('10m', { now: 1_000, name: 'timeout' }) // 601_000
 * parseDeadline('2030-01-31T12:00:00Z', { now: 1_000, name: 'timeout' }) // 1_895_918_400_000
 * ```
 */
export function parseDeadline(value: number | string | Date, { now, name }: DeadlineContext): number {
  const at = parseInstant(value, { now, name })
  if (at >= now) return at
  throw new RangeError(`Cannot use ${name} ${show(value)}: it is in the past, now is ${show(new Date(now))}`)
}

/**
 * Reads an instant, in milliseconds since 1970.
 *
 * @param value A duration from `now` as for {@link parseDuration}, a `Date`, or an ISO 8601 string: a date
 * (midnight in UTC), or a date and time with a time zone.
 * @throws RangeError naming the value when it is unreadable, not in the calendar, or beyond the last instant a `Date`
 * can hold.
 * @throws TypeError when it is neither a number, a string nor a `Date`.
 */
export function parseInstant(value: number | string | Date, { now, name }: DeadlineContext): number {
  const at = toInstant(value, { now, name })
  if (Number.isNaN(at)) {
    const accepted = `milliseconds, ${SPELLINGS}, a Date, or an ISO 8601 date (with a time zone if it has a time)`
    throw unreadable(value, { name, accepted })
  }
  if (at > LAST_INSTANT) throw new RangeError(`Cannot use ${name} ${show(value)}: no date is that far ahead`)
  return at
}

/** NaN when the value cannot be read. */
function toInstant(value: number | string | Date, { now, name }: DeadlineContext): number {
  if (value instanceof Date) return value.getTime()
  if (!isNumberOrString(value)) throw wrongType(value, name)
  const at = now + toMilliseconds(value, 1)
  return Number.isNaN(at) && typeof value === 'string' ? readIsoDate(value) : at
}

/** NaN when the value cannot be read; `scale` is what a plain number is counted in. */
function toMilliseconds(value: number | string, scale: number): number {
  const exact = typeof value === 'number' ? value * scale : readSpelling(value)
  // Less than nothing must not be rounded to nothing.
  return exact >= 0 && exact < Infinity ? Math.round(exact) : NaN
}

function readSpelling(value: string): number {
  const parts = value.length <= LONGEST_SPELLING ? value.match(PART) : null
  if (parts?.join('') !== value) return NaN
  return parts.reduce((total, part) => total + ((ms as ReadPart)(part.trim()) ?? NaN), 0)
}

function readIsoDate(value: string): number {
  const date = ISO_8601.exec(value)?.[1]
  if (date === undefined) return NaN
  // `Date.parse` takes 30 February for 1 March: only a date that comes back unchanged is in the calendar.
  const midnight = Date.parse(date)
  const exists = !Number.isNaN(midnight) && new Date(midnight).toISOString().startsWith(date)
  return exists ? Date.parse(value) : NaN
}

function isNumberOrString(value: unknown): value is number | string {
  return typeof value === 'number' || typeof value === 'string'
}

function wrongType(value: unknown, name: string): TypeError {
  const type = value === null ? 'null' : typeof value
  return new TypeError(`Cannot read ${name}: it is of type "${type}", use a number or a string`)
}

function unreadable(
  value: number | string | Date,
  { name, accepted }: { name: string; accepted: string },
): RangeError {
  return new RangeError(`Cannot read ${name} ${show(value)}: use ${accepted}`)
}

/** Strings and dates in quotes, numbers without: `"10"` is not 10. */
function show(value: number | string | Date): string {
  if (typeof value === 'number') return String(value)
  if (typeof value === 'string') return JSON.stringify(value)
  return Number.isNaN(value.getTime()) ? '"Invalid Date"' : JSON.stringify(value)
}
