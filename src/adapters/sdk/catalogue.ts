import type { AnyHostedTask } from './task-types.ts'
import { tellOnce } from './told-once.ts'

interface Entry {
  readonly task: AnyHostedTask
  readonly times: number
}

/** The tasks of this process, by their ids. */
const entries = new Map<string, Entry>()

/** Notes a task that was defined. */
export function noteTask(task: AnyHostedTask): void {
  const { times } = entries.get(task.id) ?? { times: 0 }
  entries.set(task.id, { task, times: times + 1 })
}

/**
 * The tasks that were defined in this process so far, for `createEngine({ tasks: allTasks() })`: import their files before.
 * Of several tasks with one id the last one counts, and the process is warned. See docs/hosted-task-files.md.
 */
export function allTasks(): readonly AnyHostedTask[] {
  return Array.from(entries.values(), ({ task, times }) => {
    if (times > 1) tellOnce(`task "${task.id}", defined ${times} times,`, 'only the last one counts')
    return task
  })
}
