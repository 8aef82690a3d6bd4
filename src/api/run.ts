import type { TransactionOptions, Duration, IdempotencyOptions, Unwrappable } from './token.ts'
import type { RunStatus, TokenKind } from '../contract/records.ts'
import type { CountRunsParams, RunCounts } from './counts.ts'
import type { CursorPagePromise } from './cursor-page.ts'
import type { RunFailedError, StoredError } from './errors.ts'
import type { RunExplanation } from './explanation.ts'
import type { RunOwner } from './run-owner.ts'
import type { TagFilter } from './tag-filter.ts'
import { idOf, show } from '../primitives/require.ts'

/** A task by its name, with the types of its payload and its output. */
export interface TaskShape<in Payload = never, out Output = unknown> {
  readonly id: string
  /** Only for the types; there is no such value. */
  readonly '~types'?: (payload: Payload) => Output
}

/** Any task, with any payload and output. */
export type AnyTask = TaskShape

/** The payload that triggering this task takes. */
export type TaskPayload<Task> = Task extends TaskShape<infer Payload> ? Payload : never

/** A task of which only the id is known: any payload is taken, and nothing is known of the output. */
export type UnknownTask = TaskShape<unknown>

/** How the engine calls itself by the id of a task: its caller knows the types. */
export type ForwardedTask = TaskShape<unknown, never>

/** What a trigger takes after the task: its payload, which may be left out where it may be `undefined`, and options. */
export type TriggerArguments<Task, Options = TriggerOptions> =
  undefined extends TaskPayload<Task>
    ? [payload?: TaskPayload<Task>, options?: Options]
    : [payload: TaskPayload<Task>, options?: Options]

/** The output of a run of this task. */
export type TaskOutput<Task> = Task extends { readonly '~types'?: (payload: never) => infer Output }
  ? Output
  : unknown

/** A run by id, or anything that carries one. */
export type RunReference = string | { readonly id: string }

/**
 * The id of a run.
 *
 * @throws TypeError for a value that is not the id of a run and carries none.
 */
export function runId(run: RunReference): string {
  const id = idOf(run)
  if (typeof id === 'string' && id !== '') return id
  throw new TypeError(`Cannot use ${show(run)} as a run: give its id, or what trigger answered`)
}

/** How triggers of one key become one run. See docs/queues-and-schedules.md#debounce. */
export interface DebounceOptions {
  /** The key, of 1 to 2,048 characters. Each task has keys of its own. */
  readonly key: string
  /** How long a run waits for a further trigger: milliseconds, or a duration string. Each trigger puts it off anew. */
  readonly delay: Duration
  /**
   * Which trigger the run is that of: `leading` is the first one, `trailing` the last one.
   *
   * @default `leading`
   */
  readonly mode?: 'leading' | 'trailing'
  /**
   * How far a run may be put off from its first trigger on: milliseconds, or a duration string, longer than `delay`. A trigger
   * that would put it off further makes a new run.
   *
   * @default no bound
   */
  readonly maxDelay?: Duration
}

