import { createRequire } from 'node:module'
import type { PostgresPool } from 'waitpoint/postgres'
import { postgresUrl } from './postgres/client.ts'

interface PoolOptions {
  readonly connectionString: string
  readonly max: number
  /** Settings of its connections: `-c name=value`. */
  readonly options?: string
}

interface Driver {
  readonly Pool: new (options: PoolOptions) => TestPool
}

/** A connection that tells what the server says beside its answers. */
interface NoticedClient {
  on(event: 'notice', listener: (notice: { readonly message?: string }) => void): unknown
}

/** A pool of `pg` that tests close. */
export interface TestPool extends PostgresPool {
  /** Those of `pg`. They count for the next connection that is asked for. */
  readonly options: { connectionTimeoutMillis?: number }
  end(): Promise<void>
  on(event: 'error', listener: (error: Error) => void): unknown
  on(event: 'connect', listener: (client: NoticedClient) => void): unknown
}

const { Pool } = createRequire(import.meta.url)('pg') as Driver

/** A pool on the server of this run of the tests. */
export function testPool(max: number = 6, options: Partial<PoolOptions> = {}): TestPool {
  return new Pool({ connectionString: postgresUrl(), max, ...options })
}

const PATIENCE = /set_config\('lock_timeout', '\d+', true\), /

/** A statement of the storage that waits for a lock as long as it takes. */
export function patient(text: string): string {
  return text.replace(PATIENCE, '')
}

/** A pool on which all statements do so. It is closed when it is disposed of. */
export function patientPool(connectionString: string): PostgresPool & AsyncDisposable {
  const pool = testPool(6, { connectionString })
  pool.on('error', () => undefined)
  return {
    query: (text, values) => pool.query(patient(text), values),
    connect: () => pool.connect(),
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

let schemas = 0

/** The name of a schema that is not there. */
export async function freshSchema(pool: PostgresPool): Promise<string> {
  const schema = `test_${process.pid}_${(schemas += 1)}`
  await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  return schema
}
