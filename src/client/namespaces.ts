import type {
  CompleteTokenOptions,
  CompletedToken,
  CreatedToken,
  CreateTokenOptions,
  Duration,
  ListTokensParams,
  RetrievedToken,
  SubscribeToTokensParams,
  Token,
  TokenReference,
  WaitNamespace,
  ReassignTokenOptions,
  WithdrawTokenOptions,
} from '../api/token.ts'
import type { RunExplanation } from '../api/explanation.ts'
import type { QueueHandle, RetrievedQueue } from '../api/queue.ts'
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
  ReferencedOutput,
  RunOf,
  RunReference,
  RunsNamespace,
  RunSubscription,
  StoredPayload,
  TaskOutput,
  TaskPayload,
  TasksNamespace,
  TriggerArguments,
  TriggerOptions,
  UnknownTask,
} from '../api/run.ts'
import type { SendInputOptions } from '../api/input.ts'
import type { DefinedStream, ReadStreamOptions, StreamsNamespace } from '../api/stream.ts'

/** Options of every call of a client. */
export interface CallOptions {
  /** Aborts the call, its retries included. The call rejects with the reason. */
  readonly signal?: AbortSignal
}

/** How a subscription stands: it has a connection, or waits for another one. */
export type ConnectionState = 'live' | 'reconnecting'

/** Options of what is followed. */
export interface FollowOptions extends CallOptions {
  /**
   * Is told how the connection stands: `live` with each one that begins, `reconnecting` when it was lost, or closed because the page is hidden.
   *
   * @default none
   */
  readonly onConnection?: (state: ConnectionState) => void
  /**
   * Goes on trying also if there was no connection yet, or no access token, as for a page.
   *
   * @default false: the first connection is tried as `retry` of the client says
   */
  readonly keepTrying?: boolean
}

/** Tokens of a service, from outside of runs. Calls that pause a run reject with `ERR_NOT_IN_RUN`. */
export interface ClientWait extends WaitNamespace {
  createToken(options?: CreateTokenOptions & CallOptions): Promise<CreatedToken>
  /**
   * Completes a token with any JSON value. `success` tells whether this call completed it. The hosted service answers
   * `true` for every token that exists. A `transaction` is refused with `ERR_TRANSACTION_UNSUPPORTED`; `by` needs a secret key. See
   * docs/waitpoints.md.
   */
  completeToken(
    token: TokenReference,
    output?: unknown,
    options?: CallOptions & CompleteTokenOptions,
  ): Promise<CompletedToken>
  /**
   * Ends the wait for a token without an answer. With a secret key only, like the next two; the hosted service has no route for them.
   * Rejects with `ERR_TOKEN_NOT_FOUND`. See docs/ask-a-person.md#change-your-mind.
   */
  withdrawToken(token: TokenReference, options?: CallOptions & WithdrawTokenOptions): Promise<CompletedToken>
  /**
   * Gives a token that waits another deadline, later or earlier: a duration from now, a `Date`, or an ISO 8601 string. Rejects with a
   * TypeError or RangeError for one that cannot be read.
   */
  extendToken(token: TokenReference, timeout: Duration | Date, options?: CallOptions): Promise<CompletedToken>
  /** Gives a token that waits other approvers: from then on an answer needs a `by` that is one of these. */
  reassignToken(
    token: TokenReference,
    approvers: readonly string[],
    options?: CallOptions & ReassignTokenOptions,
  ): Promise<CompletedToken>
  retrieveToken<Output = unknown>(
    token: TokenReference,
    options?: CallOptions,
  ): Promise<RetrievedToken<Output>>
  listTokens(params?: ListTokensParams & CallOptions): CursorPagePromise<Token>
  /**
   * One token as it is, and again whenever its deadline, its approvers or its status are others, until it is settled: the last one
   * says who answered. The hosted service has no route for it. See docs/in-the-browser.md.
   */
  subscribeToToken<Output = unknown>(
    token: TokenReference,
    options?: FollowOptions,
  ): AsyncIterable<RetrievedToken<Output>>
  /**
   * What waits, as a live list: the newest waiting tokens, never with an output, now and whenever they are others. It ends when its reader
   * leaves. The hosted service has no route for it.
   */
  subscribeToTokens(params?: SubscribeToTokensParams & FollowOptions): AsyncIterable<readonly Token[]>
}

/** A run handle whose calls take a signal. */
export interface RemoteRunHandle<Output> extends RunHandle<Output> {
  result(options?: CallOptions): Promise<Output>
  outcome(options?: CallOptions): ReturnType<RunHandle<Output>['outcome']>
}

/** Runs of a service. */
export interface ClientRuns extends RunsNamespace {
  retrieve<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
    options?: CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, ReferencedOutput<Task, Reference>>>
  list(params?: ListRunsParams & CallOptions): CursorPagePromise<Run>
  poll<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
    options?: CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, ReferencedOutput<Task, Reference>>>
  cancel(run: RunReference, options?: CallOptions): Promise<{ readonly id: string }>
  replay(run: RunReference, options?: CallOptions): Promise<RemoteRunHandle<unknown>>
  /**
   * Executes a run that is `PENDING_VERSION` with the code that the service has. Rejects with `ERR_CANNOT_CONTINUE` in any
   * other status. See docs/changing-code.md.
   */
  continueWith<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options?: CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  /**
   * Says why a run stands where it stands, as `engine.runs.explain` of the service does. With a secret key only. See
   * docs/operations.md.
   */
  explain(run: RunReference, options?: CallOptions): Promise<RunExplanation>
  reschedule<Task extends AnyTask = AnyTask>(
    run: RunReference,
    options: RescheduleOptions & CallOptions,
  ): Promise<RetrievedRun<StoredPayload<Task>, TaskOutput<Task>>>
  subscribeToRun<Task extends AnyTask = AnyTask, Reference extends RunReference = RunReference>(
    run: Reference,
    options?: FollowOptions,
  ): RunSubscription<RunOf<Task, Reference>>
}

