import type { Duration } from '../../api/token.ts'
import { parseDeadline, parseDuration, parseSeconds } from '../../primitives/duration.ts'

/** What a date begins with, and no duration. */
const DATE = /^[+-]?\d{4,6}-\d\d/

/**
 * A duration in the one spelling that every service of this API reads.
 *
 * @throws RangeError or TypeError for what is no duration: the hosted service would take it for none at all.
 */
export function wireDuration(duration: Duration | undefined, name: string): string | undefined {
  return duration === undefined ? undefined : spell(parseDuration(duration, name))
}

/** A duration, or an instant in ISO 8601. Whether it is past is for the service to say: it has its own clock. */
export function wireDeadline(deadline: Duration | Date | undefined, name: string): string | undefined {
  const isDate = deadline instanceof Date || (typeof deadline === 'string' && DATE.test(deadline))
  if (!isDate) return wireDuration(deadline, name)
  return new Date(parseDeadline(deadline, { now: Number.NEGATIVE_INFINITY, name })).toISOString()
}

/** Seconds, or a duration, as seconds. */
export function wireSeconds(duration: number | string | undefined, name: string): number | undefined {
  return duration === undefined ? undefined : parseSeconds(duration, name) / 1_000
}

/** Epoch milliseconds of an instant, as text. */
export function wireInstant(instant: Date | number | undefined, name: string): string | undefined {
  if (instant === undefined) return undefined
  const at = instant instanceof Date ? instant.getTime() : instant
  if (Number.isFinite(at)) return String(at)
  throw new RangeError(`Cannot read ${name} ${String(instant)}: use a Date or epoch milliseconds`)
}

/** Whole seconds where it can be: of milliseconds the hosted service knows nothing. */
function spell(ms: number): string {
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}
