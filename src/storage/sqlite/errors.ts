const BUSY = 5
const IOERR = 10
const FULL = 13
const CANTOPEN = 14
const CONSTRAINT = 19

interface DriverError {
  readonly message?: unknown
  /** `SQLITE_BUSY` of better-sqlite3 and libsql. */
  readonly code?: unknown
  /** The number, extended, of node:sqlite. */
  readonly errcode?: unknown
}

/** Another connection holds the lock. */
export function isBusy(error: unknown): boolean {
  return isOfKind(error, { name: 'SQLITE_BUSY', number: BUSY })
}

/** The database cannot be used now: the lock, the disk or the file is to blame, and not the statement. */
export function isDatabaseAway(error: unknown): boolean {
  return (
    isBusy(error) ||
    isIoError(error) ||
    isOfKind(error, { name: 'SQLITE_FULL', number: FULL }) ||
    isOfKind(error, { name: 'SQLITE_CANTOPEN', number: CANTOPEN })
  )
}

/** After such an error of a commit the next start may find it stored. */
export function isIoError(error: unknown): boolean {
  return isOfKind(error, { name: 'SQLITE_IOERR', number: IOERR })
}

/** The owner of the handle has a transaction of their own open. */
export function isInTransaction(error: unknown): boolean {
  return /within a transaction/.test(sqliteMessage(error))
}

/** A record of this id is there already. */
export function isTaken(error: unknown): boolean {
  return isOfKind(error, { name: 'SQLITE_CONSTRAINT', number: CONSTRAINT })
}

export function sqliteMessage(error: unknown): string {
  return String((error as DriverError | undefined)?.message ?? error)
}

function isOfKind(
  error: unknown,
  { name, number }: { readonly name: string; readonly number: number },
): boolean {
  const { code, errcode } = (error ?? {}) as DriverError
  if (typeof errcode === 'number') return (errcode & 0xff) === number
  return typeof code === 'string' && code.startsWith(name)
}
