import { parseDeadline } from '../primitives/duration.ts'

/** When the outside world answers: `'+23h'` from now, or an instant (a `Date`, an ISO 8601 string, epoch milliseconds). */
export type AnswerInstant = Date | string | number

/**
 * Reads when an answer comes, as epoch milliseconds.
 *
 * @throws RangeError when it is unreadable or past.
 */
export function readInstant(at: AnswerInstant, now: number): number {
  const name = 'at'
  if (typeof at === 'number') return parseDeadline(new Date(at), { now, name })
  return parseDeadline(at instanceof Date ? at : at.replace(/^\+/, ''), { now, name })
}
