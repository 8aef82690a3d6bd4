import type { Storage } from '../../contract/storage.ts'
import { sha256 } from '../../primitives/digest.ts'
import { postgresStorage } from '../../storage/postgres/postgres.ts'
import { openPool, type PostgresPool } from '../../storage/postgres/pool.ts'
import { schemaSql } from '../../storage/postgres/schema.ts'
import { SchemaLease, SchemaLender } from './schema-lender.ts'
import { statements } from './statements.ts'
import { callOf, wrapStorage } from './wrapped.ts'
import { TestError } from '../test-error.ts'

/** One of them holds the locks of the schema names. */
const CONNECTIONS = 5
/** There are no other owners to hear of, and notifications would bring real time into a test. */
const NEVER_MS = 60_000

let pool: PostgresPool | undefined
let lender: SchemaLender | undefined

/**
 * A storage in the Postgres server that `WAITPOINT_POSTGRES_URL` names, empty when first opened. While open, it has a
 * schema of its own. A closed storage lends its schema to others, and receives another one with its content when it is
 * opened again, because statements in a used schema are planned already. The database keeps as many schemas as were
 * open at once.
 *
 * @throws TestError `ERR_NO_POSTGRES` when the variable is missing.
 */
export function temporaryPostgres(): Storage {
  const shared = (pool ??= watchedPool(openPool(serverUrl(), { max: CONNECTIONS })))
  lender ??= new SchemaLender(shared, `waitpoint_test_${version()}`)
  return lentStorage(shared, new SchemaLease(lender))
}

/** Takes back the schemas of all storages, also of those that an engine left open, for the storages of the next test. */
export async function takeBackSchemas(): Promise<void> {
  await statements.atRest()
  lender?.takeBack()
}

function watchedPool(watched: PostgresPool): PostgresPool {
  return {
    query: (text, values) => statements.watch(watched.query(text, values)),
    connect: () => watched.connect(),
  }
}

/** Passes every call on to a storage on the lent schema. */
function lentStorage(shared: PostgresPool, lease: SchemaLease): Storage {
  const storageOn = (schema: string): Storage =>
    postgresStorage({ pool: shared, schema, listen: false, pollMs: NEVER_MS })
  const storages = new Map<string, Storage>()
  const current = (): Storage => {
    const { schema } = lease
    const known = storages.get(schema)
    if (known !== undefined) return known
    const made = storageOn(schema)
    storages.set(schema, made)
    return made
  }
  // What wraps a storage asks which operations there are, before it is open. Of real time there are none.
  const { time: _time, untilLeft: _untilLeft, ...model } = storageOn('not_lent')
  const passing = wrapStorage(
    model,
    (name) =>
      (...args) =>
        callOf(current(), name, args),
  )
  return {
    ...passing,
    subscribe: (owner, listener) => current().subscribe(owner, listener),
    open: () => statements.watch(lease.take().then(() => current().open())),
    async leave(request) {
      await current().leave(request)
      lease.giveBack()
    },
  }
}

function serverUrl(): string {
  const url = process.env['WAITPOINT_POSTGRES_URL']
  if (url !== undefined) return url
  throw new TestError(
    'ERR_NO_POSTGRES',
    'Cannot use WAITPOINT_STORAGE "postgres": set WAITPOINT_POSTGRES_URL to the address of a server',
  )
}

/**
 * The version of the schema definition. It changes during development, and schemas of other versions are not used
 * again.
 */
function version(): string {
  return sha256(schemaSql('', { role: '' }), 'hex').slice(0, 8)
}
