import type { SqliteHandle, SqliteStatement } from '../../src/storage/sqlite/handle.ts'

type Method = 'run' | 'get' | 'all'
type Call = (...parameters: readonly unknown[]) => unknown

interface RecordedCall {
  readonly sql: string
  /** None: the text was executed as it is. */
  readonly method: Method | undefined
  readonly parameters: readonly unknown[]
}

/** What a program asks of a database, to be asked of another one: the same statements, in the same transactions. */
export class RecordedStatements {
  readonly #calls: RecordedCall[] = []
  readonly #marks: number[] = []
  #setUp = 0
  #isOver = false

  /** The same database; what is asked of it is noted. */
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

  /** What was asked so far is what the others need to find. */
  endSetUp(): void {
    this.#setUp = this.#calls.length
  }

  /** From now on nothing more is noted: what follows is not what is to be repeated. */
  stop(): void {
    this.#isOver = true
  }

  /** What follows is a part of its own. */
  mark(): void {
    if (!this.#isOver) this.#marks.push(this.#calls.length)
  }

  /** Does the set-up on a new database, and answers what does the rest, part by part. */
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

  /** Does the set-up on a new database, and answers what does the rest. */
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
        // What a driver refuses was a question about the driver.
        this.#note({ sql, method, parameters })
        return answer
      }
    return { run: noting('run'), get: noting('get'), all: noting('all') }
  }
}
