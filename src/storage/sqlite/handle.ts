/** A value that is bound to a statement or read from a row, of the types that all drivers share. */
export type SqlValue = string | number | null

export type SqlRow = Readonly<Record<string, SqlValue>>

/**
 * The part of an open database that the storage uses; `node:sqlite`, `better-sqlite3` and `libsql` have it alike. It
 * answers at once: a database that answers with promises is refused.
 */
export interface SqliteHandle {
  exec(sql: string): unknown
  prepare(sql: string): SqliteStatement
  close(): unknown
}

export interface SqliteStatement {
  run(...parameters: never[]): unknown
  get(...parameters: never[]): unknown
  all(...parameters: never[]): unknown
}

/** A statement that takes its parameters as one array, with every driver. */
export interface BoundStatement {
  run(parameters: readonly SqlValue[]): unknown
  get(parameters: readonly SqlValue[]): unknown
  all(parameters: readonly SqlValue[]): unknown
}

/** How a driver takes its parameters: as one array, or one by one. */
export type Binding = 'array' | 'spread'

type Call = (...parameters: readonly unknown[]) => unknown

/**
 * Finds out how a handle wants its parameters, without a side effect.
 *
 * @throws TypeError when it answers with promises, or not at all as it should.
 */
export function bindingOf(handle: SqliteHandle): Binding {
  const statement = handle.prepare('SELECT ? AS probe')
  for (const binding of ['array', 'spread'] as const) {
    const answer = attempt(() => bind(statement, binding).get([1]))
    if (isThenable(answer)) {
      throw new TypeError(
        'Cannot use this SQLite handle: it answers with promises; use one of node:sqlite, better-sqlite3 or libsql',
      )
    }
    if (isProbe(answer)) return binding
  }
  throw new TypeError('Cannot use this SQLite handle: it does not answer a SELECT with the row')
}

/** Gives every statement its parameters in the same way. */
export function bind(statement: SqliteStatement, binding: Binding): BoundStatement {
  const { run, get, all } = statement as unknown as Readonly<Record<'run' | 'get' | 'all', Call>>
  if (binding === 'array') {
    return {
      run: (parameters) => run.call(statement, parameters),
      get: (parameters) => get.call(statement, parameters),
      all: (parameters) => all.call(statement, parameters),
    }
  }
  return {
    run: (parameters) => run.apply(statement, parameters as unknown[]),
    get: (parameters) => get.apply(statement, parameters as unknown[]),
    all: (parameters) => all.apply(statement, parameters as unknown[]),
  }
}

/**
 * Makes a statement answer its rows as arrays, where its driver can: to name thirty columns anew for every row costs more
 * than to read them. Elsewhere the values of a row are in the order of its columns as well.
 */
export function answerArrays(statement: SqliteStatement): void {
  const { setReturnArrays, raw } = statement as Partial<Record<'setReturnArrays' | 'raw', Call>>
  if (setReturnArrays !== undefined) setReturnArrays.call(statement, true)
  else raw?.call(statement, true)
}

/** `node:sqlite` takes an array for named parameters, and throws. */
function attempt(ask: () => unknown): unknown {
  try {
    return ask()
  } catch {
    return undefined
  }
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as { readonly then?: unknown } | undefined)?.then === 'function'
}

function isProbe(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (value as SqlRow)['probe'] === 1
}
