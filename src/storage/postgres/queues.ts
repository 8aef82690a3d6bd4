import type { QueueSettings, QueueState, QueueStore } from '../../contract/storage.ts'
import { laneOf } from '../sql-rows.ts'
import type { PostgresSession } from './session.ts'
import type { CallKind } from './turns.ts'

const GET: CallKind = { name: 'get_queue', isRepeatable: true }
const LIST: CallKind = { name: 'list_queues', isRepeatable: true }
const SET: CallKind = { name: 'set_queue', isRepeatable: true, isSingle: true }

/** The queues of a Postgres storage. The functions answer what the contract says. */
export function postgresQueues({ ask, hints }: PostgresSession): QueueStore {
  return {
    async get(name, concurrencyKey) {
      return (await ask(GET, { name, lane: laneOf({ queue: name, concurrencyKey }) })) as QueueState
    },
    async list() {
      return (await ask(LIST, {})) as readonly QueueSettings[]
    },
    async set({ name, isPaused, limit, rate, now, by }) {
      const after = (await ask(SET, { name, isPaused, limit, rate, now })) as QueueSettings
      hints.limited(name, by)
      return after
    },
  }
}
