import type { WordSpec } from './signature.ts'
import { UsageError } from './exit.ts'
import { quote } from './given.ts'

/** The word that names a run. */
export const RUN_WORD: WordSpec = { name: 'run', says: 'the id of a run: run_…' }
/** The word that names a token. */
export const TOKEN_WORD: WordSpec = { name: 'token', says: 'the id of a token: waitpoint_…' }

const PREFIXES = { run: 'run_', token: 'waitpoint_' } as const

/** @throws UsageError for a text that is no id of this kind. */
export function requireId(text: string, kind: keyof typeof PREFIXES): string {
  const prefix = PREFIXES[kind]
  if (text.startsWith(prefix) && /^[\w-]{8,200}$/.test(text)) return text
  throw new UsageError(`${quote(text)} is not the id of a ${kind}: it begins with ${prefix}`)
}
