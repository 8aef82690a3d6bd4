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

/** What every call of a client may be given. */
export interface CallOptions {
  /** Ends the call, its retries included; it rejects with the reason. */
  readonly signal?: AbortSignal
}

/** Tokens of a service, from anywhere. What pauses a run rejects with `ERR_NOT_IN_RUN`. */
export interface ClientWait extends WaitNamespace {
  createToken(options?: CreateTokenOptions & CallOptions): Promise<CreatedToken>
  /**
   * Completes a token with any JSON value (specification 2.6). `success` says whether this call did it: a handler of this
   * library tells; the hosted service says yes to whoever completes a token that there is. A `transaction` is refused with
   * `ERR_TRANSACTION_UNSUPPORTED`.
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

/** A handle whose calls can be given up. */
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

/** Tasks of a service, by id. What waits for a child run rejects with `ERR_NOT_IN_RUN`. */
export interface ClientTasks extends TasksNamespace {
  trigger<Task extends AnyTask>(
    id: Task['id'],
    payload: TaskPayload<Task>,
    options?: TriggerOptions & CallOptions,
  ): Promise<RemoteRunHandle<TaskOutput<Task>>>
  /** Stores one run for each item, in order. What can be checked here is, before the first one is stored. */
  batchTrigger<Task extends AnyTask>(
    id: Task['id'],
    items: readonly BatchItem<TaskPayload<Task>>[],
    options?: CallOptions,
  ): Promise<BatchHandle<TaskOutput<Task>>>
}

/** Which run to append to, from outside of it. */
export interface AppendOptions extends CallOptions {
  readonly target?: RunReference
}

/** Streams of the runs of a service. */
export interface ClientStreams extends StreamsNamespace {
  define<Chunk>(options: { readonly id: string }): ClientStream<Chunk>
  /** Adds one chunk, any JSON value, to a stream of the `target`, which must be executing. */
  append(key: string, chunk: unknown, options?: AppendOptions): Promise<void>
}

/** A stream with a fixed key and chunk type. */
export interface ClientStream<Chunk> extends DefinedStream<Chunk> {
  append(chunk: Chunk, options?: AppendOptions): Promise<void>
}
