import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'
import { cureOf } from './cures.ts'

interface DriverError {
  readonly message?: unknown
  /** Five characters of Postgres, or a name of Node. */
  readonly code?: unknown
}

const LOCK_NOT_AVAILABLE = '55P03'
/** Deadlock, serialization, a lock that was not to be had: nothing was done, and it may be tried again. */
const ROLLED_BACK: ReadonlySet<unknown> = new Set(['40P01', '40001', LOCK_NOT_AVAILABLE])
/**
 * A later version has made functions and types anew in the middle of a call: what it looked up is gone. Nothing was done, and the
 * new ones are there.
 */
const MADE_ANEW: ReadonlySet<unknown> = new Set(['XX000', '42883', '42704'])
/** No connection was made. */
const UNREACHABLE: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ENOENT', '57P03', '53300'])
/** A class of errors of Postgres that ends the connection, and with it what was under way. */
const CUT: ReadonlySet<unknown> = new Set(['57P01', '57P02', '57P05', '08000', '08003', '08006', '25P03'])
/**
 * The server cannot do it now, and has done nothing: read-only after a failover, a statement that took too long, no disk, no
 * memory, no connection, an error of the system; or it lets the program in no more, whose password was changed.
 */
const AWAY = /^(?:25006|28...|3D000|57014|57P0.|53...|58...)$/
const TOO_SLOW = /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)$/
const POSTGRES_CODE = /^[0-9A-Z]{5}$/

export const INSUFFICIENT_PRIVILEGE = '42501'

export function codeOf(error: unknown): unknown {
  return ((error ?? {}) as DriverError).code
}

/** What went wrong, and what to do about it. */
export function postgresMessage(error: unknown): string {
  const { message, code } = (error ?? {}) as DriverError
  const told = typeof message === 'string' && message !== '' ? message : String(code ?? error)
  const cure = cureOf(error)
  return cure === undefined ? told : `${told}; ${cure}`
}

/** Whether the transaction is known to have changed nothing for a reason that passes. */
export function isRolledBack(error: unknown): boolean {
  return ROLLED_BACK.has(codeOf(error))
}

/** Whether a call has done nothing, and may be made again at once. */
export function isToRepeat(error: unknown): boolean {
  return isRolledBack(error) || MADE_ANEW.has(codeOf(error))
}

/** Whether another transaction had a lock for longer than the call may wait for one. */
export function isLocked(error: unknown): boolean {
  return codeOf(error) === LOCK_NOT_AVAILABLE
}

/** The error of a call that the server's `lock_timeout` has ended. */
export function lockTimeout(what: string, cause?: unknown): StorageUnavailableError {
  return new StorageUnavailableError(
    `Cannot ${what}: an open transaction has locked its key or its token for longer than the lock_timeout of the server; ` +
      'commit or roll back that transaction sooner, or raise lock_timeout',
    { cause, mayBeDone: false },
  )
}

/** Whether nothing was sent at all: there is no connection to be had. */
export function isUnreachable(error: unknown): boolean {
  return UNREACHABLE.has(codeOf(error)) || isTooSlow(error)
}

/** Whether the wait for a connection took too long: `postgres` has a code for that, and `pg` has none. */
export function isTooSlow(error: unknown): boolean {
  if (codeOf(error) === 'CONNECT_TIMEOUT') return true
  return codeOf(error) === undefined && error instanceof Error && TOO_SLOW.test(error.message)
}

/** Whether the server cannot be used now, and the request is not to blame. An error at the opening is told by its cause. */
export function isServerAway(error: unknown): boolean {
  const code = codeOf(error)
  if (code === undefined && error instanceof Error && error.cause !== undefined)
    return isServerAway(error.cause)
  if (error instanceof TypeError) return false
  return (
    isUnreachable(error) ||
    isRolledBack(error) ||
    isCut(error) ||
    (typeof code === 'string' && AWAY.test(code))
  )
}

/** Whether the connection broke, so that it is unknown whether the statement was carried out. */
export function isCut(error: unknown): boolean {
  // A request longer than the longest string was never sent.
  if (error instanceof RangeError) return false
  const code = codeOf(error)
  if (CUT.has(code)) return true
  return !isUnreachable(error) && !(typeof code === 'string' && POSTGRES_CODE.test(code))
}
