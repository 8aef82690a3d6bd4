import type { QueueState, QueueStore } from '../../contract/storage.ts'
import type { Row } from '../../contract/columns.ts'
import { queueOfRow } from '../../generated/queue-settings.ts'
import { laneOf } from '../sql-rows.ts'
import { fenceColumns } from './requests.ts'
import type { PostgresSession } from './session.ts'
import type { CallKind } from './turns.ts'

const GET: CallKind = { name: 'get_queue', isRepeatable: true }
const LIST: CallKind = { name: 'list_queues', isRepeatable: true }
const SET: CallKind = { name: 'set_queue', isRepeatable: true, isSingle: true }

/** The queues of a Postgres storage. */
export function postgresQueues({ ask, hints }: PostgresSession): QueueStore {
  return {
    async get(name, concurrencyKey) {
      const answer = await ask(GET, { name, lane: laneOf({ queue: name, concurrencyKey }) })
      const [row, runs] = answer as [Row | null, Pick<QueueState, 'slots' | 'refused' | 'starts'>]
      return { ...(row === null ? { name, isPaused: false } : queueOfRow(row)), ...runs }
    },
    async list() {
      return ((await ask(LIST, {})) as readonly Row[]).map(queueOfRow)
    },
    async set(change) {
      const { name, isPaused, limit, rate, now, by } = change
      const asked = { name, isPaused, limit, rate, now, by_owner: by, ...fenceColumns(change) }
      const answer = (await ask(SET, asked)) as Row | 'stale'
      if (answer === 'stale') return answer
      hints.limited(name, by)
      return queueOfRow(answer)
    },
  }
}
