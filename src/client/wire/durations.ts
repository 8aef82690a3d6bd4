import type { Duration } from '../../api/token.ts'
import { parseDuration, parseInstant, parseSeconds } from '../../primitives/duration.ts'

/** A date begins like this; a duration never does. */
const DATE = /^[+-]?\d{4,6}-\d\d/

/**
 * A duration in the spelling that every service of this API reads.
 *
 * @throws RangeError or TypeError for a value that is not a duration; the hosted service would ignore it.
 */
export function wireDuration(duration: Duration | undefined, name: string): string | undefined {
  return duration === undefined ? undefined : spell(parseDuration(duration, name))
}

/** A duration, or an instant in ISO 8601. The service decides whether it is past, by its own clock. */
export function wireDeadline(deadline: Duration | Date | undefined, name: string): string | undefined {
  const isDate = deadline instanceof Date || (typeof deadline === 'string' && DATE.test(deadline))
  if (!isDate) return wireDuration(deadline, name)
  return new Date(parseInstant(deadline, { now: 0, name })).toISOString()
}

/** A number of seconds, or a duration, as seconds. */
export function wireSeconds(duration: number | string | undefined, name: string): number | undefined {
  return duration === undefined ? undefined : parseSeconds(duration, name) / 1_000
}

/** An instant as text: epoch milliseconds. */
export function wireInstant(instant: Date | number | undefined, name: string): string | undefined {
  if (instant === undefined) return undefined
  const at = instant instanceof Date ? instant.getTime() : instant
  if (Number.isFinite(at)) return String(at)
  throw new RangeError(`Cannot read ${name} ${String(instant)}: use a Date or epoch milliseconds`)
}

/** Whole seconds where possible, because the hosted service does not read milliseconds. */
function spell(ms: number): string {
  return ms % 1_000 === 0 ? `${ms / 1_000}s` : `${ms}ms`
}
