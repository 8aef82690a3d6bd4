import { channelOf, messagesOf } from './messages.ts'
import { isLocked, lockTimeout, postgresMessage } from './errors.ts'
import type { FarHint, HintCollector } from './hints.ts'
import type { PostgresClient } from './pool.ts'
import { isSql, sqlClient } from './sql-pool.ts'
import { functionSql, placeSql, READS_COMMITTED } from './schema.ts'
import type { Ask, PostgresSession } from './session.ts'
import { fromWire, toWire } from './wire.ts'

/** A call that joins a transaction of the caller. Its hints are sent by the commit. */
export async function inTransaction<Answer>(
  session: PostgresSession,
  transaction: object | undefined,
  act: (session: PostgresSession) => Promise<Answer>,
): Promise<Answer> {
  if (transaction === undefined) return act(session)
  const { schema } = session
  const client = requireClient(transaction)
  await requireTransaction(client, session)
  const ask: Ask = async ({ name }, request) => {
    const { rows } = await client
      .query(functionSql(schema, name), [toWire([request])])
      .catch((error: unknown) => {
        throw isLocked(error) ? lockTimeout('make a call in this transaction', error) : error
      })
    const [{ answer } = { answer: '[]' }] = rows as readonly { readonly answer: string }[]
    return (fromWire(answer) as readonly unknown[])[0] ?? undefined
  }
  const hints = new CommitHints()
  const answer = await act({ ...session, ask, hints })
  const messages = messagesOf('', hints.collected)
  if (messages.length > 0) {
    const text = 'SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message'
    await client.query(text, [channelOf(schema), messages])
  }
  return answer
}

/** The hints of a commit. They go to all owners, because the caller has not acted on the change yet. */
class CommitHints implements HintCollector {
  readonly collected: FarHint[] = []

  queue(): void {
    this.collected.push(['queue', null])
  }

  left(): void {
    // Nothing is claimed in a transaction of the caller's.
  }

  asking(): () => void {
    // Nothing is claimed in a transaction of the caller's.
    return () => undefined
  }

  claimed(): void {
    // Nothing is claimed in a transaction of the caller's.
  }

  run(runId: string): void {
    this.collected.push(['run', runId, null])
  }

  token(): void {
    // The owners of its waits are told.
  }

  stream(runId: string, key: string): void {
    this.collected.push(['stream', runId, key, null])
  }

  waits(owner: string, _by: string | undefined, runId?: string): void {
    this.collected.push(runId === undefined ? ['waits', owner] : ['waits', owner, runId])
  }

  freed(): void {
    this.queue()
  }

  limited(): void {
    // Nothing is set of queues in a transaction of the caller's.
  }

  all(): void {
    // Schedules are changed in no transaction of the caller's.
  }
}

/** Without parameters: then the statement begins when its own transaction does, if there is none before. */
const STATE = `SELECT current_setting('transaction_isolation') AS isolation, now() < statement_timestamp() AS is_begun`

interface TransactionState {
  readonly isolation: string
  readonly is_begun: boolean
  readonly place: string
}

/**
 * A transaction that sees only commits from before its beginning would not see waits that have begun for
 * a token meanwhile: the wake-up would be lost.
 */
async function requireTransaction(client: PostgresClient, { schema, isAt }: PostgresSession): Promise<void> {
  const { rows } = await client.query(`${STATE}, ${placeSql(schema)}`)
  const [state] = rows as readonly TransactionState[]
  if (state?.is_begun !== true)
    throw new TypeError('Cannot use transaction: no transaction was begun on this client')
  if (!READS_COMMITTED.has(state.isolation))
    throw new RangeError(
      `Cannot use transaction: it is ${state.isolation.toUpperCase()}, and does not see who waits by now; begin it as ` +
        'READ COMMITTED',
    )
  const isHere = await isAt(state.place).catch((cause: unknown) => {
    throw new Error(
      `Cannot use transaction: whether it is of the database of the storage could not be asked (${postgresMessage(cause)}); if it has ` +
        'the only connection of the pool, let the pool have more than one',
      { cause },
    )
  })
  if (!isHere)
    throw new TypeError(
      `Cannot use transaction: it is of another database than the storage's, where schema "${schema}" is`,
    )
}

function requireClient(transaction: object): PostgresClient {
  if (isSql(transaction)) return sqlClient(transaction)
  if (typeof (transaction as Partial<PostgresClient>).query === 'function')
    return transaction as PostgresClient
  throw new TypeError(
    'Cannot use transaction: it must be a client of pg on which a transaction was begun, with the method query, or what sql.begin of ' +
      'postgres gives its function',
  )
}
