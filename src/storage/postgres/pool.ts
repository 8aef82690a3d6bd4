import type { Socket } from 'node:net'
import { loadPackage } from '../../primitives/load-module.ts'
import { postgresMessage } from './errors.ts'
import type { OpenSockets } from './open-sockets.ts'

/** The part of a pool of connections that the storage uses; a `Pool` of `pg` has it. */
export interface PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  connect(): Promise<PostgresPoolClient>
}

/** The part of a connection that the storage uses; a `Client` of `pg` has it. */
export interface PostgresClient {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
}

export interface PostgresResult {
  readonly rows: readonly unknown[]
}

/** A message that a server sends to a connection that listens. */
export interface PostgresMessage {
  readonly channel: string
  readonly payload?: string | undefined
}

/** A connection that is lent. One that is released with an error is not used again. */
export interface PostgresPoolClient extends PostgresClient {
  release(destroy?: boolean): void
  on(event: string, listener: (message: PostgresMessage) => void): unknown
  removeListener(event: string, listener: (message: PostgresMessage) => void): unknown
  /** It alone does not keep the process alive. */
  unref?(): void
}

/** A connection of a pool made here: what `pg` knows of it. */
export interface OwnClient extends PostgresClient {
  /** The backend that works for it, as the server said when it let it in; another number if something is in between. */
  readonly processID?: number | null
  /** Whether all that was asked over it is answered. */
  readonly readyForQuery?: boolean
  readonly connection?: { readonly stream?: Pick<Socket, 'bytesRead' | 'writableLength' | 'destroy'> }
  on(event: 'end' | 'error', listener: () => void): unknown
}

/** A statement that a connection prepares under a name, unless it has done so before. */
interface NamedStatement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** A pool made here, which is closed here. */
export interface OwnPool extends PostgresPool {
  query(text: string, values?: unknown[]): Promise<PostgresResult>
  query(statement: NamedStatement): Promise<PostgresResult>
  end(): Promise<void>
  on(event: 'error', listener: (error: unknown) => void): unknown
  on(event: 'connect' | 'acquire', listener: (client: OwnClient) => void): unknown
}

interface PostgresDriver {
  readonly Pool: new (options: {
    readonly connectionString: string
    readonly max: number
    readonly allowExitOnIdle: boolean
    readonly keepAlive: boolean
    readonly keepAliveInitialDelayMillis: number
    readonly connectionTimeoutMillis: number
    readonly statement_timeout?: number
    readonly query_timeout?: number
    readonly stream?: () => Socket
    readonly verify?: (client: OwnClient, done: (error?: unknown) => void) => void
  }) => OwnPool
}

/** How long a connection may take: a network that swallows everything says nothing. */
export const CONNECT_MS = 10_000
const KEEP_ALIVE_MS = 10_000

/** How a driver is loaded: a module, or an error. */
export type LoadDriver = (name: string) => unknown

interface OwnPoolOptions {
  readonly max: number
  /** How long the server may work on a statement; absent: as long as it is set for the role. */
  readonly statementTimeoutMs?: number | undefined
  /** How long an answer may take; absent: as long as it takes. The connection is given up with the statement. */
  readonly answerMs?: number | undefined
  /** Has the sockets of all connections. */
  readonly sockets?: OpenSockets | undefined
  /** Watches the connections. */
  readonly watch?: PoolWatch | undefined
  readonly load?: LoadDriver
}

/** Is told of the connections of a pool. */
interface PoolWatch {
  /** Gets to know a new connection before it is used. */
  meet(client: OwnClient): Promise<void>
  /** A connection is lent. */
  lent(): void
}

/**
 * A pool of connections of its own. `pg` is loaded when this is called, and not before.
 *
 * @throws Error that says what to install, when it is not there.
 */
export function openPool(
  connectionString: string,
  { max, statementTimeoutMs, answerMs, sockets, watch, load = loadPackage }: OwnPoolOptions,
): OwnPool {
  const { Pool } = loadDriver(load, 'pg') as PostgresDriver
  const pool = new Pool({
    connectionString,
    max,
    allowExitOnIdle: true,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    connectionTimeoutMillis: CONNECT_MS,
    ...(statementTimeoutMs !== undefined && { statement_timeout: statementTimeoutMs }),
    ...(answerMs !== undefined && { query_timeout: answerMs }),
    ...(sockets !== undefined && { stream: sockets.make }),
    ...(watch !== undefined && {
      verify: (client, done) => void watch.meet(client).then(() => done(), done),
    }),
  })
  if (watch !== undefined) pool.on('acquire', () => watch.lent())
  // An idle connection that breaks is replaced by the next query.
  pool.on('error', ignore)
  // The server may end a connection with what lets it in: that is read before the caller can listen.
  pool.on('connect', (client) => void client.on('error', ignore))
  return pool
}

/**
 * Works with one connection of its own, for as long as that takes. What fails, the driver that is not there included, is told as `Cannot …: why`.
 */
export async function withOnePool<Result>(
  connectionString: string,
  { what, load = loadPackage }: { readonly what: string; readonly load?: LoadDriver },
  work: (pool: OwnPool) => Promise<Result>,
): Promise<Result> {
  let pool: OwnPool | undefined
  try {
    pool = openPool(connectionString, { max: 1, load })
    return await work(pool)
  } catch (cause) {
    throw new Error(`Cannot ${what}: ${postgresMessage(cause)}`, { cause })
  } finally {
    await pool?.end()
  }
}

function ignore(): void {
  // The caller that asked something over the connection is told.
}

/** @throws Error that says what to install. */
export function loadDriver(load: LoadDriver, name: string): unknown {
  try {
    return load(name)
  } catch (cause) {
    const { code, message } = cause as { readonly code?: unknown; readonly message?: unknown }
    const reason =
      code === 'MODULE_NOT_FOUND'
        ? `run \`npm install ${name}\``
        : `${name} cannot be loaded: ${String(message)}`
    throw new Error(`there is no driver for it; ${reason}`, { cause })
  }
}
