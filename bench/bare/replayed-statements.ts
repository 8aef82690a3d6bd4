import type { SqliteHandle, SqliteStatement } from '../../src/storage/sqlite/handle.ts'

type Method = 'run' | 'get' | 'all'
type Call = (...parameters: readonly unknown[]) => unknown

interface RecordedCall {
  readonly sql: string
  /** Undefined if the text was executed without preparation. */
  readonly method: Method | undefined
  readonly parameters: readonly unknown[]
}

/** The statements of a program, recorded in order to repeat them on another database, in the same transactions. */
export class RecordedStatements {
  readonly #calls: RecordedCall[] = []
  readonly #marks: number[] = []
  #setUp = 0
  #isOver = false

  /** Records the statements on a database handle. */
  record(handle: SqliteHandle): SqliteHandle {
    return {
      exec: (sql) => {
        this.#note({ sql, method: undefined, parameters: [] })
        return handle.exec(sql)
      },
      prepare: (sql) => this.#recorded(sql, handle.prepare(sql)),
      close: () => handle.close(),
    }
  }

  /** Marks the statements so far as the set-up. */
  endSetUp(): void {
    this.#setUp = this.#calls.length
  }

  /** Stops recording; later statements are not repeated. */
  stop(): void {
    this.#isOver = true
  }

  /** Begins a new part. */
  mark(): void {
    if (!this.#isOver) this.#marks.push(this.#calls.length)
  }

  /** Repeats the set-up on a new database. Returns one function for each part of the rest. */
  prepareParts(handle: SqliteHandle): readonly (() => void)[] {
    const statements = new Map<string, SqliteStatement>()
    const ask = ({ sql, method, parameters }: RecordedCall): void => {
      if (method === undefined) {
        handle.exec(sql)
        return
      }
      let statement = statements.get(sql)
      if (statement === undefined) statements.set(sql, (statement = handle.prepare(sql)))
      ;(statement[method] as Call).apply(statement, parameters as unknown[])
    }
    this.#calls.slice(0, this.#setUp).forEach(ask)
    const starts = [this.#setUp, ...this.#marks]
    return starts.map((start, part) => {
      const calls = this.#calls.slice(start, starts[part + 1])
      return () => calls.forEach(ask)
    })
  }

  /** Repeats the set-up on a new database. Returns a function that repeats the rest. */
  prepare(handle: SqliteHandle): () => void {
    const parts = this.prepareParts(handle)
    return () => parts.forEach((part) => part())
  }

  #note(call: RecordedCall): void {
    if (!this.#isOver) this.#calls.push(call)
  }

  #recorded(sql: string, statement: SqliteStatement): SqliteStatement {
    const noting =
      (method: Method): Call =>
      (...parameters) => {
        const answer = (statement[method] as Call).apply(statement, parameters as unknown[])
        // A statement that the driver refused was a question about the driver.
        this.#note({ sql, method, parameters })
        return answer
      }
    return { run: noting('run'), get: noting('get'), all: noting('all') }
  }
}