/** Options of `trigger`. */
export interface TriggerOptions extends IdempotencyOptions, TransactionOptions {
  /**
   * Starts the run later: a duration from now, or an instant. An instant in the past starts it at once.
   *
   * @default none
   */
  readonly delay?: Duration | Date
  /**
   * Puts off the run of an earlier trigger with its key that has not begun, instead of making another one. Not with an
   * `idempotencyKey`. `triggerAndWait` waits for the run that it puts off or makes.
   *
   * @default none
   */
  readonly debounce?: DebounceOptions
  /**
   * Gives up when the run has not started by then, and it is `EXPIRED`: seconds, or a duration string.
   *
   * @unit seconds
   * @default the `ttl` of the task
   */
  readonly ttl?: number | string
  /**
   * Up to 10 tags, each of 1 to 128 characters.
   *
   * @default none
   */
  readonly tags?: string | readonly string[]
  /**
   * The metadata that the run begins with: a JSON object.
   *
   * @default `{}`
   */
  readonly metadata?: Readonly<Record<string, unknown>>
  /**
   * Overrides `retry.maxAttempts` of the task.
   *
   * @unit attempts
   * @default that of the task
   */
  readonly maxAttempts?: number
  /**
   * How long an attempt may execute, waits excluded: seconds, or a duration string.
   *
   * @unit seconds
   * @default that of the task
   */
  readonly maxDuration?: number | string
  /**
   * The queue that the run waits in.
   *
   * @default that of the task
   */
  readonly queue?: { readonly name: string }
  /**
   * The limit of the queue counts for each of these keys on its own.
   *
   * @default none
   */
  readonly concurrencyKey?: string
  /**
   * The run stands in line as if it had been triggered so many seconds earlier; later by a negative number. At most about 24
   * days (2,147,483 s) either way.
   *
   * @unit seconds
   * @default `0`
   */
  readonly priority?: number
  /**
   * Whether the idempotency key is free for this trigger if its run has failed, timed out, expired or crashed. Within one
   * attempt a run finds the runs that it has triggered.
   *
   * @default `false`
   */
  readonly freeKeyOnFailure?: boolean
  /**
   * Names the wait of `triggerAndWait` and `batchTriggerAndWait`, as the option of `wait.createToken` does. Without
   * effect on a `trigger`.
   *
   * @default none
   */
  readonly name?: string
}

/** Options of `runs.reschedule`. */
export interface RescheduleOptions {
  /** When the run is to start: a duration from now, or an instant. An instant in the past starts it at once. */
  readonly delay: Duration | Date
}

/** One run of a batch: its payload and its options. */
export interface BatchItem<Payload> {
  readonly payload: Payload
  readonly options?: TriggerOptions
}

/** How a run ended; never an exception. */
export type RunOutcome<Output> =
  | { readonly ok: true; readonly id: string; readonly taskIdentifier: string; readonly output: Output }
  | {
      readonly ok: false
      readonly id: string
      readonly taskIdentifier: string
      readonly error: RunFailedError
    }

/** A run that was triggered. */
export interface RunHandle<Output> {
  readonly id: string
  /** The run was there before: the idempotency key was used for it, or the trigger has put it off (`debounce`). */
  readonly isCached: boolean
  /** Reads this run and its streams and sends it messages, and nothing else, over HTTP. Computed when first read. */
  readonly publicAccessToken: string
  /** The output, or rejects with a `RunFailedError`. */
  result(): Promise<Output>
  /** Like `result()`, but never rejects: an engine that is closed first, or a run that is gone, is a failure like any other. */
  outcome(): Promise<RunOutcome<Output>>
}

/** The runs that `batchTrigger` has triggered. */
export interface BatchHandle<Output> {
  readonly runs: readonly RunHandle<Output>[]
}

/** The result of a child run. */
export type SubtaskResult<Output> =
  | { readonly ok: true; readonly id: string; readonly taskIdentifier: string; readonly output: Output }
  | { readonly ok: false; readonly id: string; readonly taskIdentifier: string; readonly error: Error }

/** The promise of `triggerAndWait`; unwrapped it rejects with a `SubtaskUnwrapError`. */
export type SubtaskPromise<Output> = Unwrappable<SubtaskResult<Output>, Output>

/** A token, a sleep or a child that a run waits for. */
export interface WaitingOn {
  readonly id: string
  readonly kind: TokenKind
  readonly timeoutAt?: Date
}

/** An attempt that has thrown. */
export interface RunAttempt {
  /** Which call of the function it was, interrupted ones included: the `ctx.attempt.number` of the task. */
  readonly number: number
  readonly startedAt: Date
  readonly endedAt: Date
  /** How long it had a slot, in milliseconds. */
  readonly executingMs: number
  /** How long it waited without one, in milliseconds: for tokens, sleeps and children, and then for a free slot. */
  readonly waitingMs: number
  /** Cut where it is long: the message after 1,000 characters, the stack after 4,000. */
  readonly error: StoredError
}

