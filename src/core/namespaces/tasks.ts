import type { KeyRecord, RunRecord, RunStatus, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted, RunInsert, RunPush } from '../../contract/storage.ts'
import { chain, isPromise, mayBeLeft } from '../../primitives/awaitable.ts'
import { withoutStack } from '../../primitives/without-stack.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireList, requireOptions } from '../../primitives/require.ts'
import { SubtaskUnwrapError, WaitpointError } from '../../api/errors.ts'
import { requireJoining } from '../../api/token.ts'
import { marksOf } from '../../api/trigger-marks.ts'
import type { Kernel } from '../kernel.ts'
import { runBinding, pushOf, readDebounce, requireDebouncing } from './debounce.ts'
import { checkPlacement, newRun, type NewRunRequest } from './new-run.ts'
import type {
  BatchHandle,
  BatchItem,
  RunHandle,
  SubtaskPromise,
  SubtaskResult,
  TasksNamespace,
  TriggerOptions,
} from '../../api/run.ts'
import { readOverrides } from '../host/overrides.ts'
import { runNotFound } from '../../api/not-found.ts'
import { GET_RUN, INSERT_CHILD, INSERT_RUN } from '../host/storage-calls.ts'
import type { Attempt, Settlement } from '../attempt/attempt.ts'
import { assertOpen, fenceOf } from '../attempt/attempt.ts'
import { isFinal, runIdOfToken, runTokenId } from '../../contract/run-states.ts'
import { runFailure } from '../views/run.ts'
import { fromJson, toJson } from '../../api/serialize.ts'
import { type Values, valuesFor } from '../../api/values.ts'
import { TriggeredRun } from './triggered-run.ts'
import { passPlace } from '../waits/key.ts'
import { rejectedWait } from '../waits/waiter.ts'
import { type TaskDefinition, validatePayload } from '../../api/task-definition.ts'

const ITEM_NAMES: OptionNames<BatchItem<never>> = { payload: true, options: true }

/** Triggering, by task id. Payloads and outputs are typed where the task is known; here they are unknown. */
export class EngineTasks implements TasksNamespace {
  readonly #kernel: Kernel
  readonly #values: Values

  constructor(kernel: Kernel, values: Values) {
    this.#kernel = kernel
    this.#values = values
  }

