import { type AddHook, globalHook } from './hooks.ts'
import type {
  AnyHostedTask,
  BatchResult,
  BatchRunHandle,
  HostedBatchItem,
  HostedRunHandle,
  HostedTaskOutput,
  HostedTaskPayload,
  Items,
  TaskIdentifier,
  TaskRunPromise,
  TriggerAndSubscribeOptions,
} from './task-types.ts'
import { type RequestOptions, takingRequests } from './request-options.ts'
import type { BatchTriggerOptions, HostedTriggerOptions, TriggerAndWaitOptions } from './trigger-options.ts'
import {
  batchTrigger,
  batchTriggerAndWait,
  itemsById,
  trigger,
  triggerAndSubscribe,
  triggerAndWait,
} from './triggering.ts'
import { unchecked } from './unchecked.ts'

/** The handle of a run of a task. */
type HandleOf<Task extends AnyHostedTask> = HostedRunHandle<
  TaskIdentifier<Task>,
  HostedTaskPayload<Task>,
  HostedTaskOutput<Task>
>

/** Tasks by their ids, and hooks for all tasks. */
export interface HostedTasks {
  trigger<Task extends AnyHostedTask>(
    id: TaskIdentifier<Task>,
    payload: HostedTaskPayload<Task>,
    options?: HostedTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<HandleOf<Task>>
  batchTrigger<Task extends AnyHostedTask>(
    id: TaskIdentifier<Task>,
    items: Items<HostedBatchItem<HostedTaskPayload<Task>>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<BatchRunHandle<TaskIdentifier<Task>, HostedTaskPayload<Task>, HostedTaskOutput<Task>>>
  triggerAndWait<Task extends AnyHostedTask>(
    id: TaskIdentifier<Task>,
    payload: HostedTaskPayload<Task>,
    options?: TriggerAndWaitOptions,
    requestOptions?: RequestOptions,
  ): TaskRunPromise<TaskIdentifier<Task>, HostedTaskOutput<Task>>
  /** Throws `ERR_HOSTED_ONLY`: use `triggerAndWait`. */
  triggerAndSubscribe<Task extends AnyHostedTask>(
    id: TaskIdentifier<Task>,
    payload: HostedTaskPayload<Task>,
    options?: TriggerAndSubscribeOptions,
  ): TaskRunPromise<TaskIdentifier<Task>, HostedTaskOutput<Task>>
  batchTriggerAndWait<Task extends AnyHostedTask>(
    id: TaskIdentifier<Task>,
    items: Items<HostedBatchItem<HostedTaskPayload<Task>>>,
    options?: BatchTriggerOptions,
    requestOptions?: RequestOptions,
  ): Promise<BatchResult<TaskIdentifier<Task>, HostedTaskOutput<Task>>>
  readonly onStart: AddHook<'onStart'>
  readonly onStartAttempt: AddHook<'onStartAttempt'>
  readonly onSuccess: AddHook<'onSuccess'>
  readonly onFailure: AddHook<'onFailure'>
  readonly onComplete: AddHook<'onComplete'>
  readonly onCancel: AddHook<'onCancel'>
  readonly onWait: AddHook<'onWait'>
  readonly onResume: AddHook<'onResume'>
  readonly catchError: AddHook<'catchError'>
  /** An older name of `catchError`. */
  readonly handleError: AddHook<'catchError'>
  readonly middleware: AddHook<'middleware'>
}

/** `tasks`. */
export const hostedTasks: HostedTasks = /* @__PURE__ */ takingRequests<HostedTasks>(
  {
    trigger: (id, payload, options) => trigger(id, { payload, options }, unchecked),
    batchTrigger: (id, items, options) => batchTrigger(itemsById(id, items), options, unchecked),
    triggerAndWait: (id, payload, options) => triggerAndWait(id, { payload, options }, unchecked),
    triggerAndSubscribe,
    batchTriggerAndWait: (id, items, options) =>
      batchTriggerAndWait(itemsById(id, items), options, unchecked),
    onStart: globalHook('onStart'),
    onStartAttempt: globalHook('onStartAttempt'),
    onSuccess: globalHook('onSuccess'),
    onFailure: globalHook('onFailure'),
    onComplete: globalHook('onComplete'),
    onCancel: globalHook('onCancel'),
    onWait: globalHook('onWait'),
    onResume: globalHook('onResume'),
    catchError: globalHook('catchError'),
    handleError: globalHook('catchError'),
    middleware: globalHook('middleware'),
  },
  { trigger: 3, batchTrigger: 3, triggerAndWait: 3, batchTriggerAndWait: 3 },
)