/** The current record of a run, with the names of the service's API. */
export interface Run<Payload = unknown, Output = unknown> {
  readonly id: string
  readonly taskIdentifier: string
  /** What the run is about, by the `title` of its task. */
  readonly title?: string
  readonly status: RunStatus
  readonly payload: Payload
  readonly output?: Output
  readonly error?: StoredError
  readonly tags: readonly string[]
  readonly metadata: Readonly<Record<string, unknown>>
  /** Keys of the streams registered so far. */
  readonly realtimeStreams: readonly string[]
  readonly attemptCount: number
  /** The queue that it waits in. Over HTTP only secret keys see it. */
  readonly queue?: string
  /** The limit of the queue counts for this key on its own. Over HTTP only secret keys see it. */
  readonly concurrencyKey?: string
  /** By how many seconds it is ahead in line. Absent: 0. Over HTTP only secret keys see it. */
  readonly priority?: number
  readonly idempotencyKey?: string
  /** The key of `debounce` that it was triggered with. */
  readonly debounceKey?: string
  /** The batch that it was triggered in: over HTTP, or by `waitpoint/sdk`. */
  readonly batchId?: string
  readonly createdAt: Date
  readonly updatedAt: Date
  readonly startedAt?: Date
  readonly finishedAt?: Date
  readonly delayedUntil?: Date
  readonly expiredAt?: Date
  /** From the first start to the end, or to the last change. */
  readonly durationMs: number
  readonly isQueued: boolean
  readonly isExecuting: boolean
  readonly isWaiting: boolean
  /** It ended, one way or the other. */
  readonly isCompleted: boolean
  readonly isSuccess: boolean
  readonly isFailed: boolean
  readonly isCanceled: boolean
  /** The name of `isCanceled` in the API of the service. */
  readonly isCancelled: boolean
  readonly parentId?: string
  readonly rootId: string
}

/** A run as `runs.retrieve` shows it. */
export interface RetrievedRun<Payload = unknown, Output = unknown> extends Run<Payload, Output> {
  /** The engine that holds the run, while it executes or is parked. Over HTTP only secret keys see it. */
  readonly owner?: RunOwner
  /** The waits of the run, while it is parked. */
  readonly waitingOn: readonly WaitingOn[]
  /**
   * The attempts that have thrown, the oldest first; the last 50 at most, and of long errors fewer. An attempt that was
   * interrupted is not among them.
   */
  readonly attempts: readonly RunAttempt[]
}

/** Filters of `runs.list`. */
export interface ListRunsParams extends TagFilter {
  /**
   * Any of these statuses.
   *
   * @default all
   */
  readonly status?: RunStatus | readonly RunStatus[]
  /**
   * Runs of any of these tasks.
   *
   * @default all
   */
  readonly taskIdentifier?: string | readonly string[]
  /**
   * The runs below this root, however deep.
   *
   * @default all
   */
  readonly root?: string
  /**
   * Created within this time until now.
   *
   * @default no bound
   */
  readonly period?: Duration
  /**
   * Created at this instant or later. With `period`, the later bound holds.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly from?: Date | number
  /**
   * Created at this instant or earlier.
   *
   * @unit epoch milliseconds
   * @default no bound
   */
  readonly to?: Date | number
  /**
   * Items of a page, 1 to 100.
   *
   * @unit items
   * @default `25`
   */
  readonly limit?: number
  /**
   * The page after this id.
   *
   * @default the first page
   */
  readonly after?: string
  /**
   * The page before this id. Excludes `after`.
   *
   * @default the first page
   */
  readonly before?: string
}

/**
 * Where a chunk belongs. See docs/streams.md. Chunks of the hosted service have no attempt: `attempt` is then that of the run when
 * the chunk came, and `sequence` counts what the subscription has read.
 */
export interface ChunkPlace {
  /** The attempt that wrote it, counted from 1. A run part with this attempt, or a later one, came before. */
  readonly attempt: number
  /** Its number in its stream, counted from 0 over all attempts. */
  readonly sequence: number
}

/** One part of a subscription (docs/streams.md): the run, or a chunk of one of its streams. */
export type SubscriptionPart<Streams, ARun = Run> =
  | RunPart<Streams, ARun>
  | {
      [Key in keyof Streams & string]: {
        readonly type: Key
        readonly chunk: Streams[Key]
        readonly run: ARun
      } & ChunkPlace
    }[keyof Streams & string]

