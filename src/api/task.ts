import type { SchemaOutput, StandardSchemaV1 } from './standard-schema.ts'
import type { Logger } from './log.ts'
import type { TaskLimit, TaskQueueOptions } from './queue.ts'
import type { RetryOptions } from './retry.ts'
import type {
  BatchHandle,
  BatchItem,
  RunHandle,
  TaskRunsNamespace,
  SubtaskPromise,
  SubtaskResult,
  TaskShape,
  TasksNamespace,
  TriggerOptions,
} from './run.ts'
import type { EngineStreamsNamespace } from './input.ts'
import type { MetadataNamespace } from './stream.ts'
import type { LinkingWaitNamespace } from './token.ts'

/** The run, the task and the attempt, as the task sees them. */
export interface RunContext {
  readonly run: {
    readonly id: string
    readonly tags: readonly string[]
    readonly createdAt: Date
    readonly startedAt: Date
    /** By how many seconds the run was ahead in line. Absent: 0. */
    readonly priority?: number
    /** The queue that it stands in. */
    readonly queue: string
    /** Of the trigger, else of the task. */
    readonly maxAttempts: number
    /** How long an attempt may execute: of the trigger, else of the task. Absent: no limit. */
    readonly maxDurationMs?: number
    /** Whether `runs.replay` has triggered it. */
    readonly isReplay: boolean
    /** The batch that it was triggered in: over HTTP, or by `waitpoint/sdk`. */
    readonly batchId?: string
    /** As it was given to the trigger. */
    readonly idempotencyKey?: string
    readonly parentId?: string
    readonly rootId: string
  }
  readonly task: { readonly id: string }
  readonly attempt: {
    /** Which call of the function this is, interrupted ones included. */
    readonly number: number
    /** Which attempt it is by `retry.maxAttempts`: an interrupted one is not counted again. */
    readonly policyNumber: number
    /** When this call began: one that follows an interruption has an instant of its own. */
    readonly startedAt: Date
  }
}

/** The engine's namespaces. */
export interface Namespaces {
  readonly wait: LinkingWaitNamespace
  readonly metadata: MetadataNamespace
  readonly runs: TaskRunsNamespace
  readonly tasks: TasksNamespace
  readonly streams: EngineStreamsNamespace
}

/** The second argument of `run`. */
export interface RunTools extends Namespaces {
  readonly ctx: RunContext
  /** Aborted when the run is canceled, runs out of time, loses its lease, or the engine closes. */
  readonly signal: AbortSignal
  /** Logs lines of this run. */
  readonly logger: Logger
}

/** The answer of `catchError`; see docs/runs.md. */
export type RetryDecision = void | {
  /** Fail now. */
  readonly skipRetrying?: boolean
  readonly retryAt?: Date
  readonly retryDelayInMs?: number
  /** The error of the run, instead of the one that was thrown. */
  readonly error?: unknown
}

/** The argument of a hook. */
export interface HookContext<Payload> {
  readonly payload: Payload
  readonly ctx: RunContext
  readonly signal: AbortSignal
}

/** The argument of `onCancel`. */
export interface CancelContext<Payload> extends HookContext<Payload> {
  /** Resolves when the function of the task has settled, at the latest 5 s after the cancel. */
  readonly settled: Promise<void>
}

