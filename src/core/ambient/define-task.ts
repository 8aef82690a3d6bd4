import { requireObject } from '../../primitives/require.ts'
import { askEngine, waitOnEngine } from './current-engine.ts'
import type { ForwardedTask, TaskShape, TriggerOptions } from '../../api/run.ts'
import type { ScheduledPayload, ScheduledTaskOptions } from '../../api/schedule.ts'
import type { SchemaInput, StandardSchemaV1 } from '../../api/standard-schema.ts'
import type { SchemaTaskOptions, Task, TaskOptions } from '../../api/task.ts'
import { attachDefinition } from '../../api/task-definition.ts'

interface Named<Id extends string> {
  readonly id: Id
}

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
export function task<Schema extends StandardSchemaV1, Output, const Id extends string = string>(
  options: SchemaTaskOptions<Schema, Output> & Named<Id>,
): Task<SchemaInput<Schema>, Output> & Named<Id>
export function task<Output, const Id extends string = string>(
  options: ScheduledTaskOptions<Output> & Named<Id>,
): Task<ScheduledPayload, Output> & Named<Id>
export function task<Payload, Output, const Id extends string = string>(
  options: TaskOptions<Payload, Output> & Named<Id>,
): Task<Payload, Output> & Named<Id>
export function task<Payload, Output>(options: TaskOptions<Payload, Output>): Task<Payload, Output> {
  requireObject(options, 'the options of task')
  const { id } = options
  const defined: Task<Payload, Output> = {
    id,
    trigger: (payload?: unknown, triggerOptions?: TriggerOptions) =>
      askEngine(({ tasks }) => tasks.trigger<ForwardedTask>(id, payload, triggerOptions)),
    batchTrigger: (items) =>
      askEngine(({ tasks }) => tasks.batchTrigger<TaskShape<Payload, Output>>(id, items)),
    triggerAndWait: (payload?: unknown, triggerOptions?: TriggerOptions) =>
      waitOnEngine(({ tasks }) => tasks.triggerAndWait<ForwardedTask>(id, payload, triggerOptions)),
    batchTriggerAndWait: (items) =>
      askEngine(({ tasks }) => tasks.batchTriggerAndWait<TaskShape<Payload, Output>>(id, items)),
  }
  return attachDefinition(defined, options)
}
