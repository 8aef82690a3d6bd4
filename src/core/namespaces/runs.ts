import type { RunRecord } from '../../contract/records.ts'
import type { OptionNames } from '../../primitives/require.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import { cursorPages } from '../../api/cursor-page.ts'
import type { Kernel } from '../kernel.ts'
import { rescheduleRun } from './reschedule.ts'
import {
  runId,
  type ListRunsParams,
  type RescheduleOptions,
  type RetrievedRun,
  type Run,
  type RunHandle,
  type RunReference,
  type RunsNamespace,
  type RunSubscription,
} from '../../api/run.ts'
import { readRun } from '../reading/run-changes.ts'
import { finalRecord } from '../reading/run-results.ts'
import { fenceOf } from '../attempt/attempt.ts'
import { isFinal, RUN_STATUSES } from '../../contract/run-states.ts'
import { viewRetrievedRun, viewRun } from '../views/run.ts'
import { subscribeToRun } from '../reading/subscription.ts'
import { checkedList, createdBounds, LIST_NAMES, listOf, pageLimit, statusesOf } from './token-list.ts'
import { TriggeredRun } from './triggered-run.ts'

const FILTERS: OptionNames<ListRunsParams> = { ...LIST_NAMES, taskIdentifier: true, tag: true }

/** Runs of one engine. Payloads and outputs are typed where the task is known; here they are unknown. */
export class EngineRuns implements RunsNamespace {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  async retrieve(run: RunReference): Promise<RetrievedRun<never, never>> {
    return this.#view(await readRun(this.#kernel, runId(run)))
  }

  list(params: ListRunsParams = {}): CursorPagePromise<Run> {
    const { host } = this.#kernel
    return cursorPages(
      async ({ after, before }) => {
        const page = await this.#kernel.call(() => {
          const filter = {
            status: statusesOf(params.status, RUN_STATUSES),
            taskIds: listOf(params.taskIdentifier, 'taskIdentifier'),
            tags: listOf(params.tag, 'tag'),
            ...createdBounds(params, host.now()),
          }
          return host.storage.runs.list(filter, { limit: pageLimit(params.limit), after, before })
        })
        return { ...page, data: page.records.map(viewRun) }
      },
      () => checkedList(params, 'runs.list', FILTERS),
    )
  }

  async poll(run: RunReference): Promise<RetrievedRun<never, never>> {
    return this.#view(await finalRecord(this.#kernel, runId(run)))
  }

  async cancel(run: RunReference): Promise<{ readonly id: string }> {
    const id = runId(run)
    await this.#kernel.cancellation.cancel(id)
    return { id }
  }

  async replay(run: RunReference): Promise<RunHandle<unknown>> {
    const original = await readRun(this.#kernel, runId(run))
    const { host, tasks, publisher, claimer } = this.#kernel
    tasks.require(original.taskId)
    const { record } = await this.#kernel.call(() => {
      const record = replayOf(original, host.newId('run'), host.now())
      const attempt = this.#kernel.attempt()
      const request = { record, fence: fenceOf(attempt), now: host.now(), by: host.owner }
      return publisher.created(record, this.#kernel.written(attempt, host.storage.runs.insert(request)))
    })
    claimer.poke()
    return new TriggeredRun(this.#kernel, record, false)
  }

  async reschedule(run: RunReference, options: RescheduleOptions): Promise<RetrievedRun<never, never>> {
    return this.#view(await rescheduleRun(this.#kernel, runId(run), options))
  }

  subscribeToRun(run: RunReference): RunSubscription<never> {
    return subscribeToRun(this.#kernel, runId(run))
  }

  async #view(record: RunRecord): Promise<RetrievedRun<never, never>> {
    const waits = isFinal(record.status)
      ? []
      : await this.#kernel.call(() => this.#kernel.host.storage.runs.waits(record.id))
    // Payload and output are of the types of the task, which the caller names.
    return viewRetrievedRun(record, waits) as RetrievedRun<never, never>
  }
}

function replayOf(original: RunRecord, id: string, now: number): RunRecord {
  const { taskId, payloadJson, tags, queue, concurrencyKey, optionsJson } = original
  return {
    id,
    taskId,
    status: 'QUEUED',
    payloadJson,
    attempt: 0,
    policyAttempt: 0,
    interruptions: 0,
    epoch: 0,
    slot: false,
    returned: false,
    rootId: id,
    tags,
    streams: [],
    queue,
    concurrencyKey,
    optionsJson,
    createdAt: now,
    updatedAt: now,
  }
}
