import type { RunExplanation } from '../../api/explanation.ts'
import { cursorPages, type CursorPagePromise } from '../../api/cursor-page.ts'
import {
  runId,
  type ListRunsParams,
  type RescheduleOptions,
  type RetrievedRun,
  type Run,
  type RunReference,
  type RunSubscription,
} from '../../api/run.ts'
import { isFinal } from '../../contract/run-states.ts'
import { type OptionNames, requireOptions, requireSignal } from '../../primitives/require.ts'
import {
  type Address,
  CANCEL_RUN_ADDRESS,
  CONTINUE_RUN_ADDRESS,
  EXPLAIN_RUN_ADDRESS,
  LIST_RUNS_ADDRESS,
  REPLAY_RUN_ADDRESS,
  RESCHEDULE_RUN_ADDRESS,
  RETRIEVE_RUN_ADDRESS,
} from '../../hosted/addresses.ts'
import { ACCESS_TOKEN } from '../../hosted/headers.ts'
import { ROOT_FILTER, RUN_TAG_FILTER, TASK_FILTER } from '../../hosted/list-parameters.ts'
import type { CallOptions, ClientRuns, FollowOptions, RemoteRunHandle } from '../namespaces.ts'
import type { Part } from '../following/followed-run.ts'
import { runParts, runStates } from '../following/run-parts.ts'
import { Following } from '../following/following.ts'
import { decodePage } from './list-page.ts'
import { joined, listQuery } from './list-query.ts'
import type { Packets } from '../wire/packets.ts'
import { RemoteRun } from './remote-run.ts'
import type { WatchedRun } from '../following/run-updates.ts'
import type { ApiAnswer, Transport } from '../connection/transport.ts'
import { checkCallOptions, checkedFilters, checkFollowOptions } from './wait.ts'
import { TAG_NAMES, wantedTags } from '../../api/tag-filter.ts'
import { readExplanation } from '../wire/explanation.ts'
import { wireDeadline } from '../wire/durations.ts'
import { WireRecord } from '../wire/record.ts'
import { readListedRun, readRetrievedRun } from '../wire/run.ts'

const LIST_NAMES: OptionNames<ListRunsParams & CallOptions> = {
  status: true,
  taskIdentifier: true,
  root: true,
  ...TAG_NAMES,
  period: true,
  from: true,
  to: true,
  limit: true,
  after: true,
  before: true,
  signal: true,
}

const RESCHEDULE_NAMES: OptionNames<RescheduleOptions & CallOptions> = { delay: true, signal: true }

/**
 * Runs over HTTP. Payloads and outputs have the types of the task that the caller names; otherwise they are `unknown`.
 */
export class RunsCalls implements ClientRuns {
  readonly #transport: Transport
  readonly #packets: Packets

  constructor(transport: Transport, packets: Packets) {
    this.#transport = transport
    this.#packets = packets
  }