/** Where the keys are not known, `type` tells no part from another: there every part may be asked for its chunk. */
type RunPart<Streams, ARun> = string extends keyof Streams
  ? {
      readonly type: 'run'
      readonly run: ARun
      readonly chunk?: undefined
      readonly attempt?: undefined
      readonly sequence?: undefined
    }
  : { readonly type: 'run'; readonly run: ARun }

/** Follows a run: iterated it yields the run whenever it changed, and ends when the run has ended. */
export interface RunSubscription<ARun = Run> extends AsyncIterable<ARun> {
  /** Run updates and the chunks of all its streams; ends when the run has ended and its streams are drained. */
  withStreams<Streams = Readonly<Record<string, unknown>>>(): AsyncIterable<SubscriptionPart<Streams, ARun>>
}

/** The payload as it is read: unknown for a task that is not known. */
export type StoredPayload<Task> = [TaskPayload<Task>] extends [never] ? unknown : TaskPayload<Task>

/** The output of a run: a handle knows it, for any other reference the task that the caller names. */
export type ReferencedOutput<Task, Reference> =
  Reference extends RunHandle<infer Output> ? Output : TaskOutput<Task>

/** The run record that belongs to a task, or to a handle. */
export type RunOf<Task, Reference = RunReference> = Task extends AnyTask
  ? Run<StoredPayload<Task>, ReferencedOutput<Task, Reference>>
  : Run

/** Runs, from anywhere. */
export interface RunsNamespace {
  /**
   * The run as it is, and its waits. Rejects with `ERR_RUN_NOT_FOUND`. The types are those of the task that is named, or of the
   * output of the handle that is given; `poll` and `subscribeToRun` know them in the same two ways.
   */
  retrieve<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
  ): Promise<RetrievedRun<StoredPayload<Task>, ReferencedOutput<Task, Reference>>>
  /**
   * Newest first. Awaited: one page; iterated: all of them. Rejects with a TypeError or RangeError for filters that
   * cannot be used.
   */
  list(params?: ListRunsParams): CursorPagePromise<Run>
  /** The run, as soon as it has ended. Rejects with `ERR_RUN_NOT_FOUND`. */
  poll<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
  ): Promise<RetrievedRun<StoredPayload<Task>, ReferencedOutput<Task, Reference>>>
  /** Cancels a run and the children it waits for. One that has ended stays as it is. Rejects with `ERR_RUN_NOT_FOUND`. */
  cancel(run: RunReference): Promise<{ readonly id: string }>
  /**
   * A new run of the same task with the same payload and tags. Rejects with `ERR_RUN_NOT_FOUND`, and with
   * `ERR_TASK_NOT_FOUND` on an engine without the task.
   */
  replay(run: RunReference): Promise<RunHandle<unknown>>
  /**
   * Moves the start of a run that was triggered with a `delay` and has not started. Rejects with `ERR_RUN_NOT_FOUND`; with
   * `ERR_CANNOT_RESCHEDULE` for one that is not delayed any more, or has a `ttl`; with a TypeError or RangeError for a delay that
   * cannot be used.
   */
  reschedule<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options: RescheduleOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  /**
   * Follows a run from now to its end (docs/streams.md). Iterated, it throws `ERR_RUN_NOT_FOUND`.
   *
   * @example
   * ```ts
   * for await (const part of engine.runs.subscribeToRun(run).withStreams<{ draft: string }>()) {
   *   if (part.type === 'draft') console.log(part.chunk)
   * }
   * ```
   */
  subscribeToRun<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
  ): RunSubscription<RunOf<Task, Reference>>
}

