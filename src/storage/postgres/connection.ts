import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { isCut, isTooSlow, isUnreachable, postgresMessage } from './errors.ts'
import { PostgresListener } from './listener.ts'
import { type FarHint, PostgresHints } from './hints.ts'
import { OpenSockets } from './open-sockets.ts'
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
import { SilenceWatch } from './silence-watch.ts'
import { abandonedError, PostgresTurns, type Statement } from './turns.ts'
import { afterReal, isDoneWithinReal, pauseReal, withinReal } from '../real-timer.ts'

/** Beside the statements of engines there may be one to listen and one to tell. */
const MORE_CONNECTIONS = 2
/** How long a look where the schema is may wait for a connection. */
const PLACE_MS = 5_000
/** How long the server may take to answer a question that is no work. */
const ANSWER_MS = 5_000
/** How long it may take to end the connections, once the lease is given back. */
const END_MS = 5_000
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

/** What is opened here, and closed here. */
interface Own {
  readonly pools: Closable[]
  readonly sockets: OpenSockets
  watch: SilenceWatch | undefined
  listener: PostgresListener | undefined
  /** Rejects once all of it is given up: an opening that is under way waits for no answer any more. */
  readonly givenUp: Deferred<never>
  closed: Promise<void> | undefined
}

/** The parts that exist while the schema is in use. */
interface Opened {
  readonly pool: PostgresPool
  /** For statements that are asked over and over. */
  readonly frequent: Pick<PostgresPool, 'query'>
  /** Names this process in messages and calls. */
  readonly name: string
}

