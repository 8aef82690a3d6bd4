import type {
  TransactionOptions,
  CompletedToken,
  CreatedToken,
  CreateTokenOptions,
  ListTokensParams,
  RetrievedToken,
  Token,
  TokenReference,
  WaitNamespace,
} from '../api/token.ts'
import type { CursorPagePromise } from '../api/cursor-page.ts'
import type {
  AnyTask,
  BatchHandle,
  BatchItem,
  ListRunsParams,
  RescheduleOptions,
  RetrievedRun,
  Run,
  RunHandle,
  RunOf,
  RunReference,
  RunsNamespace,
  RunSubscription,
  StoredPayload,
  TaskOutput,
  TaskPayload,
  TasksNamespace,
  TriggerOptions,
} from '../api/run.ts'
import type { DefinedStream, StreamsNamespace } from '../api/stream.ts'

/** Options of every call of a client. */
export interface CallOptions {
  /** Aborts the call, its retries included. The call rejects with the reason. */
  readonly signal?: AbortSignal
}

/** Tokens of a service, from outside of runs. Calls that pause a run reject with `ERR_NOT_IN_RUN`. */
export interface ClientWait extends WaitNamespace {
  createToken(options?: CreateTokenOptions & CallOptions): Promise<CreatedToken>
  /**
   * Completes a token with any JSON value. `success` tells whether this call completed it. The hosted service answers
   * `true` for every token that exists. A `transaction` is refused with `ERR_TRANSACTION_UNSUPPORTED`. See
   * docs/waitpoints.md.
   */
  completeToken(
    token: TokenReference,
    output?: unknown,
    options?: CallOptions & TransactionOptions,
  ): Promise<CompletedToken>
  retrieveToken<Output = unknown>(
    token: TokenReference,
    options?: CallOptions,
  ): Promise<RetrievedToken<Output>>
  listTokens(params?: ListTokensParams & CallOptions): CursorPagePromise<Token>
}

/** A run handle whose calls take a signal. */
export interface RemoteRunHandle<Output> extends RunHandle<Output> {
  result(options?: CallOptions): Promise<Output>
  outcome(options?: CallOptions): ReturnType<RunHandle<Output>['outcome']>
}

/** Runs of a service. */
export interface ClientRuns extends RunsNamespace {
  retrieve<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options?: CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  list(params?: ListRunsParams & CallOptions): CursorPagePromise<Run>
  poll<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options?: CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  cancel(run: RunReference, options?: CallOptions): Promise<{ readonly id: string }>
  replay(run: RunReference, options?: CallOptions): Promise<RemoteRunHandle<unknown>>
  reschedule<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options: RescheduleOptions & CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  subscribeToRun<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options?: CallOptions,
  ): RunSubscription<RunOf<Task>>
}

/** Tasks of a service, by id. Calls that wait for a child run reject with `ERR_NOT_IN_RUN`. */
export interface ClientTasks extends TasksNamespace {
  trigger<Task extends AnyTask>(
    id: Task['id'],
    payload: TaskPayload<Task>,
    options?: TriggerOptions & CallOptions,
  ): Promise<RemoteRunHandle<TaskOutput<Task>>>
  /** Stores one run for each item, in order. All items are checked locally before the first run is stored. */
  batchTrigger<Task extends AnyTask>(
    id: Task['id'],
    items: readonly BatchItem<TaskPayload<Task>>[],
    options?: CallOptions,
  ): Promise<BatchHandle<TaskOutput<Task>>>
}

/** Options of `append`, with the run to append to. */
export interface AppendOptions extends CallOptions {
  readonly target?: RunReference
}

/** Streams of the runs of a service. */
export interface ClientStreams extends StreamsNamespace {
  define<Chunk>(options: { readonly id: string }): ClientStream<Chunk>
  /** Appends one chunk, any JSON value, to a stream of the `target` run, which must be executing. */
  append(key: string, chunk: unknown, options?: AppendOptions): Promise<void>
}

/** A stream with a fixed key and chunk type. */
export interface ClientStream<Chunk> extends DefinedStream<Chunk> {
  append(chunk: Chunk, options?: AppendOptions): Promise<void>
}
