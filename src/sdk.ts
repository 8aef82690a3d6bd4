export { AbortTaskRunError, SubtaskUnwrapError, WaitpointTimeoutError } from './api/errors.ts'
export {
  auth,
  configure,
  type ApiClientConfiguration,
  type GetOIDCTokenOptions,
} from './adapters/sdk/auth.ts'
export { batch } from './adapters/sdk/batch.ts'
export type { BatchByIdItem, BatchByTaskItem, RetrievedBatch } from './adapters/sdk/batch.ts'
export { createCache, InMemoryCache } from './adapters/sdk/cache.ts'
export type {
  CacheEntry,
  CacheFunction,
  CacheMetadata,
  CacheStore,
  Eventually,
} from './adapters/sdk/cache.ts'
export { allTasks } from './adapters/sdk/catalogue.ts'
export { defineConfig } from './adapters/sdk/config.ts'
export type {
  ResolveEnvironmentVariablesFunction,
  ResolveEnvironmentVariablesParams,
  ResolveEnvironmentVariablesResult,
  TriggerConfig,
} from './adapters/sdk/config.ts'
export type { MachineName, TaskRunContext, TaskRunContext as Context } from './adapters/sdk/context.ts'
export { hostedTask as task, schemaTask } from './adapters/sdk/define-task.ts'
export type {
  HostedScheduleOptions as ScheduleOptions,
  ScheduledTaskPayload,
} from './adapters/sdk/define-task.ts'
export { envvars } from './adapters/sdk/envvars.ts'
export type { EnvironmentVariable, ImportEnvironmentVariablesParams } from './adapters/sdk/envvars.ts'
export type {
  AddHook,
  AnyOnCancelHookFunction,
  AnyOnCatchErrorHookFunction,
  AnyOnCatchErrorHookFunction as HandleErrorFunction,
  AnyOnCleanupHookFunction,
  AnyOnCompleteHookFunction,
  AnyOnFailureHookFunction,
  AnyOnInitHookFunction,
  AnyOnMiddlewareHookFunction,
  AnyOnStartAttemptHookFunction,
  AnyOnStartHookFunction,
  AnyOnSuccessHookFunction,
  AnyOnWaitHookFunction,
  AnyOnWaitHookFunction as AnyOnResumeHookFunction,
  CatchErrorDecision,
  HandleErrorArgs,
  HookParams,
  InitOutput,
  OnCancelHookFunction,
  OnCatchErrorHookFunction,
  OnCleanupHookFunction,
  OnCompleteHookFunction,
  OnFailureHookFunction,
  OnInitHookFunction,
  OnMiddlewareHookFunction,
  OnStartAttemptHookFunction,
  OnStartHookFunction,
  OnSuccessHookFunction,
  OnWaitHookFunction,
  RetryPolicy,
  RetryPolicy as RetryOptions,
  TaskCompleteResult,
  TaskHooks,
  TaskStartHookParams,
  TaskWait,
} from './adapters/sdk/hooks.ts'
export { hostedIdempotencyKeys as idempotencyKeys } from './adapters/sdk/idempotency-keys.ts'
export type { IdempotencyKey, KeyScope } from './adapters/sdk/idempotency-keys.ts'
export { CompleteTaskWithOutput } from './adapters/sdk/lifecycle.ts'
export { locals, type Locals, type LocalsKey } from './adapters/sdk/locals.ts'
export {
  hostedLogger as logger,
  type LoggerLevel as LogLevel,
  type TaskLogger,
  type TraceSpan,
} from './adapters/sdk/logger.ts'
export { hostedMetadata as metadata } from './adapters/sdk/metadata.ts'
export type { HostedMetadata, RunMetadata, RunMetadataUpdater } from './adapters/sdk/metadata.ts'
export { heartbeats, otel, waitUntil } from './adapters/sdk/process-life.ts'
export { queue, type Queue } from './adapters/sdk/queue.ts'
export { hostedQueues as queues } from './adapters/sdk/queues.ts'
export type { Queues, RetrieveQueueParam } from './adapters/sdk/queues.ts'
export type { QueueItem } from './hosted/queue-item.ts'
export { retry } from './adapters/sdk/retry.ts'
export type { FetchRetryOptions, FetchRetryStrategy, RetryFetchRequestInit } from './adapters/sdk/retry.ts'
export type {
  AnyRunShape,
  HostedRun,
  RealtimeHostedRun as AnyRealtimeRun,
  RetrievedHostedRun as AnyRetrieveRunResult,
  RealtimeHostedRun as RealtimeRun,
  RetrievedHostedRun as RetrieveRunResult,
  RealtimeHostedRun as TaskRunShape,
  HostedRunStatus,
  HostedRunShape as RunShape,
} from './adapters/sdk/hosted-run.ts'
export type { HostedListRunsParams, RunPage } from './adapters/sdk/run-list.ts'
export { hostedRuns as runs } from './adapters/sdk/runs.ts'
export type { HostedRuns, HostedSubscription, ReplayRunOptions } from './adapters/sdk/runs.ts'
export { hostedSchedules as schedules, type Schedules } from './adapters/sdk/schedules.ts'
export type { InferInputStreamType } from './adapters/sdk/input-streams.ts'
export type { JSONSchema, SchemaIn, SchemaOut, TaskSchema } from './adapters/sdk/schema.ts'
export { hostedStreams as streams } from './adapters/sdk/streams.ts'
export type {
  AsyncIterableStream,
  HostedStreams,
  InferStreamType,
  PipeStreamResult,
  RealtimeDefinedStream,
  RealtimeDefineStreamOptions,
  WriterStreamOptions,
} from './adapters/sdk/streams.ts'
export {
  ServiceApiError as ApiError,
  AuthenticationError,
  BadRequestError,
  BatchTriggerError,
  ChatChunkTooLargeError,
  ConflictError,
  InternalServerError,
  isChatChunkTooLargeError,
  NotFoundError,
  OIDCTokenError,
  OutOfMemoryError,
  PermissionDeniedError,
  RateLimitError,
  UnprocessableEntityError,
  WebhookEndpointNotFoundError,
  WebhookError,
  WebhookFilterError,
  WebhookIndexingError,
  WebhookWaiterCancelledError,
  WebhookWaiterLimitError,
  type WebhookWaiterLimitReason,
} from './adapters/sdk/service-errors.ts'
export {
  chatEvent,
  concurrencyLimit,
  concurrencyLimits,
  defineWebhookEndpoint,
  deployments,
  markChatAgentRunForStreamsWarning,
  normalizeKeyString,
  prompts,
  providerProducers,
  query,
  type QueryOptions,
  SessionHandle,
  SessionInputChannel,
  SessionOutputChannel,
  sessions,
  skills,
  toolTask,
  TriggerClient,
  webhook,
  webhooks,
  webhookSources,
} from './adapters/sdk/service-only.ts'
export { tags } from './adapters/sdk/tags.ts'
export type {
  AnyHostedTask as AnyTask,
  BatchResult,
  BatchRunHandle,
  HostedBatchItem as BatchItem,
  HostedRunHandle as RunHandle,
  HostedTask as Task,
  HostedTaskOptions as TaskOptions,
  HostedTaskOutput as TaskOutput,
  HostedTaskPayload as TaskPayload,
  RunFnParams,
  TaskFromIdentifier,
  TaskIdentifier,
  TaskOptionsWithSchema,
  TaskRunPromise,
  TaskRunResult,
  TaskWithSchema,
  TaskWithSchemaOptions,
} from './adapters/sdk/task-types.ts'
export { hostedTasks as tasks, type HostedTasks } from './adapters/sdk/tasks.ts'
export { timeout } from './adapters/sdk/timeout.ts'
export type {
  BatchTriggerOptions,
  HostedTriggerOptions as TriggerOptions,
  RunTags,
  TriggerAndWaitOptions,
} from './adapters/sdk/trigger-options.ts'
export { usage, type ComputeUsage, type CurrentUsage, type Usage } from './adapters/sdk/usage.ts'
export { hostedWait as wait } from './adapters/sdk/wait.ts'
export type {
  CommonWaitOptions,
  HostedWait,
  HostedWaitForOptions as WaitForOptions,
  ListedToken,
  ManualWaitpointPromise,
  RetrievedHostedToken as WaitpointRetrievedToken,
} from './adapters/sdk/wait.ts'
