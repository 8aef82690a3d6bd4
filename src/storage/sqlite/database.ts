import {
  answerArrays,
  bind,
  type Binding,
  type BoundStatement,
  type SqliteHandle,
  type SqlRow,
  type SqlValue,
} from './handle.ts'
import { MovedTexts } from './texts.ts'

/** An open database with its prepared statements: each text is prepared once. */
export class SqliteDatabase {
  readonly #handle: SqliteHandle
  readonly #binding: Binding
  readonly #statements = new Map<string, BoundStatement>()
  readonly #arrayStatements = new Map<string, BoundStatement>()
  readonly #texts = new MovedTexts()

  constructor(handle: SqliteHandle, binding: Binding) {
    this.#handle = handle
    this.#binding = binding
  }

  /** Goes up with the length of every text that is written or read. */
  get moved(): number {
    return this.#texts.length
  }

  exec(sql: string): void {
    this.#handle.exec(sql)
  }

  run(sql: string, ...parameters: readonly SqlValue[]): void {
    this.#statement(sql).run(this.#texts.storableValues(parameters))
  }

  /** The first row. An `INSERT` or `UPDATE … RETURNING` is one as well. */
  get(sql: string, ...parameters: readonly SqlValue[]): SqlRow | undefined {
    // Some drivers answer null for no row. Rows are read by name: libsql adds a column of its own.
    const row = this.#statement(sql).get(this.#texts.storableValues(parameters)) as SqlRow | undefined | null
    return row === undefined || row === null ? undefined : this.#texts.restoredRow(row)
  }

  all(sql: string, ...parameters: readonly SqlValue[]): readonly SqlRow[] {
    const rows = this.#statement(sql).all(this.#texts.storableValues(parameters)) as readonly SqlRow[]
    return rows.map((row) => this.#texts.restoredRow(row))
  }

  /** The first row, by the order of its columns. */
  values(sql: string, ...parameters: readonly SqlValue[]): readonly SqlValue[] | undefined {
    const row = this.#arrays(sql).get(this.#texts.storableValues(parameters))
    return row === undefined || row === null ? undefined : this.#texts.restoredValues(valuesOf(row))
  }

  /** All rows, each by the order of its columns. */
  allValues(sql: string, ...parameters: readonly SqlValue[]): readonly (readonly SqlValue[])[] {
    const rows = this.#arrays(sql).all(this.#texts.storableValues(parameters)) as readonly unknown[]
    return rows.map((row) => this.#texts.restoredValues(valuesOf(row)))
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

/** A statement with plain parameters only, and which value each of them takes. */
export interface PlainStatement {
  readonly sql: string
  /** Places in what is given, from 0; none when it is given in that order. */
  readonly order: readonly number[] | undefined
}

const NUMBERED = /\?(\d+)/g

/**
 * A statement with `?` for every `?1`, which `better-sqlite3` takes for a name: a value that is wanted twice is
 * given twice.
 */
export function plainStatement(sql: string): PlainStatement {
  const order: number[] = []
  const plain = sql.replace(NUMBERED, (_, number: string) => {
    order.push(Number(number) - 1)
    return '?'
  })
  return { sql: plain, order: order.length === 0 ? undefined : order }
}

/** Gives a statement its values in the order in which it wants them. */
function inOrder(statement: BoundStatement, order: PlainStatement['order']): BoundStatement {
  if (order === undefined) return statement
  const arranged = (values: readonly SqlValue[]): SqlValue[] => order.map((place) => values[place] ?? null)
  return {
    run: (values) => statement.run(arranged(values)),
    get: (values) => statement.get(arranged(values)),
    all: (values) => statement.all(arranged(values)),
  }
}
