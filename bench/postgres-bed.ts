import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type PostgresPool, type PostgresResult, postgresStorage } from 'waitpoint/postgres'
import type { Storage } from 'waitpoint'
import { type PostgresServer, startPostgres } from '../test/databases/postgres/server.ts'

/** A pool of `pg` that is closed. */
export interface BenchPool extends PostgresPool {
  end(): Promise<void>
}

interface PoolOptions {
  readonly connectionString: string
  readonly max: number
  /** Settings of its connections: `-c name=value`. */
  readonly options?: string
}

interface Driver {
  readonly Pool: new (options: PoolOptions) => BenchPool
}

/** The default number of connections of a storage. */
const CONNECTIONS = 6
let schemas = 0

/** Runs a function while there is a Postgres server for this process and its children. */
export async function serveWhile<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  // Checked before a server is started in vain.
  driver()
  if (process.env['WAITPOINT_POSTGRES_URL'] !== undefined) return work()
  const server: PostgresServer = await startPostgres()
  process.env['WAITPOINT_POSTGRES_URL'] = server.url
  try {
    return await work()
  } finally {
    delete process.env['WAITPOINT_POSTGRES_URL']
    await server[Symbol.asyncDispose]()
  }
}

/** The driver of the tests of databases. */
function driver(): Driver {
  try {
    return createRequire(join(process.cwd(), 'test/databases/'))('pg') as Driver
  } catch (cause) {
    throw new Error('there is no pg; run `npm ci` in test/databases', { cause })
  }
}

/** One new schema, and a pool for it. */
export class PostgresBed {
  readonly schema: string = `bench_${process.pid}_${(schemas += 1)}`
  readonly pool: BenchPool

  constructor({ options }: Pick<PoolOptions, 'options'> = {}) {
    this.pool = newPool(options)
  }

  storage(pool: PostgresPool = this.pool): Storage {
    return postgresStorage({ pool, schema: this.schema })
  }

  async close(): Promise<void> {
    await this.drop(this.schema)
    await this.pool.end()
  }

  /** Drops a schema, also that of another one. */
  async drop(schema: string): Promise<void> {
    await this.pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)
  }
}

function newPool(options?: string): BenchPool {
  const { Pool } = driver()
  const connectionString = process.env['WAITPOINT_POSTGRES_URL'] ?? ''
  return new Pool({ connectionString, max: CONNECTIONS, ...(options === undefined ? {} : { options }) })
}

/** A storage on the schema of that name, for another process, or over another way to the server. */
export function storageOfSchema(schema: string, url?: string, connections?: number): Storage {
  const connectionString = url ?? process.env['WAITPOINT_POSTGRES_URL'] ?? ''
  return postgresStorage({ connectionString, schema, ...(connections !== undefined && { connections }) })
}

/** The pool with its statements reported to `note`, which may also observe their answers. */
export function watchedPool(
  pool: PostgresPool,
  note: (text: string, values: unknown[], answer: Promise<PostgresResult>) => void,
): PostgresPool {
  return {
    query(text, values = []) {
      const answer = pool.query(text, values)
      note(text, values, answer)
      return answer
    },
    connect: () => pool.connect(),
  }
}
