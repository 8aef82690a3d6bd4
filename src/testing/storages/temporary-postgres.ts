import type { Storage } from '../../contract/storage.ts'
import { sha256 } from '../../primitives/digest.ts'
import { postgresStorage } from '../../storage/postgres/postgres.ts'
import { openPool, type PostgresPool } from '../../storage/postgres/pool.ts'
import { schemaSql } from '../../storage/postgres/schema.ts'
import { SchemaLease, SchemaLender } from './schema-lender.ts'
import { statements } from './statements.ts'
import { TestError } from '../test-error.ts'

/** One of them keeps the names of the schemas. */
const CONNECTIONS = 5
/** Nobody else is there to hear of: a test clock would not like to be told by a real one. */
const NEVER_MS = 60_000

let pool: PostgresPool | undefined
let lender: SchemaLender | undefined

/**
 * A storage in the Postgres that `WAITPOINT_POSTGRES_URL` names, empty when it is first opened. It has a schema of its own
 * while it is open; a closed one lends its schema to others, and gets another one with all that was in it when it is
 * opened again: in a schema that was used before a statement is planned already. So many schemas stay in the database as
 * were open at once.
 *
 * @throws TestError `ERR_NO_POSTGRES` when the variable is not there.
 */
export function temporaryPostgres(): Storage {
  const shared = (pool ??= watchedPool(openPool(serverUrl(), { max: CONNECTIONS })))
  lender ??= new SchemaLender(shared, `waitpoint_test_${version()}`)
  return lentStorage(shared, new SchemaLease(lender))
}

function watchedPool(watched: PostgresPool): PostgresPool {
  return {
    query: (text, values) => statements.watch(watched.query(text, values)),
    connect: () => watched.connect(),
  }
}

/** Passes everything on to a storage on the schema that is lent. */
function lentStorage(shared: PostgresPool, lease: SchemaLease): Storage {
  const storages = new Map<string, Storage>()
  const current = (): Storage => {
    const { schema } = lease
    const known = storages.get(schema)
    if (known !== undefined) return known
    const made = postgresStorage({ pool: shared, schema, listen: false, pollMs: NEVER_MS })
    storages.set(schema, made)
    return made
  }
  const passing = <Store extends 'runs' | 'tokens' | 'chunks' | 'settings'>(store: Store): Storage[Store] =>
    new Proxy({} as Storage[Store], { get: (_, name) => Reflect.get(current()[store], name) as unknown })
  return {
    joinsTransactions: true,
    runs: passing('runs'),
    tokens: passing('tokens'),
    chunks: passing('chunks'),
    settings: passing('settings'),
    open: () => statements.watch(lease.take().then(() => current().open())),
    tick: (request) => current().tick(request),
    subscribe: (owner, listener) => current().subscribe(owner, listener),
    async leave(request) {
      await current().leave(request)
      lease.giveBack()
    },
    prune: (request) => current().prune(request),
  }
}

function serverUrl(): string {
  const url = process.env['WAITPOINT_POSTGRES_URL']
  if (url !== undefined) return url
  throw new TestError(
    'ERR_NO_POSTGRES',
    'Cannot use WAITPOINT_STORAGE "postgres": WAITPOINT_POSTGRES_URL names no server',
  )
}

/** Of the schema, which changes while it is made: one that was left by another version is not used again. */
function version(): string {
  return sha256(schemaSql('', { role: '' }), 'hex').slice(0, 8)
}
