import type { CursorPage, CursorPagePromise } from '../../api/cursor-page.ts'
import type { ListRunsParams, RetrievedRun, Run, RunReference, SubscriptionPart } from '../../api/run.ts'
import type { Duration } from '../../api/token.ts'
import type { RunStatus } from '../../contract/records.ts'
import { runs, streams } from '../../core/ambient/ambient.ts'
import { hostedOnly, refusing } from './hosted-only.ts'
import type { AnyHostedTask, HostedTask, HostedRunHandle, RequestOptions } from './task-types.ts'
import type { Untyped } from './untyped.ts'
import { decodeValue } from './values.ts'

/** The payload and the output of a task, or of a run that was triggered. */
type TypesOf<Subject> =
  Subject extends HostedTask<string, infer Payload, infer Output>
    ? { payload: Payload; output: Output }
    : Subject extends HostedRunHandle<string, infer Payload, infer Output>
      ? { payload: Payload; output: Output }
      : { payload: Untyped; output: Untyped }

/** Statuses that no run has here: an engine takes up a run and executes it at once, and no service is in between. */
type OtherStatus = 'DEQUEUED' | 'SYSTEM_FAILURE'
const OTHER_STATUSES: readonly unknown[] = ['DEQUEUED', 'SYSTEM_FAILURE'] satisfies OtherStatus[]

/** A status of the hosted service. */
export type HostedRunStatus = RunStatus | OtherStatus

/** A run as it is shown: its payload and output as they were given. */
export type HostedRun<Subject = string> = Omit<
  RetrievedRun,
  'payload' | 'output' | 'metadata' | 'tags' | 'status'
> & {
  status: HostedRunStatus
  tags: string[]
  payload?: TypesOf<Subject>['payload']
  output?: TypesOf<Subject>['output']
  metadata?: Record<string, Untyped>
}

/** Whatever says which run is meant. */
type Subject = AnyHostedTask | { id: string; taskIdentifier: string } | string

type IdFor<S> = S extends AnyHostedTask ? string : S extends string ? string : S

/** Filters of `runs.list`. */
export type HostedListRunsParams = Omit<ListRunsParams, 'status'> & {
  readonly status?: HostedRunStatus | readonly HostedRunStatus[]
}

/** A page that can be iterated: its items, then those of all further pages. */
export interface RunPage extends CursorPage<HostedRun>, AsyncIterable<HostedRun> {
  getNextPage(): Promise<RunPage>
  getPreviousPage(): Promise<RunPage>
}

/** A subscription that can be ended. */
export interface HostedSubscription<S> extends AsyncIterable<HostedRun<S>> {
  withStreams<Streams = Record<string, Untyped>>(): AsyncIterable<SubscriptionPart<Streams, HostedRun<S>>>
  unsubscribe(): void
}

/** Runs, as the hosted service has them. */
export interface HostedRuns {
  retrieve<S extends Subject>(run: IdFor<S>, requestOptions?: RequestOptions): Promise<HostedRun<S>>
  poll<S extends Subject>(
    run: IdFor<S>,
    options?: { pollIntervalMs?: number },
    requestOptions?: RequestOptions,
  ): Promise<HostedRun<S>>
  /** The name of a project is ignored: there is one. */
  list(
    params?: HostedListRunsParams,
    requestOptions?: RequestOptions,
  ): Promise<RunPage> & AsyncIterable<HostedRun>
  list(
    projectRef: string,
    params?: HostedListRunsParams,
    requestOptions?: RequestOptions,
  ): Promise<RunPage> & AsyncIterable<HostedRun>
  cancel(runId: string, requestOptions?: RequestOptions): Promise<{ id: string }>
  /** Rejects with `ERR_HOSTED_ONLY` if it is to change anything of the run. */
  replay(runId: string, options?: object, requestOptions?: RequestOptions): Promise<{ id: string }>
  reschedule(
    runId: string,
    options: { delay: Duration | Date },
    requestOptions?: RequestOptions,
  ): Promise<HostedRun>
  subscribeToRun<S extends Subject>(run: IdFor<S>, options?: object): HostedSubscription<S>
  /** Throws `ERR_HOSTED_ONLY`. */
  subscribeToRunsWithTag(tag: string | string[], ...options: readonly object[]): HostedSubscription<string>
  /** Throws `ERR_HOSTED_ONLY`. */
  subscribeToBatch(batchId: string): HostedSubscription<string>
  fetchStream<Chunk>(runId: string, key: string): Promise<AsyncIterable<Chunk>>
  /** Rejects with `ERR_HOSTED_ONLY`. */
  readonly bulk: Readonly<
    Record<
      'cancel' | 'replay' | 'retrieve' | 'abort' | 'list' | 'poll',
      (...values: readonly unknown[]) => Promise<Untyped>
    >
  >
}

