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
import type { CallOptions, ClientRuns, RemoteRunHandle } from '../namespaces.ts'
import type { Part } from '../following/followed-run.ts'
import { runParts, runStates } from '../following/run-parts.ts'
import { Following } from '../following/following.ts'
import { decodePage } from './list-page.ts'
import { joined, listQuery } from './list-query.ts'
import type { Packets } from '../wire/packets.ts'
import { RemoteRun } from './remote-run.ts'
import type { WatchedRun } from '../following/run-updates.ts'
import type { ApiAnswer, Transport } from '../connection/transport.ts'
import { checkCallOptions, checkedFilters } from './wait.ts'
import { TAG_NAMES, wantedTags } from '../../api/tag-filter.ts'
import { readExplanation } from '../wire/explanation.ts'
import { wireDeadline } from '../wire/durations.ts'
import { WireRecord } from '../wire/record.ts'
import { readListedRun, readRetrievedRun } from '../wire/run.ts'

const LIST_NAMES: OptionNames<ListRunsParams & CallOptions> = {
  status: true,
  taskIdentifier: true,
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
          'filter[taskIdentifier]': joined(params.taskIdentifier, 'taskIdentifier'),
          'filter[tag]': joined(wantedTags(params), 'tags'),
        }
        const request = { path: '/api/v1/runs', query, subject: { kind: 'run', id: '' } } as const
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
    await this.#post(`/api/v2/runs/${encodeURIComponent(id)}/cancel`, id, options)
    return { id }
  }

  async replay(run: RunReference, options: CallOptions = {}): Promise<RemoteRunHandle<unknown>> {
    const id = runId(run)
    checkCallOptions(options, 'runs.replay')
    const answer = await this.#post(`/api/v1/runs/${encodeURIComponent(id)}/replay`, id, options)
    return this.handle(answer, '')
  }

  async continueWith(run: RunReference, options: CallOptions = {}): Promise<RetrievedRun<never, never>> {
    const id = runId(run)
    checkCallOptions(options, 'runs.continueWith')
    const { body } = await this.#post(`/api/v1/runs/${encodeURIComponent(id)}/continue`, id, options)
    // See `retrieve`.
    return (await this.#readRun(body, options.signal)) as RetrievedRun<never, never>
  }

  async explain(run: RunReference, options: CallOptions = {}): Promise<RunExplanation> {
    const id = runId(run)
    checkCallOptions(options, 'runs.explain')
    const path = `/api/v1/runs/${encodeURIComponent(id)}/explanation`
    const { body } = await this.#transport.call({ path, subject: { kind: 'run', id } }, options.signal)
    return readExplanation(body)
  }

  async reschedule(
    run: RunReference,
    options: RescheduleOptions & CallOptions,
  ): Promise<RetrievedRun<never, never>> {
    const id = runId(run)
    requireOptions(options, 'the options of runs.reschedule', RESCHEDULE_NAMES)
    requireSignal(options.signal, 'signal')
    const { signal } = options
    const sent = JSON.stringify({ delay: wireDeadline(options.delay, 'delay') })
    const path = `/api/v1/runs/${encodeURIComponent(id)}/reschedule`
    const { body } = await this.#transport.call(
      { method: 'POST', path, body: sent, subject: { kind: 'run', id } },
      signal,
    )
    // See `retrieve`.
    return (await this.#readRun(body, signal)) as RetrievedRun<never, never>
  }

  subscribeToRun(run: RunReference, options: CallOptions = {}): RunSubscription<never> {
    const id = runId(run)
    checkCallOptions(options, 'runs.subscribeToRun')
    const signals = [this.#transport.settings.signal, options.signal]
    const watch = (signal: AbortSignal): WatchedRun => this.#watched(id, signal)
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
      publicAccessToken: wire.text('publicAccessToken') ?? headers.get('x-trigger-jwt') ?? '',
      taskIdentifier,
      ended: (id, signal) => this.#ended(id, signal),
    })
  }

  async #retrieve(id: string, signal: AbortSignal | undefined): Promise<RetrievedRun> {
    const path = `/api/v3/runs/${encodeURIComponent(id)}`
    const { body } = await this.#transport.call({ path, subject: { kind: 'run', id } }, signal)
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

  #post(path: string, id: string, { signal }: CallOptions): Promise<ApiAnswer> {
    return this.#transport.call({ method: 'POST', path, subject: { kind: 'run', id } }, signal)
  }
}