/** Tasks by id, for code that must not import them. */
export interface TasksNamespace {
  /**
   * Stores a run of a task by its id, for code that must not import the task; with it at hand, `engine.trigger(review, …)`
   * checks that there is such a task when it is compiled. Rejects with `ERR_TASK_NOT_FOUND`, `ERR_PAYLOAD_INVALID`, `ERR_NOT_SERIALIZABLE`, or a
   * TypeError or RangeError for options that cannot be used.
   *
   * @example
   * ```ts
   * const run = await tasks.trigger<typeof review>('review', { doc: 'd1' })
   * ```
   */
  trigger<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    ...given: TriggerArguments<Task>
  ): Promise<RunHandle<TaskOutput<Task>>>
  /** Stores one run for each item, in order. All payloads and options are checked before the first one is stored. */
  batchTrigger<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    items: readonly BatchItem<TaskPayload<Task>>[],
  ): Promise<BatchHandle<TaskOutput<Task>>>
  /** Starts a child run and pauses until it has ended; its failure is a result, with `ok: false`. Only in a run. */
  triggerAndWait<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    ...given: TriggerArguments<Task>
  ): SubtaskPromise<TaskOutput<Task>>
  /** Like `triggerAndWait()` for several children; the results are in the order of the items. Only in a run. */
  batchTriggerAndWait<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    items: readonly BatchItem<TaskPayload<Task>>[],
  ): Promise<{ readonly runs: readonly SubtaskResult<TaskOutput<Task>>[] }>
}

/** Runs, as tasks and the functions of the module have them. */
export interface TaskRunsNamespace extends RunsNamespace {
  /**
   * Adds tags to a run that is not over, and answers all that it has. `ctx` shows them from the next attempt on. Rejects with
   * `ERR_RUN_NOT_FOUND`; `ERR_CANNOT_ADD_TAGS` for a run that has ended, or would have more than ten; a TypeError or
   * RangeError for tags that cannot be used.
   *
   * @example
   * ```ts
   * await engine.runs.addTags(run, ['customer:7', 'urgent'])
   * ```
   */
  addTags(run: RunReference, tags: string | readonly string[]): Promise<readonly string[]>
  /**
   * Frees an `idempotencyKey` of a task before it expires: the next trigger with it stores a new run. Answers the id of the run that
   * had the key, and `undefined` if no run had it; that run goes on as it is. `key` is what `trigger` was given. Rejects with
   * `ERR_TASK_NOT_FOUND`; `ERR_CANNOT_RESET_KEY` if the storage cannot; a RangeError for a key that cannot be used. See
   * docs/runs.md.
   *
   * @example
   * ```ts
   * await engine.runs.resetIdempotencyKey('charge', 'order-7')
   * ```
   */
  resetIdempotencyKey(taskId: string, key: string): Promise<string | undefined>
}

/** Runs, as an engine in this process has them: it has the code as well. */
export interface EngineRunsNamespace extends TaskRunsNamespace {
  /**
   * Executes a run that is `PENDING_VERSION` with the code this engine has: waits that fit keep their answers, any other
   * is asked anew. Rejects with `ERR_RUN_NOT_FOUND`; `ERR_TASK_NOT_FOUND`; `ERR_CANNOT_CONTINUE` in any other status. See
   * docs/changing-code.md.
   */
  continueWith(run: RunReference): Promise<RetrievedRun<never, never>>
  /**
   * Says why a run stands where it stands: one sentence, and the data behind it. All is computed when it is asked, and
   * nothing is written. What only an engine knows (its tasks, limits and slots) is that of this engine. Rejects with
   * `ERR_RUN_NOT_FOUND`. See docs/operations.md.
   *
   * @example
   * ```ts
   * const { sentence } = await engine.runs.explain(run)
   * console.log(sentence) // The run is waiting for token waitpoint_… [review], created at …, until ….
   * ```
   */
  explain(run: RunReference): Promise<RunExplanation>
  /**
   * How many runs there are of each status. Of each status up to 10,000 runs are looked at (`atMost`): a count is exact unless
   * it says `isMore`. Rejects with a TypeError or RangeError for filters that cannot be used. See docs/options.md.
   *
   * @example
   * ```ts
   * const { WAITING, FAILED } = await engine.runs.counts({ period: '1d' })
   * console.log(WAITING.count, FAILED.count)
   * ```
   */
  counts(params?: CountRunsParams): Promise<RunCounts>
}