/** Tasks of a service, by id. Calls that wait for a child run reject with `ERR_NOT_IN_RUN`. */
export interface ClientTasks extends TasksNamespace {
  trigger<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    ...given: TriggerArguments<Task, TriggerOptions & CallOptions>
  ): Promise<RemoteRunHandle<TaskOutput<Task>>>
  /** Stores one run for each item, in order. All items are checked locally before the first run is stored. */
  batchTrigger<Task extends AnyTask = UnknownTask>(
    id: Task['id'],
    items: readonly BatchItem<TaskPayload<Task>>[],
    options?: CallOptions,
  ): Promise<BatchHandle<TaskOutput<Task>>>
}

/** Options of `append`, with the run to append to. */
export interface AppendOptions extends CallOptions {
  readonly target?: RunReference
}

/** Options of `read` of a client. */
export interface FollowStreamOptions extends ReadStreamOptions, FollowOptions {
  /**
   * `run`: goes on after the moments at which all of its sources have ended, to the end of the run. A source that fails ends it only if
   * its run is over.
   *
   * @default the first such moment
   */
  readonly until?: 'run'
}

/** Messages into the runs of a service, under one name. */
export interface ClientInput<Input> {
  readonly id: string
  /**
   * Sends a message to a run, which may not have begun. Resolves once it is accepted, once for each call, however often that is repeated
   * over the network. Rejects as that of an engine does. See docs/messages.md.
   */
  send(
    run: RunReference,
    data: Input,
    options?: CallOptions & Pick<SendInputOptions, 'idempotencyKey'>,
  ): Promise<void>
}

/** Streams of the runs of a service. */
export interface ClientStreams extends StreamsNamespace {
  define<Chunk>(options: { readonly id: string }): ClientStream<Chunk>
  /** Names a stream of messages into runs, and the type of these. */
  input<Input = unknown>(options: { readonly id: string }): ClientInput<Input>
  read<Chunk = unknown>(run: RunReference, key: string, options?: FollowStreamOptions): AsyncIterable<Chunk>
  /** Appends one chunk, any JSON value, to a stream of the `target` run, which must be executing. */
  append(key: string, chunk: unknown, options?: AppendOptions): Promise<void>
}

/** A stream with a fixed key and chunk type. */
export interface ClientStream<Chunk> extends DefinedStream<Chunk> {
  append(chunk: Chunk, options?: AppendOptions): Promise<void>
  read(run: RunReference, options?: FollowStreamOptions): AsyncIterable<Chunk>
}

/** One queue of a service. Its calls need a secret key. Its rate is set in the program of the engine. */
export interface ClientQueue extends Omit<QueueHandle, 'setRate' | 'resetRate'> {
  retrieve(options?: CallOptions): Promise<RetrievedQueue>
  pause(options?: CallOptions): Promise<RetrievedQueue>
  resume(options?: CallOptions): Promise<RetrievedQueue>
  setLimit(limit: number, options?: CallOptions): Promise<RetrievedQueue>
  resetLimit(options?: CallOptions): Promise<RetrievedQueue>
}

/** Objects that an access token is for: their ids, or `true` for all of the kind. */
export interface ScopedObjects {
  readonly runs?: string | readonly string[] | true
  readonly tasks?: string | readonly string[] | true
  readonly tags?: string | readonly string[] | true
  readonly batch?: string | readonly string[] | true
  readonly waitpoints?: string | readonly string[] | true
  readonly streams?: string | readonly string[] | true
}

/** The rights of an access token, as in the hosted service. Everything that is not named is refused. */
export interface PublicTokenScopes {
  readonly read?: ScopedObjects
  readonly write?: ScopedObjects
  readonly trigger?: Pick<ScopedObjects, 'tasks'>
}

/** Options of `auth.createPublicToken`. */
export interface CreatePublicTokenOptions extends CallOptions {
  readonly scopes: PublicTokenScopes
  /**
   * When it expires: a duration from now, a date, or seconds since 1970.
   *
   * @default `'15m'`
   */
  readonly expirationTime?: string | Date | number
  /** Columns of runs that it does not show. */
  readonly realtime?: { readonly skipColumns?: readonly string[] }
}

/** Access tokens of a service. */
export interface ClientAuth {
  /**
   * An access token for a page: it may do what its scopes say, for 15 minutes or until `expirationTime`. The client needs a
   * secret key. Rejects with a TypeError or RangeError for scopes that cannot be used. See docs/in-the-browser.md.
   *
   * @example
   * ```ts
   * const client = createClient({ baseUrl: 'https://example.com/engine', accessToken: secretKey })
   * const accessToken = await client.auth.createPublicToken({ scopes: { read: { runs: run.id } }, expirationTime: '1h' })
   * ```
   */
  createPublicToken(options: CreatePublicTokenOptions): Promise<string>
}
