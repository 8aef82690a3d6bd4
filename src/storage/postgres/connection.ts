import { isCut, isTooSlow, isUnreachable, postgresMessage } from './errors.ts'
import { PostgresListener } from './listener.ts'
import { type FarHint, PostgresHints } from './hints.ts'
import type { PostgresSource } from './options.ts'
import { openPool, type OwnPool, type PostgresPool } from './pool.ts'
import { channelOf, messagesOf, readMessage } from './messages.ts'
import { PreparedStatements } from './prepared-statements.ts'
import { SqlPool } from './sql-pool.ts'
import {
  apartSql,
  functionSql,
  listeningSql,
  migratePostgres,
  othersSql,
  patientSql,
  placeSql,
} from './schema.ts'
import type { Ask } from './session.ts'
import { PostgresTurns, type Statement } from './turns.ts'
import { afterReal, pauseReal, withinReal } from '../real-timer.ts'

/** Beside the statements of engines there may be one to listen and one to tell. */
const MORE_CONNECTIONS = 2
/** How long a look where the schema is may wait for a connection. */
const PLACE_MS = 5_000
/** Anything may have changed, for all engines. */
const ANYTHING: FarHint = ['any', null]
const RETRY_MS = 100
/** How long a server that is not there is waited for. */
const MOST_RETRIES = 100

const sessionSql = (schema: string): string => `SELECT gen_random_uuid()::text AS name,
  (SELECT setting::int FROM pg_settings WHERE name = 'lock_timeout') AS lock_timeout, ${placeSql(schema)}`

interface Session {
  readonly name: string
  readonly lock_timeout: number
  readonly place: string
}

/** What is closed with the storage. */
type Closable = Pick<OwnPool, 'end'>

/** The parts that exist while the schema is in use. */
interface Opened {
  readonly pool: PostgresPool
  /** For statements that are asked over and over. */
  readonly frequent: Pick<PostgresPool, 'query'>
  readonly own: readonly Closable[]
  readonly listener: PostgresListener | undefined
  /** Names this process in messages and calls. */
  readonly name: string
}

/** One schema of one database, for as long as it is in use. */
export class PostgresConnection {
  readonly hints: PostgresHints
  readonly ask: Ask
  readonly #source: PostgresSource
  readonly #turns: PostgresTurns
  #opened: Promise<Opened> | undefined
  #listener: PostgresListener | undefined
  #name = ''
  /** How long the server lets a statement wait for a lock; 0 for as long as it takes. */
  #lockTimeoutMs = 0
  /** Where the schema was at the last look. */
  #place = ''
  #users = 0
  #calls = 0
  #cancelPoll: (() => void) | undefined
  /** Hints for other processes that wait until the current message is sent. */
  #untold: FarHint[] = []
  #telling: Promise<void> | undefined

