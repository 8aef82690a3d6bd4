import type { Storage } from '../../contract/storage.ts'
import { sha256 } from '../../primitives/digest.ts'
import { postgresStorage } from '../../storage/postgres/postgres.ts'
import { openPool, type PostgresPool } from '../../storage/postgres/pool.ts'
import { schemaSql } from '../../storage/postgres/schema.ts'
import { SchemaLease, SchemaLender } from './schema-lender.ts'
import { statements } from './statements.ts'
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

function watchedPool(watched: PostgresPool): PostgresPool {
  return {
    query: (text, values) => statements.watch(watched.query(text, values)),
    connect: () => watched.connect(),
  }
}

/** Passes every call on to a storage on the lent schema. */
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
  type Passed = Required<Pick<Storage, 'runs' | 'tokens' | 'chunks' | 'settings' | 'queues' | 'schedules'>>
  // What wraps a storage asks which operations there are, before it is open.
  const passing = <Store extends keyof Passed>(store: Store): Passed[Store] =>
    new Proxy({} as Passed[Store], {
      get:
        (_, name) =>
        (...args: readonly unknown[]): unknown => {
          const operation: unknown = Reflect.get(current()[store] ?? {}, name)
          return Reflect.apply(operation as (...given: readonly unknown[]) => unknown, current()[store], args)
        },
    })
  return {
    joinsTransactions: true,
    runs: passing('runs'),
    tokens: passing('tokens'),
    chunks: passing('chunks'),
    settings: passing('settings'),
    queues: passing('queues'),
    schedules: passing('schedules'),
    counts: {
      runs: async (filter, atMost) => (await current().counts?.runs(filter, atMost)) ?? {},
      tokens: async (filter, atMost) => (await current().counts?.tokens(filter, atMost)) ?? {},
    },
    leases: async () => (await current().leases?.()) ?? [],
    due: async (limit) => (await current().due?.(limit)) ?? [],
    timesOut: true,
    rates: true,
    debounces: true,
    claimsNew: true,
    resumesWaiting: true,
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
