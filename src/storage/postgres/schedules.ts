import type { ScheduleList, ScheduleStore } from '../../contract/storage.ts'
import { fenceColumns } from './requests.ts'
import type { PostgresSession } from './session.ts'
import type { CallKind } from './turns.ts'

const GET: CallKind = { name: 'get_schedules', isRepeatable: true }
const LIST: CallKind = { name: 'list_schedules', isRepeatable: true }
const PUT: CallKind = { name: 'put_schedule', isSingle: true }

/** The schedules that were created. The functions answer what the contract says. */
export function postgresSchedules({ ask, hints }: PostgresSession): ScheduleStore {
  return {
    async get(id) {
      return ((await ask(GET, { id })) ?? undefined) as string | undefined
    },
    async list(known) {
      return ((await ask(LIST, { known })) ?? undefined) as ScheduleList | undefined
    },
    async put(request) {
      const { id, expected, text, by } = request
      const asked = { id, expected, text, by_owner: by, ...fenceColumns(request) }
      const answer = (await ask(PUT, asked)) as boolean | 'stale'
      if (answer === true) hints.all(by)
      return answer
    },
  }
}