  async retrieve(run: RunReference, options: CallOptions = {}): Promise<RetrievedRun<never, never>> {
    checkCallOptions(options, 'runs.retrieve')
    // The caller names the task, so payload and output have the types of that task.
    return (await this.#retrieve(runId(run), options.signal)) as RetrievedRun<never, never>
  }

  list(params: ListRunsParams & CallOptions = {}): CursorPagePromise<Run> {
    return cursorPages(
      async (cursor) => {
        const query = {
          ...listQuery(params, cursor),
          [TASK_FILTER]: joined(params.taskIdentifier, 'taskIdentifier'),
          [ROOT_FILTER]: params.root,
          [RUN_TAG_FILTER]: joined(wantedTags(params), 'tags'),
        }
        const request = { address: LIST_RUNS_ADDRESS, query } as const
        return decodePage(await this.#transport.call(request, params.signal), readListedRun)
      },
      () => checkedFilters(params, 'runs.list', LIST_NAMES),
    )
  }

  async poll(run: RunReference, options: CallOptions = {}): Promise<RetrievedRun<never, never>> {
    checkCallOptions(options, 'runs.poll')
    // See `retrieve`.
    const ended = await this.#ended(runId(run), options.signal)
    const retrieved = 'waitingOn' in ended ? ended : await this.#retrieve(ended.id, options.signal)
    return retrieved as RetrievedRun<never, never>
  }

  async cancel(run: RunReference, options: CallOptions = {}): Promise<{ readonly id: string }> {
    const id = runId(run)
    checkCallOptions(options, 'runs.cancel')
    await this.#call(CANCEL_RUN_ADDRESS, id, options)
    return { id }
  }

  async replay(run: RunReference, options: CallOptions = {}): Promise<RemoteRunHandle<unknown>> {
    const id = runId(run)
    checkCallOptions(options, 'runs.replay')
    const answer = await this.#call(REPLAY_RUN_ADDRESS, id, options)
    return this.handle(answer, '')
  }

  async continueWith(run: RunReference, options: CallOptions = {}): Promise<RetrievedRun<never, never>> {
    const id = runId(run)
    checkCallOptions(options, 'runs.continueWith')
    const { body } = await this.#call(CONTINUE_RUN_ADDRESS, id, options)
    // See `retrieve`.
    return (await this.#readRun(body, options.signal)) as RetrievedRun<never, never>
  }

  async explain(run: RunReference, options: CallOptions = {}): Promise<RunExplanation> {
    const id = runId(run)
    checkCallOptions(options, 'runs.explain')
    return readExplanation((await this.#call(EXPLAIN_RUN_ADDRESS, id, options)).body)
  }

  async reschedule(
    run: RunReference,
    options: RescheduleOptions & CallOptions,
  ): Promise<RetrievedRun<never, never>> {
    const id = runId(run)
    requireOptions(options, 'the options of runs.reschedule', RESCHEDULE_NAMES)
    requireSignal(options.signal, 'signal')
    const { signal } = options
    const change = JSON.stringify({ delay: wireDeadline(options.delay, 'delay') })
    const { body } = await this.#call(RESCHEDULE_RUN_ADDRESS, id, { signal, body: change })
    // See `retrieve`.
    return (await this.#readRun(body, signal)) as RetrievedRun<never, never>
  }

  subscribeToRun(run: RunReference, options: FollowOptions = {}): RunSubscription<never> {
    const id = runId(run)
    checkFollowOptions(options, 'runs.subscribeToRun')
    const signals = [this.#transport.settings.signal, options.signal]
    const watch = (signal: AbortSignal): WatchedRun => ({
      ...options,
      ...this.#watched(id, signal),
    })
    const runs = (): Following<Run> => new Following((signal) => runStates(watch(signal)), signals)
    const parts = (): Following<Part> => new Following((signal) => runParts(watch(signal)), signals)
    return {
      // The caller names the task, so payload, output and chunks have the types of that task.
      [Symbol.asyncIterator]: () => runs() as Following<never>,
      withStreams: () => ({ [Symbol.asyncIterator]: () => parts() as Following<never> }),
    }
  }

  /** The handle for the answer to a trigger request. */
  handle<Output>({ body, headers }: ApiAnswer, taskIdentifier: string): RemoteRun<Output> {
    const wire = new WireRecord(body, 'a run')
    return new RemoteRun<Output>({
      id: wire.requiredText('id'),
      isCached: wire.flag('isCached') ?? false,
      publicAccessToken: wire.text('publicAccessToken') ?? headers.get(ACCESS_TOKEN) ?? '',
      taskIdentifier,
      ended: (id, signal) => this.#ended(id, signal),
    })
  }

  async #retrieve(id: string, signal: AbortSignal | undefined): Promise<RetrievedRun> {
    const { body } = await this.#call(RETRIEVE_RUN_ADDRESS, id, { signal })
    return this.#readRun(body, signal)
  }

  #readRun(body: unknown, signal: AbortSignal | undefined): Promise<RetrievedRun> {
    return readRetrievedRun(new WireRecord(body, 'a run'), this.#packets, signal)
  }

  /** Resolves with the run when it has ended: as it is told, because its service may close then. */
  async #ended(id: string, signal: AbortSignal | undefined): Promise<Run | RetrievedRun> {
    const current = await this.#retrieve(id, signal)
    if (isFinal(current.status)) return current
    const updates = new Following(
      (ended) => runStates(this.#watched(id, ended)),
      [this.#transport.settings.signal, signal],
    )
    for await (const run of updates) if (isFinal(run.status)) return run
    return this.#retrieve(id, signal)
  }

  #watched(id: string, signal: AbortSignal): WatchedRun {
    const assertExists = (): Promise<unknown> => this.#retrieve(id, signal)
    return { transport: this.#transport, packets: this.#packets, id, assertExists, signal }
  }

  #call(
    address: Address,
    id: string,
    { signal, ...sent }: { readonly signal?: AbortSignal | undefined; readonly body?: string },
  ): Promise<ApiAnswer> {
    return this.#transport.call({ address, ids: [id], ...sent }, signal)
  }
}
