import type { Run, RunReference, SubscriptionPart } from '../../api/run.ts'
import type { Duration } from '../../api/token.ts'
import {
  type OptionNames,
  requireFlag,
  requireList,
  requireObject,
  requireOptions,
  requireSignal,
} from '../../primitives/require.ts'
import { requireTypes } from './option-types.ts'
import { hasCode } from './error-code.ts'
import { hostedOnly, refusing } from './hosted-only.ts'
import { type ListedHostedRun, type RealtimeHostedRun, type RetrievedHostedRun, shown } from './hosted-run.ts'
import { type HostedListRunsParams, listHostedRuns, type RunPage } from './run-list.ts'
import { asStream, type AsyncIterableStream, hostedStreams } from './streams.ts'
import type { AnyHostedTask } from './task-types.ts'
import { isRequest, type RequestOptions, requireRequest, takingRequests } from './request-options.ts'
import type { HostedTriggerOptions } from './trigger-options.ts'
import type { Untyped } from './untyped.ts'
import { storedRuns as runs } from './stored.ts'

/** Whatever says which run is meant. */
type Subject = AnyHostedTask | { id: string; taskIdentifier: string } | string

type IdFor<S> = S extends AnyHostedTask ? string : S extends string ? string : S

/** A subscription that can be ended. */
export interface HostedSubscription<S> extends AsyncIterable<RealtimeHostedRun<S>> {
  withStreams<Streams = Record<string, Untyped>>(): AsyncIterableStream<
    SubscriptionPart<Streams, RealtimeHostedRun<S>>
  >
  unsubscribe(): void
}

/** Options of `runs.subscribeToRun`. */
interface HostedSubscribeOptions {
  /** Only `true`: a subscription ends with its run. */
  stopOnCompletion?: boolean
  /** Without effect: a run is shown with all it has. */
  skipColumns?: string[]
  /** Ends the subscription. */
  signal?: AbortSignal
}

/** Options of `runs.poll`. */
interface PollOptions {
  /** Without effect: the engine tells when the run has ended. */
  pollIntervalMs?: number
}

/** Options of `runs.replay` there, which rejects with `ERR_HOSTED_ONLY` for any of them. */
export type ReplayRunOptions = Pick<
  HostedTriggerOptions,
  | 'metadata'
  | 'tags'
  | 'queue'
  | 'concurrencyKey'
  | 'machine'
  | 'version'
  | 'region'
  | 'delay'
  | 'ttl'
  | 'idempotencyKey'
  | 'idempotencyKeyTTL'
  | 'maxAttempts'
  | 'maxDuration'
  | 'priority'
> & { payload?: unknown }

const SUBSCRIBE_NAMES: OptionNames<HostedSubscribeOptions> = {
  stopOnCompletion: true,
  skipColumns: true,
  signal: true,
}

/**
 * Runs, as the hosted service has them. Without `triggerFunction`, `taskKind`, `schedule`, `relatedRuns.children`, `ttl`, `queuedAt`,
 * `version` and `region`; `isTest` is `false`, and the costs are 0. A run that is no longer kept is none of `relatedRuns`.
 */
export interface HostedRuns {
  retrieve<S extends Subject>(run: IdFor<S>, requestOptions?: RequestOptions): Promise<RetrievedHostedRun<S>>
  poll<S extends Subject>(
    run: IdFor<S>,
    options?: PollOptions,
    requestOptions?: RequestOptions,
  ): Promise<RetrievedHostedRun<S>>
  /** The name of a project is ignored: there is one. */
  list(
    params?: HostedListRunsParams,
    requestOptions?: RequestOptions,
  ): Promise<RunPage> & AsyncIterable<ListedHostedRun>
  list(
    projectRef: string,
    params?: HostedListRunsParams,
    requestOptions?: RequestOptions,
  ): Promise<RunPage> & AsyncIterable<ListedHostedRun>
  cancel(runId: string, requestOptions?: RequestOptions): Promise<{ id: string }>
  /** Rejects with `ERR_HOSTED_ONLY` if it is to change anything of the run. */
  replay(runId: string, options?: ReplayRunOptions, requestOptions?: RequestOptions): Promise<{ id: string }>
  replay(runId: string, requestOptions?: RequestOptions): Promise<{ id: string }>
  reschedule(
    runId: string,
    options: { delay: Duration | Date },
    requestOptions?: RequestOptions,
  ): Promise<RetrievedHostedRun>
  subscribeToRun<S extends Subject>(run: IdFor<S>, options?: HostedSubscribeOptions): HostedSubscription<S>
  /** Throws `ERR_HOSTED_ONLY`. */
  subscribeToRunsWithTag<S extends AnyHostedTask = AnyHostedTask>(
    tag: string | string[],
    ...options: readonly object[]
  ): HostedSubscription<S>
  /** Throws `ERR_HOSTED_ONLY`. */
  subscribeToBatch<S extends AnyHostedTask = AnyHostedTask>(batchId: string): HostedSubscription<S>
  /** Rejects with `ERR_RUN_NOT_FOUND`. */
  fetchStream<Chunk>(runId: string, key: string): Promise<AsyncIterableStream<Chunk>>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly bulk: Readonly<
    Record<
      'cancel' | 'replay' | 'retrieve' | 'abort' | 'list' | 'poll',
      (...values: readonly unknown[]) => Promise<Untyped>
    >
  >
}

/** What says which run is meant, for the engine. */
function reference(run: unknown): RunReference {
  return run as RunReference
}

