import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireList, requireOptions } from '../../primitives/require.ts'
import { SubtaskUnwrapError } from '../../api/errors.ts'
import { requireJoining, type TransactionOptions } from '../../api/token.ts'
import type { Kernel } from '../kernel.ts'
import { newRun } from './new-run.ts'
import type {
  BatchHandle,
  BatchItem,
  RunHandle,
  SubtaskPromise,
  SubtaskResult,
  TasksNamespace,
  TriggerOptions,
} from '../../api/run.ts'
import { runNotFound } from '../host/not-found.ts'
import type { Attempt, Settlement } from '../attempt/attempt.ts'
import { assertOpen, fenceOf } from '../attempt/attempt.ts'
import { runIdOfToken, runTokenId } from '../../contract/run-states.ts'
import { runFailure } from '../views/run.ts'
import { fromJson, toJson } from '../host/serialize.ts'
import { TriggeredRun } from './triggered-run.ts'
import { implicitKey } from '../waits/key.ts'
import { rejectedWait, Waiter } from '../waits/waiter.ts'
import { validatePayload } from '../attempt/task-definition.ts'

const ITEM_NAMES: OptionNames<BatchItem<never>> = { payload: true, options: true }

/** Triggering, by task id. Payloads and outputs are typed where the task is known; here they are unknown. */
export class EngineTasks implements TasksNamespace {
  readonly #kernel: Kernel

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  trigger(id: string, payload: unknown, options: TriggerOptions = {}): Promise<RunHandle<never>> {
    return this.#kernel.call(() =>
      chain(this.#record(id, { payload, options }), (record) =>
        chain(this.#insert(record, this.#kernel.attempt(), options), (inserted) => this.#handle(inserted)),
      ),
    )
  }

  /** All payloads and options are checked before the first run is stored. */
  async batchTrigger(id: string, items: readonly BatchItem<never>[]): Promise<BatchHandle<never>> {
    const runs = await this.#kernel.call(async () => {
      const records: RunRecord[] = []
      const requests = this.#items(id, items)
      for (const item of requests) records.push(await this.#record(id, item))
      const handles: RunHandle<never>[] = []
      const attempt = this.#kernel.attempt()
      for (const [at, record] of records.entries())
        handles.push(this.#handle(await this.#insert(record, attempt, requests[at]?.options)))
      return handles
    })
    return { runs }
  }

  triggerAndWait(id: string, payload: unknown, options: TriggerOptions = {}): SubtaskPromise<never> {
    try {
      const attempt = this.#kernel.requireAttempt('triggerAndWait')
      return this.#waitFor(attempt, () => this.#child(attempt, id, { payload, options }))
    } catch (error) {
      return rejectedWait(error)
    }
  }

