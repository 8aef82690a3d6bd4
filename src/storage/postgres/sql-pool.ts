import { loadPackage } from '../../primitives/load-module.ts'
import { loadDriver, type LoadDriver } from './pool.ts'
import type { PostgresClient, PostgresMessage, PostgresPool, PostgresPoolClient } from './pool.ts'

/** The part of a transaction of `postgres` that the storage uses: the `sql` that `sql.begin` gives its function. */
export interface PostgresSqlClient {
  unsafe(text: string, values?: never[], options?: object): PromiseLike<readonly unknown[]>
  readonly typed: (value: never, type: number) => unknown
}

/** The part of a `postgres` that the storage uses: what `postgres(url)` answers. */
export interface PostgresSql extends PostgresSqlClient {
  readonly options: object
}

/** How connections and columns are, as `postgres` has read its options. */
interface SqlOptions {
  readonly transform?: Readonly<Record<string, { readonly from?: unknown } | undefined>>
}

/** A `postgres` that is made here. */
interface OwnSql extends PostgresSql {
  end(options: { readonly timeout: number }): Promise<void>
}

type MakeSql = (options: object) => OwnSql

/** What `postgres` would change of what it reads. */
const TRANSFORMS = ['column', 'value', 'row'] as const
/** The type `text`: the server makes of it what the statement says. */
const TEXT = 25

/** Whether it is of `postgres`, and not of `pg`. */
export function isSql(given: unknown): given is PostgresSql {
  return typeof given === 'function' && typeof (given as Partial<PostgresSql>).unsafe === 'function'
}

/** A transaction of `postgres`, used as a client of `pg`. */
export function sqlClient(sql: PostgresSqlClient): PostgresClient {
  return { query: (text, values) => query(sql, text, values) }
}

/**
 * A `postgres` of the caller's, used as a pool of `pg`. It lends no connection, and hears messages on one that is its own: what is lent
 * here is a connection of a second `postgres` with the same options.
 */
export class SqlPool implements PostgresPool {
  readonly #sql: PostgresSql
  readonly #load: LoadDriver
  readonly #lent = new Set<Promise<void>>()

  /** @throws TypeError if it changes what it reads. */
  constructor(sql: PostgresSql, load: LoadDriver = loadPackage) {
    const { transform = {} } = sql.options as SqlOptions
    for (const name of TRANSFORMS) {
      if (transform[name]?.from === undefined || transform[name].from === null) continue
      throw new TypeError(
        `Cannot use pool: its option transform changes what is read (${name}); make another one for the storage, without it`,
      )
    }
    this.#sql = sql
    this.#load = load
  }

  readonly query: PostgresPool['query'] = (text, values) => query(this.#sql, text, values)

  async connect(): Promise<PostgresPoolClient> {
    const make = loadDriver(this.#load, 'postgres') as MakeSql
    const client = new SqlConnection(make, this.#sql.options)
    const ended = client.ended.then(() => void this.#lent.delete(ended))
    this.#lent.add(ended)
    return client
  }

  /** Resolves when all that was lent is back, and closed. That of the caller's stays open. */
  async end(): Promise<void> {
    await Promise.all(this.#lent)
  }
}

type Listener = (message: PostgresMessage) => void

/** One connection, which is not replaced when it ends. */
class SqlConnection implements PostgresPoolClient {
  readonly ended: Promise<void>
  readonly #sql: OwnSql
  readonly #listeners = new Map<string, Set<Listener>>()
  #isOver = false
  #end: () => void = () => undefined

  constructor(make: MakeSql, options: object) {
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    this.#sql = make({
      ...options,
      max: 1,
      idle_timeout: null,
      max_lifetime: null,
      fetch_types: false,
      onnotify: (channel: string, payload: string) => this.#emit('notification', { channel, payload }),
      onclose: () => this.#over(),
    })
  }

  readonly query: PostgresClient['query'] = async (text, values) => {
    // A second connection would know nothing of what the first has begun.
    if (this.#isOver) throw Object.assign(new Error('the connection was lost'), { code: '08006' })
    return query(this.#sql, text, values)
  }

  on(event: string, listener: Listener): void {
    const listeners = this.#listeners.get(event) ?? new Set()
    this.#listeners.set(event, listeners.add(listener))
  }

  removeListener(event: string, listener: Listener): void {
    this.#listeners.get(event)?.delete(listener)
  }

  release(): void {
    this.#isOver = true
    this.#sql.end({ timeout: 0 }).then(this.#end, this.#end)
  }

  #over(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#emit('end', { channel: '' })
  }

  #emit(event: string, message: PostgresMessage): void {
    for (const listener of this.#listeners.get(event) ?? []) listener(message)
  }
}

async function query(
  sql: PostgresSqlClient,
  text: string,
  values: readonly unknown[] = [],
): ReturnType<PostgresClient['query']> {
  // Several statements have no values. One that is prepared is described once, and not before each time.
  if (values.length === 0) return { rows: await sql.unsafe(text) }
  const parameters = values.map((value) => parameterOf(sql, value))
  return { rows: await sql.unsafe(text, parameters as never[], { prepare: true }) }
}

/** By itself `postgres` would write a text as JSON where JSON is asked for, and ask the server for the type of a list. */
function parameterOf(sql: PostgresSqlClient, value: unknown): unknown {
  if (typeof value === 'string') return sql.typed(value as never, TEXT)
  return Array.isArray(value) ? sql.typed(listText(value as (string | null)[]) as never, TEXT) : value
}

/** A list of texts as the server reads it. */
function listText(texts: readonly (string | null)[]): string {
  const items = texts.map((text) =>
    text === null ? 'NULL' : `"${text.replaceAll(/["\\]/g, (one) => `\\${one}`)}"`,
  )
  return `{${items.join(',')}}`
}
