import type { MachineOption, TaskRunContext } from './context.ts'
import type { InitOutput, RetryPolicy, TaskHooks } from './hooks.ts'
import type { RequestOptions } from './request-options.ts'
import type { SchemaIn, SchemaOut, TaskSchema } from './schema.ts'
import type { BatchTriggerOptions, HostedTriggerOptions, TriggerAndWaitOptions } from './trigger-options.ts'
import type { Untyped } from './untyped.ts'

/** The second argument of a run function. */
export interface RunFnParams<Init extends InitOutput> {
  ctx: TaskRunContext
  /** What `init` answered. */
  init?: Init
  signal: AbortSignal
}

/** Options of `task`. docs/hosted-task-files.md says which have no effect. */
export interface HostedTaskOptions<
  Id extends string,
  Payload = void,
  Output = unknown,
  Init extends InitOutput = Untyped,
> extends TaskHooks<Payload, Output, Init> {
  id: Id
  /** Without effect. */
  description?: string
  /** None if it is left out: there is no configuration file to take it from. */
  retry?: RetryPolicy
  /** A queue, or the name of one. */
  queue?: string | { name?: string; concurrencyLimit?: number }
  /** Shown in `ctx.machine`, and without effect. */
  machine?: MachineOption
  /** Seconds. `timeout.None` is no limit. */
  maxDuration?: number
  ttl?: string | number
  run: (payload: Payload, params: RunFnParams<Init>) => Promise<Output>
  /** Without effect. */
  jsonSchema?: object
}

/** Options of `task` with a JSON schema: the payload may be anything. */
export type TaskOptionsWithSchema<
  Id extends string,
  Output = unknown,
  Init extends InitOutput = Untyped,
> = HostedTaskOptions<Id, Untyped, Output, Init> & { jsonSchema: object }

/** Options of `schemaTask`. */
export interface TaskWithSchemaOptions<
  Id extends string,
  Schema extends TaskSchema | undefined = undefined,
  Output = unknown,
  Init extends InitOutput = Untyped,
> extends HostedTaskOptions<Id, SchemaOut<Schema>, Output, Init> {
  schema?: Schema
}

/** The result of a child run. */
export type TaskRunResult<Id extends string, Output = Untyped> =
  | { ok: true; id: string; taskIdentifier: Id; output: Output }
  | { ok: false; id: string; taskIdentifier: Id; error: unknown }

/** The promise of `triggerAndWait`; unwrapped it is the output, or rejects with a `SubtaskUnwrapError`. */
export interface TaskRunPromise<Id extends string, Output> extends Promise<TaskRunResult<Id, Output>> {
  unwrap(): Promise<Output>
}

/** A run that was triggered. */
export interface HostedRunHandle<Id extends string, Payload, Output> {
  id: string
  publicAccessToken: string
  taskIdentifier: Id
  /** The idempotency key was used before. */
  isCached?: boolean
  /** Only for the types. */
  readonly '~run'?: { payload: Payload; output: Output }
}

/** A batch that was triggered. */
export interface BatchRunHandle<Id extends string, Payload, Output> {
  batchId: string
  runCount: number
  /** Reads the first run of the batch. */
  publicAccessToken: string
  /** Only for the types. */
  readonly '~batch'?: { id: Id; payload: Payload; output: Output }
}

/** The results of a batch, in the order of its items. */
export interface BatchResult<Id extends string, Output = Untyped> {
  id: string
  runs: TaskRunResult<Id, Output>[]
}

/** An item of a batch. */
export interface HostedBatchItem<Payload> {
  payload: Payload
  options?: HostedTriggerOptions
}

/** Where the items of a batch come from. */
export type Items<Item> = Item[] | AsyncIterable<Item> | ReadableStream<Item>

/** Options of `triggerAndSubscribe`. */
export interface TriggerAndSubscribeOptions extends TriggerAndWaitOptions {
  cancelOnAbort?: boolean
  signal?: AbortSignal
}

/** A task. It is listed in `createEngine`, which executes it, and is triggered as the hosted service has it. */
export interface HostedTask<Id extends string, Payload = void, Output = Untyped> {
  id: Id
  description?: string
  jsonSchema?: object
  /** Only for the types. */
  readonly '~types'?: (payload: Payload) => Output
  /** Stores a run, on the engine of the current run or on the default engine. */
  trigger: (
    payload: Payload,
    options?: HostedTriggerOptions,
    requestOptions?: RequestOptions,
  ) => Promise<HostedRunHandle<Id, Payload, Output>>
  /** Stores a run for each item. */
  batchTrigger: (
    items: Items<HostedBatchItem<Payload>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ) => Promise<BatchRunHandle<Id, Payload, Output>>
  /** Starts a child run and pauses until it has ended. Only in a run. */
  triggerAndWait: (
    payload: Payload,
    options?: TriggerAndWaitOptions,
    requestOptions?: RequestOptions,
  ) => TaskRunPromise<Id, Output>
  /** Throws `ERR_HOSTED_ONLY`: use `triggerAndWait`. */
  triggerAndSubscribe: (payload: Payload, options?: TriggerAndSubscribeOptions) => TaskRunPromise<Id, Output>
  /** Starts child runs and pauses until all have ended. Only in a run. */
  batchTriggerAndWait: (
    items: Items<HostedBatchItem<Payload>>,
    options?: BatchTriggerOptions,
  ) => Promise<BatchResult<Id, Output>>
}

/** A task with a schema. */
export interface TaskWithSchema<
  Id extends string,
  Schema extends TaskSchema | undefined = undefined,
  Output = Untyped,
> extends HostedTask<Id, SchemaIn<Schema>, Output> {
  schema?: Schema
}

/** Any task. */
export type AnyHostedTask = HostedTask<string, Untyped>

/** The payload of a task. */
export type HostedTaskPayload<Task extends AnyHostedTask> =
  Task extends HostedTask<string, infer Payload> ? Payload : never

/** The output of a task. */
export type HostedTaskOutput<Task extends AnyHostedTask> =
  Task extends HostedTask<string, Untyped, infer Output> ? Output : never

/** The id of a task. */
export type TaskIdentifier<Task extends AnyHostedTask> =
  Task extends HostedTask<infer Id, Untyped> ? Id : never

/** The task with an id, among several. */
export type TaskFromIdentifier<Task extends AnyHostedTask, Id extends Task['id']> = Task extends { id: Id }
  ? Task
  : never
