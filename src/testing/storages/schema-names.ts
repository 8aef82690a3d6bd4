import type { PostgresPool, PostgresPoolClient } from '../../storage/postgres/pool.ts'

/**
 * Names of schemas that no other process uses. A lock of the server marks each used name. The lock ends with its
 * connection, at the latest with this process.
 */
export class SchemaNames {
  readonly #pool: PostgresPool
  readonly #prefix: string
  #keeper: Promise<PostgresPoolClient> | undefined
  #last = 0

  constructor(pool: PostgresPool, prefix: string) {
    this.#pool = pool
    this.#prefix = prefix
  }

  /** The next free name. Names of ended processes are used again. */
  async next(): Promise<string> {
    const keeper = await (this.#keeper ??= this.#connect())
    for (;;) {
      const name = `${this.#prefix}_${(this.#last += 1)}`
      const { rows } = await keeper.query('SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS taken', [
        name,
      ])
      if ((rows as readonly { readonly taken: boolean }[])[0]?.taken === true) return name
    }
  }

  async #connect(): Promise<PostgresPoolClient> {
    const keeper = await this.#pool.connect()
    keeper.on('error', ignore)
    keeper.unref?.()
    return keeper
  }
}

function ignore(): void {
  // The next call reports the failure.
}
