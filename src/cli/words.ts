import type { WordSpec } from './signature.ts'
import { UsageError } from './exit.ts'
import { type Given, quote } from './given.ts'

/** The word that names a run. */
export const RUN_WORD: WordSpec = { name: 'run', says: 'the id of a run: run_…' }
/** The word that names a token. */
export const TOKEN_WORD: WordSpec = { name: 'token', says: 'the id of a token: waitpoint_…' }

/** The word that names a queue. */
export const QUEUE_WORD: WordSpec = {
  name: 'queue',
  says: 'the name of a queue; of the queue of a task, task/<id>',
}

const PREFIXES = { run: 'run_', token: 'waitpoint_' } as const

/** @throws UsageError for a text that is no id of this kind. */
export function requireId(text: string, kind: keyof typeof PREFIXES): string {
  const prefix = PREFIXES[kind]
  const wrong = !text.startsWith(prefix)
    ? `one begins with ${prefix}`
    : !/^[\w-]*$/.test(text)
      ? `what follows ${prefix} is of letters, digits, _ and - only`
      : text.length < 8 || text.length > 200
        ? `what follows ${prefix} is ${text.length < 8 ? 'cut off' : 'too long'}`
        : undefined
  if (wrong === undefined) return text
  throw new UsageError(`${quote(text)} is not the id of a ${kind}: ${wrong}`)
}

/**
 * A word as a whole number.
 *
 * @throws UsageError for a text that is none, or that is out of its bounds.
 */
export function readWhole(
  given: Given,
  name: string,
  { from, to }: { readonly from: number; readonly to: number },
): number {
  const text = given.word(name)
  const number = /^\d+$/.test(text) ? Number(text) : Number.NaN
  if (number >= from && number <= to) return number
  throw new UsageError(`<${name}> ${quote(text)} must be a whole number from ${from} to ${to}`)
}