  trigger(id: string, payload?: unknown, options: TriggerOptions = {}): Promise<RunHandle<never>> {
    return this.#kernel.call((attempt) => {
      const record = this.#record(attempt, id, this.#request(id, payload, options))
      return isPromise(record)
        ? record.then((checked) => this.#triggered(checked, attempt, options))
        : this.#triggered(record, attempt, options)
    })
  }

  #triggered(
    record: RunRecord,
    attempt: Attempt | undefined,
    options: TriggerOptions,
  ): Awaitable<RunHandle<never>> {
    const inserted = this.#insert(record, attempt, options)
    const named = marksOf(options)?.named
    return isPromise(inserted)
      ? inserted.then((answer) => new TriggeredRun(this.#kernel, answer, named))
      : new TriggeredRun(this.#kernel, inserted, named)
  }

  /** All payloads and options are checked before the first run is stored. */
  batchTrigger(id: string, items: readonly BatchItem<never>[]): Promise<BatchHandle<never>> {
    return this.#kernel.call(async (attempt) => {
      const records: RunRecord[] = []
      const requests = this.#items(id, items)
      for (const item of requests) {
        await this.#kernel.breath.turn()
        records.push(await this.#record(attempt, id, item))
      }
      const handles: RunHandle<never>[] = []
      for (const record of records) {
        // One call from outside: a run has turns with each call of storage.
        if (attempt === undefined) await this.#kernel.breath.turn()
        handles.push(
          new TriggeredRun(
            this.#kernel,
            await this.#insert(record, attempt, requests[handles.length]?.options),
          ),
        )
      }
      return { runs: handles }
    })
  }

  /** Stores a run that is not triggered by a caller, unless its key has a run already. */
  store(
    id: string,
    { payload, key, mark }: { readonly payload: unknown; readonly key: KeyRecord; readonly mark: number },
  ): Awaitable<unknown> {
    const definition = this.#kernel.tasks.require(id)
    const request = { payload, options: {}, context: { key } }
    // A title is made of the payload as the schema reads it.
    const isRead = definition.options.title !== undefined && definition.schema !== undefined
    const record = isRead
      ? this.#checked(undefined, definition, request)
      : newRun(this.#kernel, definition, request)
    return chain(record, (made) => this.#insert(made, undefined, { mark }))
  }

  triggerAndWait(id: string, payload?: unknown, options: TriggerOptions = {}): SubtaskPromise<never> {
    try {
      const attempt = this.#kernel.requireRunning('triggerAndWait')
      return this.#waitFor(attempt, options, () =>
        this.#child(attempt, id, this.#request(id, payload, options))(),
      )
    } catch (error) {
      return rejectedWait(() => this.#kernel.refused(error))
    }
  }

  /** As for `batchTrigger`: all are checked before the first one is stored. Like other waits, it need not be awaited. */
  batchTriggerAndWait(
    id: string,
    items: readonly BatchItem<never>[],
  ): Promise<{ readonly runs: readonly SubtaskResult<never>[] }> {
    let batch: Promise<{ readonly runs: readonly SubtaskResult<never>[] }>
    try {
      const attempt = this.#kernel.requireRunning('batchTriggerAndWait')
      batch = this.#waitForBatch(attempt, id, this.#items(id, items))
    } catch (error) {
      batch = this.#kernel.refused(error)
    }
    return mayBeLeft(batch)
  }

  async #waitForBatch(
    attempt: Attempt,
    id: string,
    requests: readonly NewChild[],
  ): Promise<{ readonly runs: readonly SubtaskResult<never>[] }> {
    // Their places are taken at once, whatever else the run does meanwhile.
    const placed = requests.map((request) => this.#child(attempt, id, request))
    const children: Child[] = []
    for (const child of placed) {
      await this.#kernel.breath.turn()
      children.push(await child())
    }
    // Each is that of the request at its place.
    const waits: SubtaskPromise<never>[] = []
    for (const child of children) {
      await this.#kernel.breath.turn(attempt)
      waits.push(this.#waitFor(attempt, requests[waits.length]?.options as TriggerOptions, () => child))
    }
    return { runs: await Promise.all(waits) }
  }

  /** The requests of a batch. A bare payload is told from an item by the names it has. */
  #items(id: string, items: readonly BatchItem<never>[]): readonly NewChild[] {
    this.#kernel.tasks.require(id)
    requireList(items, `the items of a batch of task "${id}"`)
    return items.map((item) => {
      requireOptions(item, `an item of a batch of task "${id}"`, ITEM_NAMES)
      const { payload, options = {} } = item
      return this.#request(id, payload, options)
    })
  }

  /** The values of the caller as they are stored. */
  #request(id: string, payload: unknown, options: TriggerOptions): NewChild {
    return { payload: this.#values.encode(payload, 'the payload of task', id), options }
  }

  #waitFor(attempt: Attempt, options: TriggerOptions, child: () => Awaitable<Child>): SubtaskPromise<never> {
    const { waitpoints } = this.#kernel
    const waiter = waitpoints.waiter<SubtaskResult<never>, never>(attempt, (token) =>
      this.#readChild(attempt, token),
    )
    return waitpoints.wait(waiter, () =>
      chain(child(), ({ record, place }) => {
        // Checking the payload may have taken a while.
        assertOpen(attempt)
        return chain(this.#insert(record, attempt, { call: INSERT_CHILD, place, ...options }), (inserted) => {
          const tokenId = runTokenId(inserted.record.id)
          marksOf(options)?.stored?.(inserted.record.id)
          if (inserted.isCached) return chain(this.#assertNoCycle(attempt, inserted.record), () => tokenId)
          // Canceled while its child was being stored: no other engine knows yet that it waits for it.
          if (attempt.record.status === 'CANCELED')
            this.#kernel.cancellation.childrenOf(attempt.id, [tokenId])
          return tokenId
        })
      }),
    )
  }

  /** A run that waits for itself, or for a run that waits for it, would wait for ever. */
  #assertNoCycle({ record: { id, rootId, parentId } }: Attempt, awaited: RunRecord): Awaitable<void> {
    if (awaited.rootId !== rootId || isFinal(awaited.status)) return undefined
    const climb = (at: string | undefined): Awaitable<void> => {
      if (at === awaited.id)
        throw new WaitpointError(
          'ERR_WAIT_CYCLE',
          `Cannot wait for run "${awaited.id}" in run "${id}": it is the run itself, or one above it that waits for it`,
        )
      if (at === undefined) return undefined
      return chain(this.#kernel.asked(GET_RUN, at), (above) => climb(above?.parentId))
    }
    return climb(awaited.id === id ? id : parentId)
  }

  /** Makes a child run; its place among the waits of the run is taken at once, before it is checked. */
  #child(attempt: Attempt, id: string, request: NewChild): () => Awaitable<Child> {
    this.#kernel.tasks.require(id)
    if (request.options.transaction !== undefined)
      throw new TypeError(
        `Cannot wait for a run of task "${id}" in a transaction: it would wait for its commit`,
      )
    const payloadJson = toJson(request.payload, 'the payload of task', id)
    const { name, idempotencyKey, queue, concurrencyKey, tags, debounce } = request.options
    checkPlacement(request.options)
    readDebounce(id, request.options, this.#kernel.host.now())
    if (idempotencyKey !== undefined) {
      passPlace('trigger', id)
      const told = this.#kernel.tell(attempt, 'trigger', idempotencyKey)
      if (isPromise(told)) void mayBeLeft(told)
      return () => chain(told, () => chain(this.#record(attempt, id, request), (record) => ({ record })))
    }
    const content = [id, payloadJson, queue && { name: queue.name }, concurrencyKey, tags, debounce?.key]
    const place = this.#kernel.place(attempt, { kind: 'trigger', name, content })
    return () => chain(this.#record(attempt, id, { key: place, ...request }), (record) => ({ record, place }))
  }

  #readChild(attempt: Attempt, token: TokenRecord): Awaitable<Settlement<SubtaskResult<never>, never>> {
    const runId = runIdOfToken(token.id) ?? token.id
    return this.#kernel.outage.ask({ attempt, call: GET_RUN, request: runId }, (record) => {
      if (record === undefined) throw runNotFound(runId)
      return childSettlement(record, this.#values)
    })
  }

  #record(
    attempt: Attempt | undefined,
    id: string,
    { payload, options, key }: NewChild,
  ): Awaitable<RunRecord> {
    const { host, tasks } = this.#kernel
    const definition = tasks.require(id)
    if (options.transaction !== undefined) requireJoining(host.storage, `trigger task "${id}"`)
    if (options.debounce !== undefined) requireDebouncing(host.storage, `trigger task "${id}"`)
    const request = { payload, options, context: { parent: attempt?.record, key } }
    return definition.schema === undefined
      ? newRun(this.#kernel, definition, request)
      : this.#checked(attempt, definition, request)
  }

  /** Apart from `#record`, which would pay for what this captures. */
  #checked(
    attempt: Attempt | undefined,
    definition: TaskDefinition,
    request: NewRunRequest,
  ): Promise<RunRecord> {
    const read = valuesFor(definition, this.#kernel.values).decode(request.payload)
    return validatePayload(definition, read).then((checked) => {
      // Checking may have taken a while.
      assertOpen(attempt)
      return newRun(this.#kernel, definition, { ...request, read: checked })
    })
  }

  #insert(
    record: RunRecord,
    attempt: Attempt | undefined,
    options: InsertOptions = {},
  ): Awaitable<Inserted<RunRecord>> {
    const { transaction, call = INSERT_RUN, freeKeyOnFailure = false, debounce, place, mark } = options
    const { host, publisher } = this.#kernel
    // Checking the payload may have taken a while.
    if (host.isClosed) throw host.closedError()
    const now = host.now()
    const push = debounce && pushOf(record, options, now)
    const bind = push && place && runBinding(place, host.made('binding', now))
    const request = { record, push, bind, mark, fence: fenceOf(attempt), transaction, now, by: host.owner }
    const freed = freeKeyOnFailure ? this.#insertFreeing({ attempt, call, request }) : undefined
    // It is not there yet, and may never be: the storage tells when it is.
    if (transaction !== undefined) return freed ?? this.#kernel.written(attempt, call, request)
    const inserted = freed ?? this.#insertNew(attempt, call, request)
    if (isPromise(inserted)) return this.#insertedLater(inserted, record, push)
    if (!inserted.isCached) publisher.created(record)
    return this.#inserted(inserted, record, push)
  }

  /** Apart from `#insert`, which would pay for what this captures. */
  async #insertedLater(
    answer: Promise<Inserted<RunRecord>>,
    record: RunRecord,
    push: RunPush | undefined,
  ): Promise<Inserted<RunRecord>> {
    const { publisher } = this.#kernel
    const storing = publisher.storing(record)
    try {
      const inserted = await answer
      if (!inserted.isCached) publisher.created(record, storing)
      return this.#inserted(inserted, record, push)
    } finally {
      publisher.stored(storing)
    }
  }

  #inserted(
    inserted: Inserted<RunRecord>,
    { id }: RunRecord,
    push: RunPush | undefined,
  ): Inserted<RunRecord> {
    const { host, publisher, claimer } = this.#kernel
    claimer.inserted(id, inserted)
    // Also of a cached one: the answer to the call that stored it may have been lost.
    if (!host.isClosed) this.#expect(inserted.record)
    if (inserted.isCached && push !== undefined) publisher.wake(inserted.record.id)
    return inserted
  }

  /** Inserts a run, which storage may claim with that. */
  #insertNew(
    attempt: Attempt | undefined,
    call: typeof INSERT_RUN,
    request: RunInsert,
  ): Awaitable<Inserted<RunRecord>> {
    // A run that has to have its slot first must not wait for the one that is kept for the new run.
    const claim = attempt?.isAway === true ? undefined : this.#kernel.claimer.claimFor(request.record)
    return claim === undefined
      ? this.#kernel.written(attempt, call, request)
      : this.#insertClaiming({ attempt, call, request: { claim, ...request } })
  }

  #insertClaiming({ attempt, call, request }: WholeInsert): Awaitable<Inserted<RunRecord>> {
    const insert = (): Awaitable<Inserted<RunRecord>> => this.#kernel.written(attempt, call, request)
    return this.#kernel.claimer.during(request.record.id, insert)
  }

  /** Takes a key over from a run that has failed. */
  #insertFreeing(whole: WholeInsert): Awaitable<Inserted<RunRecord>> {
    const { attempt, call, request } = whole
    return chain(this.#kernel.written(attempt, call, request), (inserted) =>
      hasFailedBefore(inserted, attempt)
        ? this.#insertFreeing({ ...whole, request: { ...request, instead: inserted.record.id } })
        : inserted,
    )
  }

  /** Sees to it that a run is executed when it may be. */
  #expect({ id, status, wakeAt, expiresAt }: RunRecord): void {
    const { delayed, ticker } = this.#kernel
    if (status === 'DELAYED' && wakeAt !== undefined) delayed.add(id, wakeAt)
    if (status === 'QUEUED' || status === 'DELAYED') {
      if (expiresAt !== undefined) ticker.dueAt(expiresAt, `run ${id}`)
    }
  }
}