/** A record of the engine as the hosted service would show it. */
function shown<S>(run: Run | RetrievedRun): HostedRun<S> {
  const { payload, output, metadata, tags } = run
  // The engine makes a new one for each caller. The types are those that the caller knows of the task.
  return Object.assign(run as RetrievedRun, {
    tags: [...tags],
    metadata: { ...metadata },
    payload: decodeValue(payload),
    output: decodeValue(output),
  })
}

/** What says which run is meant, for the engine. */
function reference(run: unknown): RunReference {
  return run as RunReference
}

/** The filters as the engine takes them. Without the statuses that no run has, which may be all that were asked for. */
function engineParams(params: HostedListRunsParams = {}): ListRunsParams {
  const asked = [params.status ?? []].flat()
  const status = asked.filter((one): one is RunStatus => !OTHER_STATUSES.includes(one))
  const { period: _period, from: _from, ...others } = params
  // No run was created before this instant.
  return asked.length > 0 && status.length === 0 ? { ...others, status, to: 0 } : { ...params, status }
}

function list(
  first: HostedListRunsParams | string | undefined,
  second: HostedListRunsParams | undefined,
): Promise<RunPage> & AsyncIterable<HostedRun> {
  const pages: CursorPagePromise<Run> = runs.list(engineParams(typeof first === 'string' ? second : first))
  const page = pages.then(pageOf)
  page.catch(() => undefined)
  return Object.assign(page, {
    [Symbol.asyncIterator]: async function* () {
      for await (const run of pages) yield shown<string>(run)
    },
  })
}

function pageOf(page: CursorPage<Run>): RunPage {
  const data = page.data.map((run) => shown<string>(run))
  return {
    ...page,
    data,
    getNextPage: async () => pageOf(await page.getNextPage()),
    getPreviousPage: async () => pageOf(await page.getPreviousPage()),
    [Symbol.asyncIterator]: async function* () {
      yield* data
      if (page.hasNextPage()) yield* pageOf(await page.getNextPage())
    },
  }
}

function subscribe<S>(run: RunReference): HostedSubscription<S> {
  const subscription = runs.subscribeToRun(run)
  const open = new Set<AsyncIterator<unknown>>()
  const following = async function* <Item, Shown>(
    items: AsyncIterable<Item>,
    show: (item: Item) => Shown,
  ): AsyncGenerator<Shown> {
    const iterator = items[Symbol.asyncIterator]()
    open.add(iterator)
    try {
      for (let next = await iterator.next(); next.done !== true; next = await iterator.next())
        yield show(next.value)
    } finally {
      open.delete(iterator)
      await iterator.return?.()
    }
  }
  return {
    [Symbol.asyncIterator]: () => following(subscription, shown<S>),
    withStreams: <Streams>() =>
      following(
        subscription.withStreams<Streams>(),
        (part) => ({ ...part, run: shown<S>(part.run) }) as SubscriptionPart<Streams, HostedRun<S>>,
      ),
    unsubscribe: () => {
      for (const iterator of open) iterator.return?.().catch(() => undefined)
    },
  }
}

const BULK = 'call it for each run of runs.list'

/** `runs`. */
export const hostedRuns: HostedRuns = {
  retrieve: async (run) => shown(await runs.retrieve(reference(run))),
  poll: async (run) => shown(await runs.poll(reference(run))),
  list: (first?: HostedListRunsParams | string, second?: HostedListRunsParams | RequestOptions) =>
    list(first, typeof first === 'string' ? second : undefined),
  cancel: (runId) => runs.cancel(runId),
  replay: async (runId, options = {}) => {
    if (Object.keys(options).length > 0)
      throw hostedOnly('runs.replay with options', 'trigger the task with what is to change')
    const { id } = await runs.replay(runId)
    return { id }
  },
  reschedule: async (runId, { delay }) => shown(await runs.reschedule(runId, { delay })),
  subscribeToRun: (run) => subscribe(reference(run)),
  subscribeToRunsWithTag: () => {
    throw hostedOnly('runs.subscribeToRunsWithTag', 'list the runs with the tag and subscribe to each')
  },
  subscribeToBatch: () => {
    throw hostedOnly('runs.subscribeToBatch', 'subscribe to each run of batch.retrieve')
  },
  fetchStream: async <Chunk>(runId: string, key: string) => streams.read<Chunk>(runId, key),
  bulk: {
    cancel: refusing('runs.bulk.cancel', BULK),
    replay: refusing('runs.bulk.replay', BULK),
    retrieve: refusing('runs.bulk.retrieve', BULK),
    abort: refusing('runs.bulk.abort', BULK),
    list: refusing('runs.bulk.list', BULK),
    poll: refusing('runs.bulk.poll', BULK),
  },
}
