import { requireObject } from '../../primitives/require.ts'
import { askEngine, waitOnEngine } from './current-engine.ts'
import type { TaskShape } from '../../api/run.ts'
import type { ScheduledPayload, ScheduledTaskOptions } from '../../api/schedule.ts'
import type { SchemaInput, StandardSchemaV1 } from '../../api/standard-schema.ts'
import type { SchemaTaskOptions, Task, TaskOptions } from '../../api/task.ts'
import { attachDefinition } from '../attempt/task-definition.ts'

/**
 * Defines a task: an async function with a name, and how it is to be run.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const greet = task({ id: 'greet', run: async (payload: { name: string }) => `Hello ${payload.name}` })
 * ```
 */
export function task<Schema extends StandardSchemaV1, Output>(
  options: SchemaTaskOptions<Schema, Output>,
): Task<SchemaInput<Schema>, Output>
export function task<Output>(options: ScheduledTaskOptions<Output>): Task<ScheduledPayload, Output>
export function task<Payload, Output>(options: TaskOptions<Payload, Output>): Task<Payload, Output>
export function task<Payload, Output>(options: TaskOptions<Payload, Output>): Task<Payload, Output> {
  requireObject(options, 'the options of task')
  const { id } = options
  const defined: Task<Payload, Output> = {
    id,
    trigger: (payload, triggerOptions) =>
      askEngine(({ tasks }) => tasks.trigger<TaskShape<Payload, Output>>(id, payload, triggerOptions)),
    batchTrigger: (items) =>
      askEngine(({ tasks }) => tasks.batchTrigger<TaskShape<Payload, Output>>(id, items)),
    triggerAndWait: (payload, triggerOptions) =>
      waitOnEngine(({ tasks }) =>
        tasks.triggerAndWait<TaskShape<Payload, Output>>(id, payload, triggerOptions),
      ),
    batchTriggerAndWait: (items) =>
      askEngine(({ tasks }) => tasks.batchTriggerAndWait<TaskShape<Payload, Output>>(id, items)),
  }
  return attachDefinition(defined, options)
}
