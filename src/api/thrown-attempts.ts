import type { StoredError } from './errors.ts'
import { fromJson, storedError } from './serialize.ts'

/** An attempt that has thrown, as it is stored. Instants are epoch milliseconds. */
export interface StoredAttempt {
  readonly number: number
  readonly startedAt: number
  readonly endedAt: number
  /** How long it had no slot, in milliseconds. Absent in older records. */
  readonly waitedMs?: number
  readonly error: StoredError
}

const MOST_ATTEMPTS = 50
/** Of the text of all of them. One alone is never longer. */
const MOST_BYTES = 65_536
const MOST_OF_A_NAME = 200
const MOST_OF_A_MESSAGE = 1_000
const MOST_OF_A_STACK = 4_000

/** The attempts of a run that have thrown, the oldest first. */
export function storedAttempts(text: string | undefined): readonly StoredAttempt[] {
  // Only `withAttempt` writes these texts.
  return (fromJson(text) ?? []) as readonly StoredAttempt[]
}

/** The text of the attempts with one more, whose error is that of `errorJson`. The oldest are dropped when there are too many. */
export function withAttempt(
  text: string | undefined,
  { errorJson, ...attempt }: Omit<StoredAttempt, 'error'> & { readonly errorJson: string },
): string {
  const { name, message, stack, code } = storedError(errorJson)
  const error = {
    name: cut(name, MOST_OF_A_NAME),
    message: cut(message, MOST_OF_A_MESSAGE),
    stack: stack && cut(stack, MOST_OF_A_STACK),
    code: code && cut(code, MOST_OF_A_NAME),
  }
  const attempts: object[] = [...storedAttempts(text), { ...attempt, error }].slice(-MOST_ATTEMPTS)
  for (;;) {
    const longer = JSON.stringify(attempts)
    if (Buffer.byteLength(longer) <= MOST_BYTES) return longer
    attempts.shift()
  }
}

/** The name and the message of an error may be any value, or none: a task can throw whatever it likes. */
function cut(text: unknown, most: number): string {
  const shown = typeof text === 'string' ? text : (JSON.stringify(text) as string | undefined)
  return (shown ?? 'Error').slice(0, most)
}