function subscribe<S>(run: RunReference, options: HostedSubscribeOptions = {}): HostedSubscription<S> {
  requireOptions(options, 'the options of runs.subscribeToRun', SUBSCRIBE_NAMES)
  const { stopOnCompletion = true, signal } = options
  requireSignal(signal, 'signal')
  if (options.skipColumns !== undefined) requireList(options.skipColumns, 'skipColumns')
  requireFlag(stopOnCompletion, 'stopOnCompletion')
  if (!stopOnCompletion)
    throw hostedOnly('runs.subscribeToRun without stopOnCompletion', 'retrieve the run again after its end')
  const subscription = runs.subscribeToRun(run)
  const open = new Set<AsyncIterator<unknown>>()
  let isOver = false
  const unsubscribe = (): void => {
    isOver = true
    for (const iterator of open) iterator.return?.().catch(() => undefined)
  }
  const following = async function* <Item, Shown>(
    items: AsyncIterable<Item>,
    show: (item: Item) => Shown,
  ): AsyncGenerator<Shown> {
    if (isOver || signal?.aborted === true) return
    const iterator = items[Symbol.asyncIterator]()
    open.add(iterator)
    signal?.addEventListener('abort', unsubscribe)
    try {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield show(next.value)
    } finally {
      open.delete(iterator)
      signal?.removeEventListener('abort', unsubscribe)
      await iterator.return?.()
    }
  }
  return {
    [Symbol.asyncIterator]: () => following(subscription, shown<S>),
    withStreams: <Streams>() =>
      asStream(
        following(
          subscription.withStreams<Streams>(),
          (part) => ({ ...part, run: shown<S>(part.run) }) as SubscriptionPart<Streams, RealtimeHostedRun<S>>,
        ),
      ),
    unsubscribe,
  }
}

async function pollWith<S>(run: RunReference, options: PollOptions): Promise<RetrievedHostedRun<S>> {
  requireOptions(options, 'the options of runs.poll', { pollIntervalMs: true })
  requireTypes(options, 'runs.poll', { pollIntervalMs: 'number' })
  return runs.pollAs(run, retrieved)
}

/** A run with those above it, which may be kept no longer. */
function retrieved<S>(run: Run): RetrievedHostedRun<S> | Promise<RetrievedHostedRun<S>> {
  const view = shown<S>(run) as RetrievedHostedRun<S>
  view.depth = 0
  view.relatedRuns = {}
  return run.parentId === undefined ? view : below(view, run)
}

async function below<S>(
  view: RetrievedHostedRun<S>,
  { parentId, rootId }: Run,
): Promise<RetrievedHostedRun<S>> {
  const above: Run[] = []
  for (let id = parentId; id !== undefined; id = above.at(-1)?.parentId) {
    view.depth += 1
    try {
      above.push(await runs.retrieve(id))
    } catch (error) {
      if (hasCode(error, 'ERR_RUN_NOT_FOUND')) break
      throw error
    }
  }
  const root = above.find(({ id }) => id === rootId)
  const [parent] = above
  const { relatedRuns, depth } = view
  if (parent !== undefined) relatedRuns.parent = Object.assign(shown(parent), { depth: depth - 1 })
  if (root === parent && relatedRuns.parent !== undefined) relatedRuns.root = relatedRuns.parent
  else if (root !== undefined) relatedRuns.root = Object.assign(shown(root), { depth: 0 })
  return view
}

const BULK = 'call it for each run of runs.list'

/** `runs`. */
export const hostedRuns: HostedRuns = /* @__PURE__ */ takingRequests<HostedRuns>(
  {
    retrieve: (run) => runs.retrieve(reference(run)).then(retrieved),
    // Hot: the promise is that of the engine.
    poll: (run, options) => {
      if (options !== undefined) return pollWith(reference(run), options)
      return runs.pollAs(reference(run), retrieved)
    },
    list: (
      first?: HostedListRunsParams | string,
      second?: HostedListRunsParams | RequestOptions,
      third?: RequestOptions,
    ) => {
      const isOfProject = typeof first === 'string'
      const [params, request] = isOfProject && !isRequest(second) ? [second, third] : [first, second]
      requireRequest(request as RequestOptions | undefined)
      return listHostedRuns(isOfProject && params === first ? undefined : (params as HostedListRunsParams))
    },
    cancel: (runId) => runs.cancel(runId),
    replay: async (runId, given: ReplayRunOptions | RequestOptions = {}, requestOptions?: RequestOptions) => {
      const options = isRequest(given) ? {} : given
      requireRequest(requestOptions)
      requireObject(options, 'the options of runs.replay')
      if (Object.keys(options).length > 0)
        throw hostedOnly('runs.replay with options', 'trigger the task with what is to change')
      const { id } = await runs.replay(runId)
      return { id }
    },
    reschedule: async (runId, options) => {
      requireOptions(options, 'the options of runs.reschedule', { delay: true })
      return retrieved(await runs.reschedule(runId, { delay: options.delay }))
    },
    subscribeToRun: (run, options) => subscribe(reference(run), options),
    subscribeToRunsWithTag: () => {
      throw hostedOnly('runs.subscribeToRunsWithTag', 'list the runs with the tag and subscribe to each')
    },
    subscribeToBatch: () => {
      throw hostedOnly('runs.subscribeToBatch', 'subscribe to each run of batch.retrieve')
    },
    fetchStream: async <Chunk>(runId: string, key: string) => {
      // A run that there is not rejects at the call, as there.
      await runs.retrieve(runId)
      return hostedStreams.read<Chunk>(runId, key)
    },
    bulk: {
      cancel: refusing('runs.bulk.cancel', BULK),
      replay: refusing('runs.bulk.replay', BULK),
      retrieve: refusing('runs.bulk.retrieve', BULK),
      abort: refusing('runs.bulk.abort', BULK),
      list: refusing('runs.bulk.list', BULK),
      poll: refusing('runs.bulk.poll', BULK),
    },
  },
  { retrieve: 1, poll: 2, cancel: 1, reschedule: 2 },
)
