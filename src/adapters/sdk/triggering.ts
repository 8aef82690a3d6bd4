import { SubtaskUnwrapError } from '../../api/errors.ts'
import type { BatchItem, RunHandle, SubtaskResult } from '../../api/run.ts'
import { type BatchMark, type TriggerMarks, withMarks } from '../../api/trigger-marks.ts'
import { mayBeLeft } from '../../primitives/awaitable.ts'
import { type OptionNames, requireList, requireObject, requireOptions } from '../../primitives/require.ts'
import { sha256 } from '../../primitives/digest.ts'
import { currentRun, waiting, waitingForRun } from './current-run.ts'
import { hostedOnly } from './hosted-only.ts'
import { triggerKey } from './idempotency-keys.ts'
import { requireTypes } from './option-types.ts'
import type {
  BatchResult,
  BatchRunHandle,
  HostedBatchItem,
  HostedRunHandle,
  Items,
  TaskRunPromise,
  TaskRunResult,
} from './task-types.ts'
import {
  type BatchTriggerOptions,
  engineTriggerOptions,
  type HostedTriggerOptions,
  isEmptyKey,
  itemOptions,
} from './trigger-options.ts'
import type { unchecked } from './unchecked.ts'
import type { Untyped } from './untyped.ts'
import { decodeValue, encodeValue } from './values.ts'
import { storedTasks as tasks } from './stored.ts'

/** How the runs of a call are triggered: `unchecked` by id, else as the task itself does it. */
type Triggers = typeof unchecked

const checked: Triggers = (_id, _count, call) => call()

interface TriggerRequest<Payload> {
  readonly payload: Payload
  readonly options: HostedTriggerOptions | undefined
}

/** An item of a batch of several tasks. */
export interface ItemById<Id extends string = string, Payload = Untyped> {
  id: Id
  payload: Payload
  options?: HostedTriggerOptions
}

const NAMED = /* @__PURE__ */ withMarks({}, { named: true })

/** `task.trigger` and `tasks.trigger`. Hot: the promise is that of the engine. */
export function trigger<Id extends string, Payload, Output>(
  id: Id,
  { payload, options }: TriggerRequest<Payload>,
  triggers: Triggers = checked,
): Promise<HostedRunHandle<Id, Payload, Output>> {
  try {
    const value = encodeValue(payload)
    const marked = options === undefined ? NAMED : withMarks(engineTriggerOptions(options), { named: true })
    // The engine answers what the mark asks for.
    const triggered = triggers(id, 1, () => tasks.trigger(id, value, marked)) as Promise<unknown> as Promise<
      HostedRunHandle<Id, Payload, Output>
    >
    if (options?.debounce === undefined) return triggered
    // The hosted service says of idempotency keys alone that their run was there.
    return triggered.then((handle) => Object.assign(handle, { isCached: false }))
  } catch (error) {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)))
  }
}

