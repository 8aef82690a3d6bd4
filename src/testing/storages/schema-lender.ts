import type { PostgresPool } from '../../storage/postgres/pool.ts'
import { TABLES } from '../../storage/postgres/tables.ts'
import { SchemaNames } from './schema-names.ts'

/** The tables of a schema, except the one with its version. */
const TABLE_NAMES: readonly string[] = Array.from(
  TABLES.matchAll(/^CREATE TABLE \$s\.(\w+)/gm),
  ([, name = '']) => name,
)

/** Empties the tables of a schema. */
export async function emptySchema(pool: PostgresPool, schema: string): Promise<void> {
  await pool.query(TABLE_NAMES.map((table) => `DELETE FROM ${schema}.${table}`).join(';'))
}

interface LentSchema {
  readonly name: string
  holder: SchemaLease | undefined
}

/** Lends schemas of one database to open storages. It keeps the content of closed ones. */
export class SchemaLender {
  readonly #pool: PostgresPool
  readonly #names: SchemaNames
  readonly #schemas: LentSchema[] = []
  /** The last lending; lendings happen one after the other. */
  #lending: Promise<unknown> = Promise.resolve()

  constructor(pool: PostgresPool, prefix: string) {
    this.#pool = pool
    this.#names = new SchemaNames(pool, prefix)
  }

  lend(to: SchemaLease): Promise<string> {
    const lent = this.#lending.then(() => this.#lend(to))
    this.#lending = lent.catch(() => undefined)
    return lent
  }

  /** Takes every schema back, also those of storages that were never closed. Such a storage has to be opened again. */
  takeBack(): void {
    for (const { holder } of this.#schemas) holder?.takeBack()
  }

  async #lend(to: SchemaLease): Promise<string> {
    const held = this.#schemas.find(({ holder }) => holder === to)
    if (held !== undefined) return held.name
    let free = this.#schemas.find(({ holder }) => holder === undefined || !holder.isOpen)
    if (free === undefined) {
      free = { name: await this.#names.next(), holder: undefined }
      this.#schemas.push(free)
    }
    if (free.holder !== undefined) free.holder.kept = await this.#read(free.name)
    free.holder = to
    await this.#empty(free.name)
    if (to.kept !== undefined) await this.#write(free.name, to.kept)
    return free.name
  }

  async #empty(schema: string): Promise<void> {
    const { rows } = await this.#pool.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
    if (rows.length === 0) return
    await emptySchema(this.#pool, schema)
  }

  async #read(schema: string): Promise<string> {
    const parts = TABLE_NAMES.map((table) => `'${table}', (SELECT json_agg(t) FROM ${schema}.${table} t)`)
    const { rows } = await this.#pool.query(`SELECT json_build_object(${parts.join(', ')})::text AS kept`)
    return (rows as readonly { readonly kept: string }[])[0]?.kept ?? '{}'
  }

  async #write(schema: string, kept: string): Promise<void> {
    for (const table of TABLE_NAMES) {
      await this.#pool.query(
        `INSERT INTO ${schema}.${table} SELECT * FROM json_populate_recordset(NULL::${schema}.${table}, $1::json->'${table}')
         WHERE json_typeof($1::json->'${table}') = 'array'`,
        [kept],
      )
    }
  }
}

/** The schema of one storage. */
export class SchemaLease {
  readonly #lender: SchemaLender
  #users = 0
  #schema: string | undefined
  /** The content of the schema from before it was lent to another storage. */
  kept: string | undefined

  constructor(lender: SchemaLender) {
    this.#lender = lender
  }

  get isOpen(): boolean {
    return this.#users > 0
  }

  /** The schema of this storage, which must be open. */
  get schema(): string {
    if (this.#schema === undefined) throw new Error('Cannot use a Postgres storage that has not been opened')
    return this.#schema
  }

  async take(): Promise<void> {
    this.#users += 1
    this.#schema = await this.#lender.lend(this)
  }

  giveBack(): void {
    this.#users = Math.max(0, this.#users - 1)
  }

  /** As if all of its users had given it back. */
  takeBack(): void {
    this.#users = 0
    this.#schema = undefined
  }
}
