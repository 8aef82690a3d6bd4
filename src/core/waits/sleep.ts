import type { ForTokenOptions, WaitForOptions } from '../../api/token.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'

const SECOND_MS = 1_000
const DAY_MS = 86_400_000

type SleepPart = Exclude<keyof WaitForOptions, keyof ForTokenOptions | 'name'>

/** The units of a sleep, in milliseconds. */
export const SLEEP_PARTS: Readonly<Record<SleepPart, number>> = {
  seconds: SECOND_MS,
  minutes: 60_000,
  hours: 3_600_000,
  days: DAY_MS,
  weeks: 7 * 86_400_000,
  months: 30 * 86_400_000,
  years: 365 * 86_400_000,
}

/** A deadline that can be read. */
export interface ReadDeadline {
  readonly timeoutAt: number
  /** The error for an instant in the past. It is not thrown if the wait began before that instant. */
  readonly past?: RangeError
}

/**
 * The instant a sleep ends: never before `now`.
 *
 * @throws RangeError when no time is given, one is not a number, the date is invalid, or no date is that far ahead.
 */
export function sleepDeadline(
  time: WaitForOptions | { readonly date: Date; readonly throwIfInThePast: boolean },
  now: number,
): ReadDeadline {
  if ('date' in time) return dateDeadline(time, now)
  const timeoutAt = now + Math.max(0, Math.round(sumOf(time)))
  if (timeoutAt <= LAST_INSTANT) return { timeoutAt }
  throw new RangeError(`Cannot wait for ${partsOf(time)}: no date is that far ahead`)
}

/** The parts of a sleep as they were given: `1 days, 2 hours`. */
function partsOf(time: WaitForOptions): string {
  const parts = Object.keys(SLEEP_PARTS) as SleepPart[]
  return parts.flatMap((part) => (time[part] === undefined ? [] : [`${time[part]} ${part}`])).join(', ')
}

function sumOf(time: WaitForOptions): number {
  let durationMs: number | undefined
  for (const [part, unitMs] of Object.entries(SLEEP_PARTS)) {
    const count = time[part as SleepPart]
    if (count === undefined) continue
    if (typeof count !== 'number' || !Number.isFinite(count)) {
      throw new RangeError(`Cannot wait for ${String(count)} ${part}: it must be a finite number`)
    }
    durationMs = (durationMs ?? 0) + count * unitMs
  }
  if (durationMs !== undefined) return durationMs
  throw new RangeError(`Cannot wait: give one of ${Object.keys(SLEEP_PARTS).join(', ')}`)
}

function dateDeadline(
  { date, throwIfInThePast }: { date: Date; throwIfInThePast: boolean },
  now: number,
): ReadDeadline {
  const at = date instanceof Date ? date.getTime() : Number.NaN
  if (Number.isNaN(at)) throw new RangeError(`Cannot wait until ${String(date)}: date must be a valid Date`)
  if (at >= now) return { timeoutAt: at }
  if (!throwIfInThePast) return { timeoutAt: now }
  return {
    timeoutAt: now,
    past: new RangeError(`Cannot wait until ${date.toISOString()}: it is in the past`),
  }
}