/** `task.triggerAndWait` and `tasks.triggerAndWait`. It is called at once: its place in the run is that of the caller. */
export function triggerAndWait<Id extends string, Output>(
  id: Id,
  { payload, options }: TriggerRequest<unknown>,
  triggers: Triggers = checked,
): TaskRunPromise<Id, Output> {
  const start = (marks: TriggerMarks | undefined): Promise<SubtaskResult<unknown>> => {
    try {
      const given = engineTriggerOptions(options)
      const request = [id, encodeValue(payload), marks ? withMarks(given, marks) : given] as const
      return triggers(id, 1, () => tasks.triggerAndWait(...request))
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }
  const result = mayBeLeft(waitingForRun(start).then(hostedResult<Id, Output>))
  return Object.assign(result, { unwrap: () => mayBeLeft(result.then(unwrapped)) })
}

/** `task.triggerAndSubscribe` and `tasks.triggerAndSubscribe`. */
export function triggerAndSubscribe(): never {
  throw hostedOnly('triggerAndSubscribe', 'use triggerAndWait, which answers the same')
}

/** `batch.trigger`: runs of several tasks, in the order of the items. */
export async function batchTrigger<Id extends string, Payload, Output>(
  items: Items<ItemById>,
  options: BatchTriggerOptions = {},
  triggers: Triggers = checked,
): Promise<BatchRunHandle<Id, Payload, Output>> {
  const list = await allItems(items)
  const mark = batchMark(list, options)
  const requests = engineItems(list, options, mark)
  const only = onlyTask(requests)
  if (only !== undefined) {
    const all = requests.map(({ item }) => item)
    const { runs } = await triggers(only, all.length, () => tasks.batchTrigger(only, all))
    return keepBatch(runs, mark, options)
  }
  const handles: RunHandle<unknown>[] = []
  for (const { id, item } of requests)
    handles.push(await triggers(id, 1, () => tasks.trigger(id, item.payload, item.options)))
  return keepBatch(handles, mark, options)
}

/** `batch.triggerAndWait`: child runs of several tasks. */
export function batchTriggerAndWait<Id extends string, Output>(
  items: Items<ItemById>,
  options: BatchTriggerOptions = {},
  triggers: Triggers = checked,
): Promise<BatchResult<Id, Output>> {
  if (!Array.isArray(items))
    return allItems(items).then((list) => batchTriggerAndWait(list, options, triggers))
  const id = waitedBatchId()
  const start = (): Promise<BatchResult<Id, Output>> => startAll<Id, Output>({ id, items, options }, triggers)
  if (items.length === 0) return mayBeLeft(start())
  return mayBeLeft(waiting(() => ({ type: 'batch', batchId: id, runCount: items.length }), start))
}

/** A batch with an idempotency key has its id again with the key, any other is named after its first run. */
function batchMark([first]: readonly ItemById[], options: BatchTriggerOptions): BatchMark {
  const key = batchKey(options)
  return key === undefined ? {} : { id: batchId([key, first?.id]) }
}

function batchKey({ idempotencyKey: key }: BatchTriggerOptions): string | undefined {
  return isEmptyKey(key) ? undefined : triggerKey(key)
}

function batchId(parts: readonly unknown[]): string {
  return `batch_${sha256(parts.join('/'), 'hex').slice(0, 26)}`
}

/** The id of a batch that a run waits for: an attempt that is executed again has it again. */
function waitedBatchId(): string {
  const run = currentRun()
  // Outside of a run there is nothing to wait for.
  if (run === undefined) return ''
  const { ctx } = run
  return batchId([ctx.run.id, ctx.attempt.number, run.nextNumber()])
}

interface WaitedBatch {
  readonly id: string
  readonly items: readonly ItemById[]
  readonly options: BatchTriggerOptions
}

/** All children are started in one turn, so that each has its place. */
async function startAll<Id extends string, Output>(
  { id, items, options }: WaitedBatch,
  triggers: Triggers,
): Promise<BatchResult<Id, Output>> {
  const requests = engineItems(items, options, { id })
  const results = await waitForAll(requests, triggers)
  return { id, runs: results.map(hostedResult<Id, Output>) }
}

async function waitForAll(
  requests: readonly EngineItem[],
  triggers: Triggers,
): Promise<readonly SubtaskResult<unknown>[]> {
  const only = onlyTask(requests)
  if (only === undefined)
    return Promise.all(
      requests.map(({ id, item }) =>
        triggers(id, 1, () => tasks.triggerAndWait(id, item.payload, item.options)),
      ),
    )
  const all = requests.map(({ item }) => item)
  const { runs } = await triggers(only, all.length, () => tasks.batchTriggerAndWait(only, all))
  return runs
}

/** The task of all items, which the engine checks before it stores the first run. */
function onlyTask([first, ...rest]: readonly EngineItem[]): string | undefined {
  return rest.every(({ id }) => id === first?.id) ? first?.id : undefined
}

/** The items of a batch of one task, as those of several. */
export function itemsById<Payload>(id: string, items: Items<HostedBatchItem<Payload>>): Items<ItemById> {
  return Array.isArray(items) ? items.map((item) => withId(id, item)) : allWithId(id, items)
}

function withId(id: string, item: HostedBatchItem<unknown>): ItemById {
  requireObject(item, 'an item of a batch')
  return { id, ...item }
}

async function* allWithId<Payload>(
  id: string,
  items: AsyncIterable<HostedBatchItem<Payload>> | ReadableStream<HostedBatchItem<Payload>>,
): AsyncGenerator<ItemById> {
  requireItems(items)
  for await (const item of items) yield withId(id, item)
}

/** @throws TypeError for what cannot be iterated, and for a text. */
function requireItems(items: unknown): void {
  const isObject = (typeof items === 'object' && items !== null) || typeof items === 'function'
  if (!isObject || !(Symbol.asyncIterator in items || Symbol.iterator in items))
    requireList(items, 'the items of a batch')
}

/** All items. Rejects with a TypeError for what are none. */
export async function allItems<Item>(items: Items<Item>): Promise<Item[]> {
  if (Array.isArray(items)) return items
  requireItems(items)
  const list: Item[] = []
  for await (const item of items) list.push(item)
  return list
}

const ITEM_NAMES: OptionNames<ItemById> = { id: true, payload: true, options: true }
const BATCH_NAMES: OptionNames<BatchTriggerOptions> = {
  idempotencyKey: true,
  idempotencyKeyTTL: true,
  triggerSequentially: true,
}

interface EngineItem {
  readonly id: string
  readonly item: BatchItem<unknown>
}

/** All items are read before the first run is stored. */
function engineItems(
  items: readonly ItemById[],
  options: BatchTriggerOptions,
  batch: BatchMark,
): readonly EngineItem[] {
  requireList(items, 'the items of a batch')
  requireOptions(options, 'the options of a batch', BATCH_NAMES)
  requireTypes(options, 'a batch', { triggerSequentially: 'boolean' })
  return items.map((given, index) => {
    requireOptions(given, 'an item of a batch', ITEM_NAMES)
    const { id, options: own } = given
    const marked = withMarks(itemOptions(own, options, index), { batch })
    return { id, item: { payload: encodeValue(given.payload), options: marked } }
  })
}

/** The error of a child is what its task threw. */
function hostedResult<Id extends string, Output>(result: SubtaskResult<unknown>): TaskRunResult<Id, Output> {
  const { id } = result
  // The engine answers with the id that it was asked for.
  const taskIdentifier = result.taskIdentifier as Id
  return result.ok
    ? { ok: true, id, taskIdentifier, output: decodeValue(result.output) as Output }
    : { ok: false, id, taskIdentifier, error: result.error.cause ?? result.error }
}

function unwrapped<Id extends string, Output>(result: TaskRunResult<Id, Output>): Output {
  if (result.ok) return result.output
  throw new SubtaskUnwrapError(result.taskIdentifier, result.id, result.error)
}

/** A batch that was triggered in this process. */
export interface TriggeredBatch {
  readonly runs: readonly string[]
  readonly idempotencyKey: string | undefined
}

/** The last batches, by their ids. */
const batches = new Map<string, TriggeredBatch>()
const MOST_BATCHES = 1_000

/**
 * A batch that was triggered in this process, among the last thousand. `call` asks for it.
 *
 * @throws WaitpointError `ERR_HOSTED_ONLY` for any other.
 */
export function keptBatch(id: string, call: string): TriggeredBatch {
  const kept = batches.get(id)
  if (kept !== undefined) return kept
  throw hostedOnly(call, 'it knows the last thousand batches that were triggered in this process')
}

function keepBatch<Id extends string, Payload, Output>(
  handles: readonly RunHandle<unknown>[],
  { id = 'batch_empty' }: BatchMark,
  options: BatchTriggerOptions,
): BatchRunHandle<Id, Payload, Output> {
  const idempotencyKey = batchKey(options)
  batches.set(id, { runs: handles.map((handle) => handle.id), idempotencyKey })
  for (const oldest of batches.keys()) {
    if (batches.size <= MOST_BATCHES) break
    batches.delete(oldest)
  }
  return {
    batchId: id,
    runCount: handles.length,
    get publicAccessToken() {
      return handles[0]?.publicAccessToken ?? ''
    },
  }
}