/** One schema of one database, for as long as it is in use. */
export class PostgresConnection {
  readonly hints: PostgresHints
  readonly ask: Ask
  readonly #source: PostgresSource
  #turns: PostgresTurns
  #opened: Promise<Opened> | undefined
  #own: Own | undefined
  #name = ''
  /** How long the server lets a statement wait for a lock; 0 for as long as it takes. */
  #lockTimeoutMs = 0
  /** Where the schema was at the last look. */
  #place = ''
  #users = 0
  #leaving = 0
  /** How many users that leave are not waited for any more. */
  #late = 0
  /** Those that are late have no lease to give back: nothing that they asked is answered. */
  #isGivenUp = false
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
    this.#turns = this.#newTurns()
    this.ask = (kind, request, key) => this.#turns.call(kind, request, key)
  }

  #newTurns(): PostgresTurns {
    const { connections, pollMs } = this.#source
    const turns: PostgresTurns = new PostgresTurns({
      send: (statement) => this.#send(statement, turns),
      isInUse: () => this.#users > 0 && this.#turns === turns,
      lockTimeoutMs: () => this.#lockTimeoutMs,
      most: connections,
      mostPauseMs: pollMs,
    })
    return turns
  }

  /** Opens it for one more user. */
  async open(): Promise<void> {
    this.#users += 1
    this.#isGivenUp = false
    try {
      await this.#open()
    } catch (error) {
      this.#users -= 1
      throw error
    }
  }

  /**
   * One user less, which gives back its lease; the last one closes it. A network that swallows everything says nothing of that: after
   * some seconds a lease is left to lapse, and the connections are closed as they are.
   */
  async leave(giveBack: () => Promise<void>): Promise<void> {
    let isLate = false
    this.#leaving += 1
    this.hints.tellTokens()
    try {
      if (!this.#isGivenUp) isLate = !(await isDoneWithinReal(this.#source.leaveMs, giveBack()))
    } finally {
      this.#users = Math.max(0, this.#users - 1)
      if (this.#users === 0) await this.#close(isLate)
      this.#leaving -= 1
    }
  }

  /** Waits for a user that leaves. One that still opens leaves after that, which a silent network may put off for ever. */
  readonly untilLeft = async (left: Promise<void>): Promise<void> => {
    if (await isDoneWithinReal(this.#source.leaveMs, left)) return this.#giveUpLate()
    // The last one that leaves has limits of its own.
    if (this.#users < 2 && this.#leaving > 0) return left
    this.#late += 1
    const isOver = (): void => {
      this.#late -= 1
      void this.#giveUpLate()
    }
    left.then(isOver, isOver)
    return this.#giveUpLate()
  }

  /** Once all that use it are late, their openings are given up with all that is open. */
  async #giveUpLate(): Promise<void> {
    if (this.#users === 0 || this.#leaving > 0 || this.#late < this.#users) return
    this.#isGivenUp = true
    await this.#close(true)
  }

  async #close(isLate: boolean): Promise<void> {
    const [opened, own] = [this.#opened, this.#own]
    this.#opened = undefined
    this.#own = undefined
    this.#cancelPoll?.()
    this.#cancelPoll = undefined
    this.#turns.giveUp()
    if (opened === undefined || own === undefined) return
    if (isLate || !(await isDoneWithinReal(END_MS, this.#part(opened, own)))) this.#abandon(own)
  }

  async #part(opened: Promise<Opened>, own: Own): Promise<void> {
    const { pool } = await opened
    // Other processes are told of the runs that this one leaves to them.
    await this.#telling
    await this.#sayGoodbye(pool, own.listener)
    await close(own)
  }

  /** Nothing that was asked is answered, and nothing is asked again. */
  #abandon(own: Own): void {
    const turns = this.#turns
    this.#turns = this.#newTurns()
    turns.abandon()
    this.#untold = []
    this.#telling = undefined
    own.givenUp.reject(abandonedError(true))
    closeAtOnce(own)
  }

  /** A process may have begun to listen that this one has not heard of yet. */
  async #sayGoodbye(pool: PostgresPool, listener: PostgresListener | undefined): Promise<void> {
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
    if (this.#opened !== undefined) return this.#opened
    const opened = this.#connect().catch((cause: unknown) => {
      // It may have been given up, and opened again.
      if (this.#opened === opened) this.#opened = undefined
      throw new Error(`Cannot open Postgres schema "${this.#source.schema}": ${postgresMessage(cause)}`, {
        cause,
      })
    })
    this.#opened = opened
    return opened
  }

  async #connect(): Promise<Opened> {
    const { schema } = this.#source
    const own = newOwn()
    this.#own = own
    const answered = <Answer>(asked: Promise<Answer>): Promise<Answer> =>
      Promise.race([own.givenUp.promise, asked])
    try {
      const { pool, frequent } = this.#pools(own)
      await answered(prepare(pool, schema, own))
      const { rows } = await answered(pool.query(sessionSql(schema)))
      const [session] = rows as readonly Session[]
      this.#name = session?.name ?? ''
      this.#lockTimeoutMs = session?.lock_timeout ?? 0
      this.#place = session?.place ?? ''
      await answered(this.#listen(pool, own))
      this.#poll()
      return { pool, frequent, name: this.#name }
    } catch (error) {
      if (!(await isDoneWithinReal(END_MS, close(own)))) closeAtOnce(own)
      throw error
    }
  }

  /** Connections that a pooler shares between transactions hear nothing, and do not keep what they have prepared. */
  get #isKept(): boolean {
    return this.#source.listen === true
  }

  #pools(own: Own): Pick<Opened, 'pool' | 'frequent'> {
    const { pools, sockets } = own
    const { pool: given, connectionString = '', connections, statementTimeoutMs, silentMs } = this.#source
    if (given !== undefined) {
      if (given instanceof SqlPool) pools.push(given)
      return { pool: given, frequent: given }
    }
    // It opens a connection when it is asked for the first time.
    const elsewhere = openPool(connectionString, { max: 1, answerMs: ANSWER_MS, sockets })
    const watch = this.#isKept ? new SilenceWatch({ silentMs, elsewhere }) : undefined
    own.watch = watch
    const pool = openPool(connectionString, {
      max: connections + MORE_CONNECTIONS,
      statementTimeoutMs,
      sockets,
      watch,
    })
    pools.push(pool, elsewhere)
    return { pool, frequent: this.#isKept ? new PreparedStatements(pool) : pool }
  }

  async #listen(pool: PostgresPool, own: Own): Promise<void> {
    const { pools, sockets } = own
    const { listen, listenCheckMs: checkMs, schema } = this.#source
    if (listen === false) return
    let listening = pool
    if (typeof listen === 'string') {
      const apart = openPool(listen, { max: 1, sockets })
      pools.push(apart)
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
    own.listener = listener
    await listener.open()
  }

  #poll(): void {
    const { listen, pollMs } = this.#source
    if (listen !== false) return
    this.#cancelPoll = afterReal(pollMs, () => {
      this.hints.stir()
      this.#poll()
    })
  }

  async #send(statement: Statement, by: PostgresTurns): Promise<string> {
    const { schema, readPool } = this.#source
    const { kind, requests } = statement
    if (kind.mayLag !== true || readPool === undefined) return this.#sendAgain(statement, by)
    try {
      return await askPool(readPool, functionSql(schema, kind.name), [requests])
    } catch {
      // A replica ends what is in the way of its catching up, and has a new function later.
      return this.#sendAgain(statement, by)
    }
  }

  /** Asks the server again if it was not there. An owner that has left may come back: then it is opened again. */
  async #sendAgain(statement: Statement, by: PostgresTurns): Promise<string> {
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
        if (this.#turns === by) await pauseReal(RETRY_MS)
        if (this.#turns !== by) throw cause
      }
    }
  }

  #hear(payload: string): void {
    const hints = readMessage(payload, this.#name)
    if (hints !== undefined) this.hints.hear(hints)
  }

  /** Tells other processes, one message after the other. Hints that come meanwhile are sent together. */
  #tell(hints: readonly FarHint[]): void {
    if (this.#own?.listener?.isAlone === true) return
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

async function prepare(pool: PostgresPool, schema: string, { givenUp }: Own): Promise<void> {
  const client = await pool.connect()
  // A connection that breaks between two questions tells its user; the next question is told, too.
  client.on('error', ignore)
  try {
    await Promise.race([givenUp.promise, migratePostgres(client, schema)])
  } catch (error) {
    // It may be in the middle of a migration. It still tells how it ended.
    client.release(true)
    throw error
  }
  client.removeListener('error', ignore)
  client.release()
}

function newOwn(): Own {
  const givenUp = createDeferred<never>()
  givenUp.promise.catch(ignore)
  return {
    pools: [],
    sockets: new OpenSockets(),
    watch: undefined,
    listener: undefined,
    givenUp,
    closed: undefined,
  }
}

/** A pool is ended once. */
function close(own: Own): Promise<void> {
  return (own.closed ??= end(own))
}

async function end({ pools, sockets, watch, listener }: Own): Promise<void> {
  listener?.close()
  watch?.close()
  await Promise.all(pools.map((pool) => pool.end()))
  // A server that is silent by now does not say that it has closed the other end.
  sockets.unref()
}

/** Without a word to the server. */
function closeAtOnce(own: Own): void {
  close(own).catch(ignore)
  own.sockets.destroy()
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