  constructor(source: PostgresSource) {
    this.#source = source
    this.hints = new PostgresHints(
      (hints) => this.#tell(hints),
      () => Number.parseInt(this.#name.slice(0, 2), 16) / 256,
    )
    this.#turns = new PostgresTurns({
      send: (statement) => this.#send(statement),
      isInUse: () => this.#users > 0,
      lockTimeoutMs: () => this.#lockTimeoutMs,
      most: source.connections,
      mostPauseMs: source.pollMs,
    })
    this.ask = (kind, request, key) => this.#turns.call(kind, request, key)
  }

  /** Opens it for one more user. */
  async open(): Promise<void> {
    this.#users += 1
    try {
      await this.#open()
    } catch (error) {
      this.#users -= 1
      throw error
    }
  }

  /** One user less; the last one closes it. */
  async leave(): Promise<void> {
    this.#users = Math.max(0, this.#users - 1)
    if (this.#users > 0) return
    const opened = this.#opened
    this.#opened = undefined
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
    this.#turns.giveUp()
    if (opened === undefined) return
    // Other processes are told of the runs that this one leaves to them.
    await this.#telling
    await this.#sayGoodbye(await opened)
    await close(await opened)
  }

  /** A process may have begun to listen that this one has not heard of yet. */
  async #sayGoodbye({ pool, listener }: Opened): Promise<void> {
    if (listener?.isAlone !== true) return
    // Not asked over the connection that listens: it does not keep the process alive until it is answered.
    await this.#notify(pool, [ANYTHING]).catch(ignore)
  }

  /** The server may have been started again, or the schema made anew, since the last look. */
  readonly isAt = async (place: string): Promise<boolean> => {
    if (this.#place === place) return true
    const { pool } = await this.#open()
    // The transaction that asks may have the only connection of the pool.
    const { rows } = await withinReal(PLACE_MS, pool.query(`SELECT ${placeSql(this.#source.schema)}`))
    this.#place = (rows as readonly { readonly place: string }[])[0]?.place ?? ''
    return this.#place === place
  }

  readonly newCall = (): string => `${this.#name} ${(this.#calls += 1)}`

  #open(): Promise<Opened> {
    this.#opened ??= this.#connect().catch((cause: unknown) => {
      this.#opened = undefined
      throw new Error(`Cannot open Postgres schema "${this.#source.schema}": ${postgresMessage(cause)}`, {
        cause,
      })
    })
    return this.#opened
  }

  async #connect(): Promise<Opened> {
    const { connectionString, connections, schema, statementTimeoutMs } = this.#source
    const own: Closable[] = []
    let { pool } = this.#source
    let made: OwnPool | undefined
    let listener: PostgresListener | undefined
    try {
      if (pool === undefined) {
        made = openPool(connectionString ?? '', { max: connections + MORE_CONNECTIONS, statementTimeoutMs })
        own.push(made)
        pool = made
      } else if (pool instanceof SqlPool) own.push(pool)
      await prepare(pool, schema)
      const { rows } = await pool.query(sessionSql(schema))
      const [session] = rows as readonly Session[]
      this.#name = session?.name ?? ''
      this.#lockTimeoutMs = session?.lock_timeout ?? 0
      this.#place = session?.place ?? ''
      listener = await this.#listen(pool, own)
      this.#listener = listener
      this.#poll()
      // Connections that a pooler shares between transactions hear nothing, and do not keep what they have prepared.
      const isKept = this.#source.listen === true
      const frequent = made !== undefined && isKept ? new PreparedStatements(made) : pool
      return { pool, frequent, own, listener, name: this.#name }
    } catch (error) {
      await close({ own, listener })
      throw error
    }
  }

  async #listen(pool: PostgresPool, own: Closable[]): Promise<PostgresListener | undefined> {
    const { listen, listenCheckMs: checkMs, schema } = this.#source
    if (listen === false) return undefined
    let listening = pool
    if (typeof listen === 'string') {
      const apart = openPool(listen, { max: 1 })
      own.push(apart)
      listening = apart
    } else requireRoom(pool)
    const listener = new PostgresListener({
      channel: channelOf(schema),
      markSql: listeningSql(schema),
      others: () => ({ text: othersSql(schema), values: [this.hints.owners] }),
      listening,
      speaking: pool,
      checkMs,
      hear: (payload) => this.#hear(payload),
      joined: () => this.#tell([ANYTHING]),
      missed: () => this.hints.stir(),
    })
    await listener.open()
    return listener
  }

  #poll(): void {
    const { listen, pollMs } = this.#source
    if (listen !== false) return
    this.#cancelPoll = afterReal(pollMs, () => {
      this.hints.stir()
      this.#poll()
    })
  }

  async #send(statement: Statement): Promise<string> {
    const { schema, readPool } = this.#source
    const { kind, requests } = statement
    if (kind.mayLag !== true || readPool === undefined) return this.#sendAgain(statement)
    try {
      return await askPool(readPool, functionSql(schema, kind.name), [requests])
    } catch {
      // A replica ends what is in the way of its catching up, and has a new function later.
      return this.#sendAgain(statement)
    }
  }

  /** Asks the server again if it was not there. An owner that has left may come back: then it is opened again. */
  async #sendAgain(statement: Statement): Promise<string> {
    const { kind, keys } = statement
    const text = textOf(this.#source.schema, statement)
    let { requests } = statement
    for (let retries = 0; ; retries += 1) {
      try {
        const { pool, frequent } = await this.#open()
        if (keys !== undefined) return await askPool(pool, text, [requests, keys])
        return await askPool(frequent, text, [requests])
      } catch (cause) {
        const isLost = isCut(cause) && kind.isRepeatable === true
        if ((!isLost && !isUnreachable(cause)) || retries >= MOST_RETRIES) throw cause
        if (isLost) requests = saidAgain(requests)
        if (isTooSlow(cause)) retries += MOST_RETRIES / 2
      }
      await pauseReal(RETRY_MS)
    }
  }

  #hear(payload: string): void {
    const hints = readMessage(payload, this.#name)
    if (hints !== undefined) this.hints.hear(hints)
  }

  /** Tells other processes, one message after the other. Hints that come meanwhile are sent together. */
  #tell(hints: readonly FarHint[]): void {
    if (this.#listener?.isAlone === true) return
    this.#untold.push(...hints)
    if (this.#telling !== undefined || this.#opened === undefined) return
    this.#telling = this.#tellAll(this.#opened)
  }

  async #tellAll(opened: Promise<Opened>): Promise<void> {
    try {
      const { frequent } = await opened
      while (this.#untold.length > 0) {
        const untold = this.#untold
        this.#untold = []
        await this.#notify(frequent, untold)
      }
    } catch {
      // An engine that is not told finds it by its next tick.
    } finally {
      this.#telling = undefined
    }
  }

  async #notify(pool: Pick<PostgresPool, 'query'>, hints: readonly FarHint[]): Promise<void> {
    await pool.query(
      `SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, message) FROM unnest($2::text[]) AS message`,
      [channelOf(this.#source.schema), messagesOf(this.#name, hints)],
    )
  }
}

