import type { WordSpec } from './signature.ts'
import { UsageError } from './exit.ts'
import { type Given, quote } from './given.ts'
import { RUN_ID_START, TOKEN_ID_START } from '../contract/id-prefixes.ts'

/** The word that names a run. */
export const RUN_WORD: WordSpec = { name: 'run', says: 'the id of a run: run_…' }
/** The word that names a token. */
export const TOKEN_WORD: WordSpec = { name: 'token', says: 'the id of a token: waitpoint_…' }

/** The word that names a queue. */
export const QUEUE_WORD: WordSpec = {
  name: 'queue',
  says: 'the name of a queue; of the queue of a task, task/<id>',
}

const PREFIXES: Readonly<Record<'run' | 'token', string>> = { run: RUN_ID_START, token: TOKEN_ID_START }

/** @throws UsageError for a text that is no id of this kind. */
export function requireId(text: string, kind: keyof typeof PREFIXES): string {
  const prefix = PREFIXES[kind]
  const refused = (wrong: string): UsageError =>
    new UsageError(`${quote(text)} is not the id of a ${kind}: ${wrong}`)
  if (!text.startsWith(prefix)) throw refused(`one begins with ${prefix}`)
  if (!/^[\w-]*$/.test(text)) throw refused(`what follows ${prefix} is of letters, digits, _ and - only`)
  if (text.length < 8) throw refused(`what follows ${prefix} is cut off`)
  if (text.length > 200) throw refused(`what follows ${prefix} is too long`)
  return text
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