/** Options of {@link task}. */
export interface TaskOptions<Payload, Output> {
  /** The name of the task. Stored runs refer to it, so it stays the same for as long as they live. */
  readonly id: string
  /** The function of the task: called once for each attempt. */
  readonly run: (payload: Payload, tools: RunTools) => Output | Promise<Output>
  /**
   * What a run is about, in a few words for people, such as `Invoice 1184`: computed once, when the run is triggered, and cut after 200
   * characters. An error that it throws is an `error` event, and the run has no title. See docs/runs.md.
   *
   * @default none
   */
  readonly title?: (payload: Payload) => string
  /**
   * What the task does, for people: the console shows it.
   *
   * @default none
   */
  readonly description?: string
  /**
   * When and how often the task is called again after it threw.
   *
   * @default none: one attempt
   */
  readonly retry?: RetryOptions
  /**
   * How long an attempt may execute, waits excluded: seconds, or a duration string.
   *
   * @unit seconds
   * @default no limit
   */
  readonly maxDuration?: number | string
  /**
   * Runs of one queue share its `concurrencyLimit`, so many may execute at once, and its `rate`, so many may start in a period: over
   * all engines on one storage, and for each concurrency key on its own. See docs/queues-and-schedules.md.
   *
   * @default a queue of its own, no limit, no rate
   */
  readonly queue?: TaskQueueOptions
  /**
   * Further limits of its runs, at most three: one of the task alone, and those that tasks share by name. See
   * docs/queues-and-schedules.md.
   *
   * @default none
   */
  readonly limits?: readonly TaskLimit[]
  /**
   * How long a run may wait for its first start, else it is `EXPIRED`: seconds, or a duration string.
   *
   * @unit seconds
   * @default no limit
   */
  readonly ttl?: number | string
  /**
   * The version of the code. A run keeps the version it began with: with unnamed waits it becomes `PENDING_VERSION` where
   * the code has another one. Several versions of one task may be listed in `createEngine`: new runs begin on the first. See
   * docs/changing-code.md.
   *
   * @default a digest of the text of `run`
   */
  readonly version?: string
  /**
   * Versions whose waiting runs this code goes on with: its waits are in the same order, with the same options.
   *
   * @default none
   */
  readonly accepts?: readonly string[]
  /**
   * Called before the first attempt.
   *
   * @default none
   */
  readonly onStart?: (context: HookContext<Payload>) => unknown
  /**
   * Called after a success, before the run is completed. An error that it throws is an `error` event.
   *
   * @default none
   */
  readonly onSuccess?: (context: HookContext<Payload> & { readonly output: Output }) => unknown
  /**
   * Called after the last attempt failed. An error that it throws is an `error` event.
   *
   * @default none
   */
  readonly onFailure?: (context: HookContext<Payload> & { readonly error: unknown }) => unknown
  /**
   * Called, once at most, when a run that has begun was canceled, to compensate for what it has done.
   * It may not wait, nor use `once` or write to streams.
   * An error that it throws is an `error` event. See docs/runs.md.
   *
   * @default none
   */
  readonly onCancel?: (context: CancelContext<Payload>) => unknown
  /**
   * How long `onCancel` may take: seconds, or a duration string.
   *
   * @unit seconds
   * @default 30
   */
  readonly maxCancelDuration?: number | string
  /**
   * Called after every failed attempt. Its answer may change whether and when the next one comes.
   *
   * @default none
   */
  readonly catchError?: (
    context: HookContext<Payload> & {
      readonly error: unknown
      readonly retryDelayInMs?: number
      readonly retryAt?: Date
    },
  ) => RetryDecision | Promise<RetryDecision>
}

/** A task whose payload is checked by any Standard Schema (zod, valibot, arktype …) before a run is stored. */
export interface SchemaTaskOptions<Schema extends StandardSchemaV1, Output> extends TaskOptions<
  SchemaOutput<Schema>,
  Output
> {
  /** A Standard Schema (zod, valibot, arktype …) that checks the payload before a run is stored. */
  readonly schema: Schema
}

/** A task: define it once, list it in `createEngine`, trigger it anywhere. */
export interface Task<in Payload, out Output> extends TaskShape<Payload, Output> {
  /**
   * Stores a run, on the engine of the current run or on the default engine: for a run that triggers another one. Elsewhere
   * `engine.trigger(task, …)` names its engine. Rejects as `tasks.trigger` does.
   */
  trigger(payload: Payload, options?: TriggerOptions): Promise<RunHandle<Output>>
  /** Where the payload may be `undefined`, it may be left out. */
  trigger(this: TaskShape<undefined>): Promise<RunHandle<Output>>
  /** Stores one run for each item, in order. All payloads and options are checked before the first one is stored. */
  batchTrigger(items: readonly BatchItem<Payload>[]): Promise<BatchHandle<Output>>
  /** Starts a child run and pauses until it has ended; its failure is a result, with `ok: false`. Only in a run. */
  triggerAndWait(payload: Payload, options?: TriggerOptions): SubtaskPromise<Output>
  /** Where the payload may be `undefined`, it may be left out. */
  triggerAndWait(this: TaskShape<undefined>): SubtaskPromise<Output>
  /** Like `triggerAndWait()` for several children; the results are in the order of the items. Only in a run. */
  batchTriggerAndWait(
    items: readonly BatchItem<Payload>[],
  ): Promise<{ readonly runs: readonly SubtaskResult<Output>[] }>
}
