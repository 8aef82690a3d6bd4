import type { Storage } from '../contract/storage.ts'
import { WaitpointError } from '../api/errors.ts'

/** A transaction of the caller's own that a call becomes part of. */
export interface TransactionOptions {
  /**
   * A connection on which the caller has begun a transaction: the call takes effect if, and when, that is committed, and
   * nobody hears of it before. For storages in a database: with `waitpoint/postgres` a client of `pg`. The others reject
   * with `ERR_TRANSACTION_UNSUPPORTED`.
   */
  readonly transaction?: object
}

/** @throws WaitpointError `ERR_TRANSACTION_UNSUPPORTED` when the storage has none that a call could be part of. */
export function requireJoining(storage: Storage, { transaction }: TransactionOptions, what: string): void {
  if (transaction === undefined || storage.joinsTransactions === true) return
  throw new WaitpointError(
    'ERR_TRANSACTION_UNSUPPORTED',
    `Cannot ${what} in a transaction: the storage of this engine has none; use postgresStorage of waitpoint/postgres`,
  )
}