function textOf(schema: string, { kind: { name }, patienceMs, keys }: Statement): string {
  if (patienceMs === undefined) return functionSql(schema, name)
  return keys === undefined ? patientSql(schema, name, patienceMs) : apartSql(schema, name, patienceMs)
}

async function askPool(pool: Pick<PostgresPool, 'query'>, text: string, values: unknown[]): Promise<string> {
  const { rows } = await pool.query(text, values)
  return (rows as readonly { readonly answer: string }[])[0]?.answer ?? '[]'
}

async function prepare(pool: PostgresPool, schema: string): Promise<void> {
  const client = await pool.connect()
  // A connection that breaks between two questions tells its user; the next question is told, too.
  client.on('error', ignore)
  try {
    await migratePostgres(client, schema)
  } finally {
    client.removeListener('error', ignore)
    client.release()
  }
}

async function close({ own, listener }: Pick<Opened, 'own' | 'listener'>): Promise<void> {
  listener?.close()
  await Promise.all(own.map((pool) => pool.end()))
}

function requireRoom(pool: PostgresPool): void {
  const { options } = pool as { readonly options?: { readonly max?: number } }
  if (options?.max !== 1) return
  throw new Error(
    'a pool of one connection cannot listen and work at once: give `listen` a connection string, or `false` to look ' +
      'every `pollMs`, or let the pool have more',
  )
}

/** The requests once more, marked as perhaps done already. */
function saidAgain(requests: string): string {
  const list = JSON.parse(requests) as readonly unknown[]
  return JSON.stringify(
    list.map((request) =>
      typeof request === 'object' && !Array.isArray(request) ? { ...request, again: true } : request,
    ),
  )
}

function ignore(): void {
  // The caller that asked the connection is told.
}
