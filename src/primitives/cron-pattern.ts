import { show } from './require.ts'

interface Field {
  readonly name: string
  readonly from: number
  readonly to: number
  /** Names of the values, from the first one on. */
  readonly names?: string
  /** Items of this field alone: the last day of the month, the second Friday, the last Friday. */
  readonly special?: RegExp
}

const FIELDS: readonly Field[] = [
  { name: 'second', from: 0, to: 59 },
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31, special: /^L$/i },
  { name: 'month', from: 1, to: 12, names: 'JANFEBMARAPRMAYJUNJULAUGSEPOCTNOVDEC' },
  {
    name: 'day of the week',
    from: 0,
    to: 7,
    names: 'SUNMONTUEWEDTHUFRISAT',
    special: /^(?:[0-7]|SUN|MON|TUE|WED|THU|FRI|SAT)#[1-5L]$/i,
  },
]

const NICKNAME = /^@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)$/
const ITEM = /^(?:\*|(\d+|[a-z]{3})(?:-(\d+|[a-z]{3}))?)(?:\/(\d+))?$/i

/**
 * Checks a cron pattern of five fields, of six with seconds first, or a name such as `@daily`. The library that computes
 * instants is loaded later than a task is defined, so that its own check would come too late.
 *
 * @throws RangeError naming the field that cannot be read; TypeError for a value that is no string.
 */
export function requireCron(pattern: unknown, what: string): string {
  if (typeof pattern !== 'string')
    throw new TypeError(`Cannot use ${what} ${show(pattern)}: it must be a string`)
  const fault = cronFault(pattern.trim())
  if (fault === undefined) return pattern.trim()
  throw new RangeError(`Cannot use ${what} ${show(pattern)}: ${fault}`)
}

function cronFault(pattern: string): string | undefined {
  if (NICKNAME.test(pattern)) return undefined
  const texts = pattern.split(/\s+/)
  const fields = FIELDS.slice(-texts.length)
  if (texts.length < 5 || texts.length > 6)
    return 'it must have the five fields minute, hour, day of the month, month and day of the week, such as "30 9 * * MON-FRI"'
  for (const [index, field] of fields.entries())
    for (const item of (texts[index] ?? '').split(','))
      if (!isItem(item, field))
        return `the ${field.name} ${show(item)} is not one (${field.from} to ${field.to})`
  return undefined
}

function isItem(item: string, field: Field): boolean {
  if (field.special?.test(item) === true) return true
  const match = ITEM.exec(item)
  if (match === null) return false
  const [, first = String(field.from), last, step = '1'] = match
  const from = valueOf(first, field)
  const to = last === undefined ? from : valueOf(last, field)
  const isStep = Number(step) >= 1 && Number(step) <= field.to
  return isStep && from >= field.from && from <= to && to <= field.to
}

/** The number of a value, by its name if it has one; NaN for an unknown name. */
function valueOf(text: string, { names = '', from }: Field): number {
  if (/^\d+$/.test(text)) return Number(text)
  const at = names.indexOf(text.toUpperCase())
  return at % 3 === 0 ? from + at / 3 : NaN
}

/** @throws RangeError unless it is an IANA time zone that this process knows. */
export function requireTimeZone(timeZone: unknown, what: string): string {
  try {
    if (typeof timeZone === 'string' && timeZone !== '') {
      new Intl.DateTimeFormat('en', { timeZone })
      return timeZone
    }
  } catch {
    // Told below.
  }
  throw new RangeError(
    `Cannot use ${what} ${show(timeZone)}: it must be a time zone such as "Europe/Berlin" or "UTC"`,
  )
}