  /** As for `batchTrigger`: all are checked before the first one is stored. */
  async batchTriggerAndWait(
    id: string,
    items: readonly BatchItem<never>[],
  ): Promise<{ readonly runs: readonly SubtaskResult<never>[] }> {
    const attempt = this.#kernel.requireAttempt('batchTriggerAndWait')
    const requests = this.#items(id, items)
    const children = await Promise.all(requests.map(async (request) => this.#child(attempt, id, request)))
    return { runs: await Promise.all(children.map((child) => this.#waitFor(attempt, () => child))) }
  }

  /** The requests of a batch. A bare payload is told from an item by the names it has. */
  #items(id: string, items: readonly BatchItem<never>[]): readonly NewChild[] {
    this.#kernel.tasks.require(id)
    requireList(items, `the items of a batch of task "${id}"`)
    return items.map((item) => {
      requireOptions(item, `an item of a batch of task "${id}"`, ITEM_NAMES)
      const { payload, options = {} } = item
      return { payload, options }
    })
  }

  #waitFor(attempt: Attempt, child: () => Awaitable<RunRecord>): SubtaskPromise<never> {
    const waiter = new Waiter<SubtaskResult<never>, never>(attempt, (token) => this.#readChild(token))
    return this.#kernel.waitpoints.wait(waiter, () =>
      chain(child(), (record) => {
        // Checking the payload may have taken a while.
        assertOpen(attempt)
        return chain(this.#insert(record, attempt), (inserted) => {
          const tokenId = runTokenId(inserted.record.id)
          // Canceled while its child was being stored: no other engine knows yet that it waits for it.
          if (attempt.record.status === 'CANCELED')
            this.#kernel.cancellation.childrenOf(attempt.id, [tokenId])
          return tokenId
        })
      }),
    )
  }

  /** The record of a child run; its place among the waits of the run is taken at once, whatever checking it takes. */
  #child(attempt: Attempt, id: string, request: NewChild): Awaitable<RunRecord> {
    this.#kernel.tasks.require(id)
    if (request.options.transaction !== undefined)
      throw new TypeError(
        `Cannot wait for a run of task "${id}" in a transaction: it would wait for its commit`,
      )
    const payloadJson = toJson(request.payload, 'the payload of task', id)
    const key = implicitKey(attempt, 'trigger', { id, payloadJson, options: request.options })
    return this.#record(id, request, { attempt, key })
  }

  #readChild(token: TokenRecord): Awaitable<Settlement<SubtaskResult<never>, never>> {
    const runId = runIdOfToken(token.id) ?? token.id
    return chain(this.#kernel.host.storage.runs.get(runId), (record) => {
      if (record === undefined) throw runNotFound(runId)
      return childSettlement(record)
    })
  }

  #record(
    id: string,
    { payload, options }: NewChild,
    child?: { readonly attempt: Attempt; readonly key: RunRecord['key'] },
  ): Awaitable<RunRecord> {
    const { host, tasks } = this.#kernel
    const definition = tasks.require(id)
    requireJoining(host.storage, options, `trigger task "${id}"`)
    const attempt = child?.attempt ?? this.#kernel.attempt()
    const context = { parent: attempt?.record, key: child?.key }
    const create = (): RunRecord => newRun(host, definition, { payload, options, context })
    if (definition.schema === undefined) return create()
    return validatePayload(definition, payload).then(() => {
      // Checking may have taken a while.
      assertOpen(attempt)
      return create()
    })
  }

  #insert(
    record: RunRecord,
    attempt: Attempt | undefined,
    { transaction }: TransactionOptions = {},
  ): Awaitable<Inserted<RunRecord>> {
    const { host, publisher } = this.#kernel
    // Checking the payload may have taken a while.
    if (host.isClosed) throw host.closedError()
    const request = { record, fence: fenceOf(attempt), transaction, now: host.now(), by: host.owner }
    const answer = this.#kernel.written(attempt, host.storage.runs.insert(request))
    // It is not there yet, and may never be: the storage tells when it is.
    if (transaction !== undefined) return answer
    return chain(publisher.created(record, answer), (inserted) => {
      // Also of a cached one: the answer to the call that stored it may have been lost.
      if (!host.isClosed) this.#expect(inserted.record)
      return inserted
    })
  }

  /** Sees to it that a run is executed when it may be. */
  #expect({ id, status, wakeAt, expiresAt }: RunRecord): void {
    const { claimer, delayed, ticker } = this.#kernel
    if (status === 'QUEUED') claimer.poke()
    if (status === 'DELAYED' && wakeAt !== undefined) delayed.add(id, wakeAt)
    if (status === 'QUEUED' || status === 'DELAYED') {
      if (expiresAt !== undefined) ticker.dueAt(expiresAt, `run ${id}`)
    }
  }

  #handle({ record, isCached }: Inserted<RunRecord>): RunHandle<never> {
    return new TriggeredRun(this.#kernel, record, isCached)
  }
}

interface NewChild {
  readonly payload: unknown
  readonly options: TriggerOptions
}

function childSettlement(record: RunRecord): Settlement<SubtaskResult<never>, never> {
  const { id, taskId: taskIdentifier } = record
  if (record.status === 'COMPLETED') {
    // As for handles: the type of the output is the task's.
    const output = fromJson(record.outputJson) as never
    return { result: { ok: true, id, taskIdentifier, output }, output }
  }
  const error = runFailure(record)
  return {
    result: { ok: false, id, taskIdentifier, error },
    error: new SubtaskUnwrapError(taskIdentifier, id, error),
  }
}
