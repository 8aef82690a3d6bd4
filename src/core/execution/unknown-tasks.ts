import type { Awaitable } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Host } from '../host/host.ts'
import { LIVE_STATUSES } from '../../contract/run-states.ts'
import type { TaskRegistry } from '../../api/task-definition.ts'

/** So many are reported when an engine opens: the rest are likely of the same tasks. */
const LIMIT = 100

interface Parts {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly events: EventQueue
}

/**
 * Stored runs of tasks that an engine does not know stay where they are, for an engine that does. Each is an `error`
 * event, in case it was the task that was forgotten. An engine without tasks executes nothing, and expects them.
 */
export function reportUnknownTasks({ host, tasks, events }: Parts): Awaitable<void> {
  if (tasks.ids.length === 0) return
  const filter = { status: LIVE_STATUSES, notTaskIds: tasks.ids }
  return chain(host.storage.runs.list(filter, { limit: LIMIT }), ({ records }) => {
    for (const { id, taskId } of records) {
      const message = `Cannot execute run "${id}": its task "${taskId}" is not among the tasks of this engine`
      events.error(new WaitpointError('ERR_TASK_NOT_FOUND', message), id)
    }
  })
}
