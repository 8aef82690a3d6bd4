import type { RunRecord } from '../../contract/records.ts'
import type { RunUpdated } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { idOf, show } from '../../primitives/require.ts'
import type { OptionNames } from '../../primitives/require.ts'
import type { CursorPagePromise } from '../../api/cursor-page.ts'
import { cursorPages } from '../../api/cursor-page.ts'
import { GRACE_MS } from '../execution/attempt-times.ts'
import type { Kernel } from '../kernel.ts'
import { rescheduleRun } from './reschedule.ts'
import type {
  ListRunsParams,
  RescheduleOptions,
  RetrievedRun,
  Run,
  RunHandle,
  RunReference,
  RunsNamespace,
  RunSubscription,
} from '../../api/run.ts'
import { finalRecord, runNotFound } from '../reading/run-results.ts'
import { fenceOf, outsideRuns } from '../attempt/attempt.ts'
import { isFinal, RUN_STATUSES, runIdOfToken } from '../../contract/run-states.ts'
import { viewRetrievedRun, viewRun } from '../reading/run-view.ts'
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
    return this.#view(await this.#require(runId(run)))
  }

  list(params: ListRunsParams = {}): CursorPagePromise<Run> {
    const { host } = this.#kernel.parts
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
    for (;;) {
      const record = await this.#require(id)
      if (isFinal(record.status)) {
        // The answer to the call that ended the run may have been lost, and with it the news.
        const { executor, journal } = this.#kernel.parts
        const waited = record.status === 'CANCELED' ? executor.canceled(record) : []
        journal.touched(id)
        await this.cancelChildren(id, waited)
        return { id }
      }
      const waits = await this.#kernel.call(() => this.#kernel.parts.host.storage.runs.waits(id))
      const waited = await this.#kernel.call(() =>
        chain(this.#cancelRecord(record), (answer) => this.#canceled(answer)),
      )
      if (waited === undefined) continue
      // Of both: it may not execute here, and it may have begun to wait since storage was asked.
      await this.cancelChildren(id, [...waits.map((token) => token.id), ...waited])
      return { id }
    }
  }

  /**
   * Of those that a run waited for with these tokens, only children of its own: a run that was found by its key is somebody
   * else's. Called outside of any run: the one that is canceled may be the one that calls.
   */
  async cancelChildren(parentId: string, tokenIds: readonly string[]): Promise<void> {
    const children = [...new Set(tokenIds)].map(runIdOfToken).filter((child) => child !== undefined)
    const cancelOwn = async (childId: string): Promise<void> => {
      if ((await this.#require(childId)).parentId === parentId) await this.cancel(childId)
    }
    await outsideRuns(() => Promise.all(children.map(cancelOwn)))
  }

  async replay(run: RunReference): Promise<RunHandle<unknown>> {
    const original = await this.#require(runId(run))
    const { host, tasks, journal, executor } = this.#kernel.parts
    tasks.require(original.taskId)
    const { record } = await this.#kernel.call(() => {
      const record = replayOf(original, host.newId('run'), host.now())
      const scope = this.#kernel.scope()
      const request = { record, fence: fenceOf(scope), now: host.now(), by: host.owner }
      return journal.created(record, this.#kernel.written(scope, host.storage.runs.insert(request)))
    })
    executor.poke()
    return new TriggeredRun(this.#kernel, record, false)
  }

  async reschedule(run: RunReference, options: RescheduleOptions): Promise<RetrievedRun<never, never>> {
    return this.#view(await rescheduleRun(this.#kernel, runId(run), options))
  }

  subscribeToRun(run: RunReference): RunSubscription<never> {
    return subscribeToRun(this.#kernel, runId(run))
  }

  #require(id: string): Promise<RunRecord> {
    return this.#kernel.call(() =>
      chain(this.#kernel.parts.host.storage.runs.get(id), (record) => {
        if (record === undefined) throw runNotFound(id)
        return record
      }),
    )
  }

  async #view(record: RunRecord): Promise<RetrievedRun<never, never>> {
    const waits = isFinal(record.status)
      ? []
      : await this.#kernel.call(() => this.#kernel.parts.host.storage.runs.waits(record.id))
    // Payload and output are of the types of the task, which the caller names.
    return viewRetrievedRun(record, waits) as RetrievedRun<never, never>
  }

  /** A run that executes keeps its slot until its function has settled, or for 5 s. */
  #cancelRecord(record: RunRecord): RunUpdated | undefined | Promise<RunUpdated | undefined> {
    const { host, ticker } = this.#kernel.parts
    const now = host.now()
    const asked = host.storage.runs.update({
      id: record.id,
      // A run that parked or resumed since it was read holds another slot: it is read again.
      expected: { status: [record.status], epoch: record.epoch },
      change: {
        status: 'CANCELED',
        epoch: record.epoch + 1,
        finishedAt: now,
        slot: record.slot,
        slotUntil: record.slot ? now + GRACE_MS : undefined,
      },
      by: host.owner,
      now,
    })
    // It may be stored all the same: who waits for the run is told by the tick that comes.
    if (isPromise(asked)) asked.catch(() => ticker.catchUp('a cancel that failed'))
    return asked
  }

  /** The tokens that the run waited for here, once it is canceled. */
  #canceled(updated: RunUpdated | undefined): readonly string[] | undefined {
    if (updated === undefined) return undefined
    const { journal, executor, ticker } = this.#kernel.parts
    const waited = executor.canceled(updated.record)
    journal.run(updated.record)
    ticker.settled(updated.record.wakeAt)
    if (updated.record.slotUntil !== undefined)
      ticker.expect(updated.record.slotUntil, `run ${updated.record.id}`)
    return waited
  }
}

/** The id of a run, checked. */
export function runId(run: RunReference): string {
  const id = idOf(run)
  if (typeof id === 'string' && id !== '') return id
  throw new TypeError(`Cannot use ${show(run)} as a run: give its id, or what trigger answered`)
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
