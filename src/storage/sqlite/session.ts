import type { SqliteDatabase } from './database.ts'
import type { SqliteHints } from './hints.ts'

/** The database and the hints of one method, inside a transaction. */
export interface SqliteSession {
  readonly database: SqliteDatabase
  readonly hints: SqliteHints
}

/**
 * No call begins in a transaction that has written and read so many characters, which takes some 5 ms: with its last call, of a few millions,
 * it takes no longer than one of many small calls.
 */
export const MOST_CHARACTERS = 2_000_000

/** Runs a method in the transaction of this turn; resolves once that is committed. */
export type Perform = <Answer>(method: (session: SqliteSession) => Answer, kind?: 'read') => Promise<Answer>

/** A call that is wrong and was found so before it changed anything: the others of its turn go on. */
export class RefusedCall extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'Error'
  }
}