interface WholeInsert {
  readonly attempt: Attempt | undefined
  readonly call: typeof INSERT_RUN
  readonly request: RunInsert
}

interface InsertOptions extends TriggerOptions {
  readonly call?: typeof INSERT_RUN
  /** The place of a wait in the run that triggers. */
  readonly place?: KeyRecord | undefined
  readonly mark?: number | undefined
}

interface Child {
  readonly record: RunRecord
  /** None for one with an idempotency key. */
  readonly place?: KeyRecord
}

const FREEING: readonly RunStatus[] = ['FAILED', 'TIMED_OUT', 'EXPIRED', 'CRASHED']

/** Whether the key was found with a run that has failed, and not in this very attempt, which may be executed again. */
function hasFailedBefore({ record, isCached }: Inserted<RunRecord>, attempt: Attempt | undefined): boolean {
  if (!isCached || !FREEING.includes(record.status)) return false
  if (attempt === undefined || record.parentId !== attempt.id) return true
  return readOverrides(record.optionsJson).parentAttempt !== attempt.record.policyAttempt
}

interface NewChild {
  /** As it is stored. */
  readonly payload: unknown
  readonly options: TriggerOptions
  /** Given by its place in the run that waits for it. */
  readonly key?: KeyRecord | undefined
}

function childSettlement(record: RunRecord, values: Values): Settlement<SubtaskResult<never>, never> {
  const { id, taskId: taskIdentifier } = record
  if (record.status === 'COMPLETED') {
    // As for handles: the type of the output is the task's.
    const output = values.decode(fromJson(record.outputJson)) as never
    return { result: { ok: true, id, taskIdentifier, output }, output }
  }
  return withoutStack(() => {
    const error = runFailure(record)
    return {
      result: { ok: false, id, taskIdentifier, error },
      error: new SubtaskUnwrapError(taskIdentifier, id, error),
    }
  })
}
