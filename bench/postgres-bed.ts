import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type PostgresPool, type PostgresResult, postgresStorage } from 'waitpoint/postgres'
import type { Storage } from 'waitpoint'
import { type PostgresServer, startPostgres } from '../test/databases/postgres/server.ts'

/** A pool of `pg` that is closed. */
export interface BenchPool extends PostgresPool {
  end(): Promise<void>
}

interface Driver {
  readonly Pool: new (options: { readonly connectionString: string; readonly max: number }) => BenchPool
}

/** As many as a storage makes for itself. */
const CONNECTIONS = 6
let schemas = 0

/** Does something while there is a Postgres server, for this process and for those that it starts. */
export async function serveWhile<Answer>(work: () => Promise<Answer>): Promise<Answer> {
  // Before a server is started for nothing.
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

/** One schema, new, and a pool to use it with. */
export class PostgresBed {
  readonly schema: string = `bench_${process.pid}_${(schemas += 1)}`
  readonly pool: BenchPool = newPool()

  storage(pool: PostgresPool = this.pool): Storage {
    return postgresStorage({ pool, schema: this.schema })
  }

  async close(): Promise<void> {
    await this.pool.query(`DROP SCHEMA IF EXISTS ${this.schema} CASCADE`)
    await this.pool.end()
  }
}

function newPool(): BenchPool {
  const { Pool } = driver()
  return new Pool({ connectionString: process.env['WAITPOINT_POSTGRES_URL'] ?? '', max: CONNECTIONS })
}

/** The schema as its name, for a storage in another process. */
export function storageOfSchema(schema: string): Storage {
  return postgresStorage({ connectionString: process.env['WAITPOINT_POSTGRES_URL'] ?? '', schema })
}

/** The same pool; `note` is told of every statement that is asked for, and may watch it being answered. */
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
