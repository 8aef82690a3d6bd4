import { idOf, type OptionNames, requireName, requireOptions } from '../../primitives/require.ts'
import type {
  AnyHostedTask,
  BatchRunHandle,
  HostedTaskOutput,
  HostedTaskPayload,
  Items,
  TaskIdentifier,
  TaskRunResult,
} from './task-types.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'
import type { BatchTriggerOptions, HostedTriggerOptions } from './trigger-options.ts'
import { batchTrigger, batchTriggerAndWait, type ItemById, keptBatch, allItems } from './triggering.ts'
import { hostedRuns } from './runs.ts'
import { unchecked } from './unchecked.ts'
import type { Untyped } from './untyped.ts'

/** An item of `batch.trigger`. */
export type BatchByIdItem<Task extends AnyHostedTask> = Task extends AnyHostedTask
  ? ItemById<TaskIdentifier<Task>, HostedTaskPayload<Task>>
  : never

/** An item of `batch.triggerByTask`. */
export interface BatchByTaskItem<Task extends AnyHostedTask> {
  task: Task
  payload: HostedTaskPayload<Task>
  options?: HostedTriggerOptions
}

/** The result of one item, by the task that its id names. */
type ResultOf<Task extends AnyHostedTask> = Task extends AnyHostedTask
  ? TaskRunResult<TaskIdentifier<Task>, HostedTaskOutput<Task>>
  : never

type ItemsByTask<Tasks extends readonly AnyHostedTask[]> = {
  [Key in keyof Tasks]: BatchByTaskItem<Tasks[Key]>
}

type ResultsByTask<Tasks extends readonly AnyHostedTask[]> = { [Key in keyof Tasks]: ResultOf<Tasks[Key]> }

/** Items that come one after the other. */
type Streamed<Item> = AsyncIterable<Item> | ReadableStream<Item>

/** A batch as `batch.retrieve` shows it. */
export interface RetrievedBatch {
  id: string
  status: 'PENDING' | 'PROCESSING' | 'COMPLETED' | 'PARTIAL_FAILED' | 'ABORTED'
  idempotencyKey?: string
  createdAt: Date
  /** The last change of one of its runs. */
  updatedAt: Date
  runCount: number
  /** The ids of its runs, in the order of its items. */
  runs: string[]
  processing: {
    completedAt?: Date
    /** Always empty: an item that cannot be triggered rejects the call. */
    errors: { index: number; taskIdentifier: string; error: string; errorCode?: string }[]
  }
}

/** Batches of several tasks. Runs that are found by their idempotency keys are among its runs; `publicAccessToken` reads the first. */
export interface HostedBatch {
  trigger<Task extends AnyHostedTask>(
    items: Items<BatchByIdItem<Task>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<BatchRunHandle<TaskIdentifier<Task>, HostedTaskPayload<Task>, HostedTaskOutput<Task>>>
  triggerAndWait<Task extends AnyHostedTask>(
    items: Items<BatchByIdItem<Task>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<{ id: string; runs: ResultOf<Task>[] }>
  triggerByTask<Tasks extends readonly AnyHostedTask[]>(
    items: { [Key in keyof Tasks]: BatchByTaskItem<Tasks[Key]> } | Streamed<BatchByTaskItem<Tasks[number]>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<BatchRunHandle<string, Untyped, Untyped>>
  triggerByTaskAndWait<Tasks extends readonly AnyHostedTask[]>(
    items: { [Key in keyof Tasks]: BatchByTaskItem<Tasks[Key]> } | Streamed<BatchByTaskItem<Tasks[number]>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<{ id: string; runs: ResultsByTask<Tasks> }>
  /** A batch that was triggered in this process, among the last thousand. */
  retrieve(batchId: string, requestOptions?: RequestOptions): Promise<RetrievedBatch>
}

const BY_TASK_NAMES: OptionNames<BatchByTaskItem<AnyHostedTask>> = {
  task: true,
  payload: true,
  options: true,
}

/** Items by their tasks as items by ids. At once for a list: its runs have the places of the call. */
function byId(items: unknown): ItemById[] | AsyncIterable<ItemById> {
  return Array.isArray(items) ? items.map(itemById) : streamedById(items)
}

async function* streamedById(items: unknown): AsyncGenerator<ItemById> {
  yield* (await allItems(items as Streamed<unknown>)).map(itemById)
}

/** @throws TypeError for what is no item, and for one without a task. */
function itemById(given: unknown): ItemById {
  requireOptions(given, 'an item of a batch', BY_TASK_NAMES)
  const { task, ...item } = given as BatchByTaskItem<AnyHostedTask>
  return { id: requireName(idOf(task), 'the id of the task of an item'), ...item }
}

/** 1970 for a batch without runs. */
function latest(instants: readonly Date[]): Date {
  return new Date(Math.max(0, ...instants.map((instant) => instant.getTime())))
}

/** `batch`. */
export const batch: HostedBatch = /* @__PURE__ */ takingRequests<HostedBatch>(
  {
    trigger: (items, options) => batchTrigger(items as Items<ItemById>, options, unchecked),
    triggerAndWait: async <Task extends AnyHostedTask>(
      items: Items<BatchByIdItem<Task>>,
      options?: BatchTriggerOptions,
    ) => {
      const { id, runs } = await batchTriggerAndWait(items as Items<ItemById>, options, unchecked)
      return { id, runs: runs as ResultOf<Task>[] }
    },
    triggerByTask: async (items, options) => batchTrigger(byId(items), options, unchecked),
    triggerByTaskAndWait: async <Tasks extends readonly AnyHostedTask[]>(
      items: ItemsByTask<Tasks> | Streamed<BatchByTaskItem<Tasks[number]>>,
      options?: BatchTriggerOptions,
    ) => {
      const { id, runs } = await batchTriggerAndWait(byId(items), options, unchecked)
      return { id, runs: runs as ResultsByTask<Tasks> }
    },
    retrieve: async (batchId) => {
      const { runs: ids, idempotencyKey } = keptBatch(batchId, `batch.retrieve("${batchId}")`)
      const runs = await Promise.all(ids.map(async (id) => hostedRuns.retrieve(id)))
      const isCompleted = runs.every((run) => run.isCompleted)
      // Runs that idempotency keys have found are older.
      const createdAt = latest(runs.map((run) => run.createdAt))
      return {
        id: batchId,
        status: isCompleted ? 'COMPLETED' : 'PENDING',
        ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
        createdAt,
        updatedAt: latest(runs.map((run) => run.updatedAt)),
        runCount: ids.length,
        runs: [...ids],
        // An item that cannot be triggered rejects the call.
        processing: { completedAt: createdAt, errors: [] },
      }
    },
  },
  { trigger: 2, triggerAndWait: 2, triggerByTask: 2, triggerByTaskAndWait: 2, retrieve: 1 },
)
