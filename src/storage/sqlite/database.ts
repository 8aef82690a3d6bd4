import {
  answerArrays,
  bind,
  type Binding,
  type BoundStatement,
  type SqliteHandle,
  type SqlRow,
  type SqlValue,
} from './handle.ts'
import { inOrder, plainStatement } from '../sqlite-parameters.ts'

/** An open database with its prepared statements: each text is prepared once. */
export class SqliteDatabase {
  readonly #handle: SqliteHandle
  readonly #binding: Binding
  readonly #statements = new Map<string, BoundStatement>()
  readonly #arrayStatements = new Map<string, BoundStatement>()

  constructor(handle: SqliteHandle, binding: Binding) {
    this.#handle = handle
    this.#binding = binding
  }

  exec(sql: string): void {
    this.#handle.exec(sql)
  }

  run(sql: string, ...parameters: readonly SqlValue[]): void {
    this.#statement(sql).run(parameters)
  }

  /** The first row. An `INSERT` or `UPDATE … RETURNING` is one as well. */
  get(sql: string, ...parameters: readonly SqlValue[]): SqlRow | undefined {
    // Some drivers answer null for no row. Rows are read by name: libsql adds a column of its own.
    return (this.#statement(sql).get(parameters) as SqlRow | undefined | null) ?? undefined
  }

  all(sql: string, ...parameters: readonly SqlValue[]): readonly SqlRow[] {
    return this.#statement(sql).all(parameters) as readonly SqlRow[]
  }

  /** The first row, by the order of its columns. */
  values(sql: string, ...parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    const row = this.#arrays(sql).get(parameters)
    return row === undefined || row === null ? undefined : valuesOf(row)
  }

  /** All rows, each by the order of its columns. */
  allValues(sql: string, ...parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
    return (this.#arrays(sql).all(parameters) as readonly unknown[]).map(valuesOf)
  }

  /** The only column of the first row. */
  value(sql: string, ...parameters: readonly SqlValue[]): SqlValue | undefined {
    return this.get(sql, ...parameters)?.['value']
  }

  close(): void {
    this.#statements.clear()
    this.#arrayStatements.clear()
    this.#handle.close()
  }

  #arrays(sql: string): BoundStatement {
    let bound = this.#arrayStatements.get(sql)
    if (bound === undefined) {
      const { sql: plain, order } = plainStatement(sql)
      const statement = this.#handle.prepare(plain)
      answerArrays(statement)
      this.#arrayStatements.set(sql, (bound = inOrder(bind(statement, this.#binding), order)))
    }
    return bound
  }

  #statement(sql: string): BoundStatement {
    let statement = this.#statements.get(sql)
    if (statement === undefined) {
      const { sql: plain, order } = plainStatement(sql)
      statement = inOrder(bind(this.#handle.prepare(plain), this.#binding), order)
      this.#statements.set(sql, statement)
    }
    return statement
  }
}

function valuesOf(row: unknown): readonly SqlValue[] {
  return (Array.isArray(row) ? row : Object.values(row as object)) as readonly SqlValue[]
}
