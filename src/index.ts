export { systemClock } from './clock/system.ts'
export type { CancelTimer, Clock, Hold, ReleaseHold, TimerAbout } from './contract/clock.ts'
export type { RunRecord, RunStatus, TokenKind, TokenRecord, TokenStatus } from './contract/records.ts'
export type { EndStatus } from './contract/run-states.ts'
export type { QueueRate, StatusCount, Storage, Unsubscribe } from './contract/storage.ts'
export {
  createAccessToken,
  metadata,
  knownQueues as queues,
  namedQueue as queue,
  once,
  runs,
  streams,
  tasks,
  taskSchedules as schedules,
  wait,
} from './core/ambient/ambient.ts'
export { createEngine } from './core/create-engine.ts'
export type { Codec } from './api/codec.ts'
export type { NotedValue } from './api/noted-value.ts'
export type { AccessGrant, AccessTokenOptions, ReadGrant } from './api/access.ts'
export type { CountRunsParams, CountTokensParams, RunCounts, TokenCounts } from './api/counts.ts'
export type { CursorPage, CursorPagePromise } from './api/cursor-page.ts'
export { task } from './core/ambient/define-task.ts'
export { question } from './core/ambient/question.ts'
export type {
  AskOptions,
  CreateQuestionOptions,
  DefinedQuestion,
  PendingParams,
  DefineQuestionOptions,
} from './api/question-definition.ts'
export type {
  AnsweredBy,
  Answerer,
  AnswerIssue,
  JsonSchema,
  Question,
  QuestionOptions,
  Withdrawal,
} from './api/question.ts'
export type { EngineErrorEvent, EngineEvents } from './core/changes/events.ts'
export type { EngineOptions } from './api/engine-options.ts'
export type { CloseOptions, Engine, EngineStats } from './core/engine.ts'
export type {
  AttemptBeginMessage,
  AttemptDetails,
  AttemptEndMessage,
  AttemptMessage,
  AttemptParkMessage,
  DiagnosticMessages,
  LeaseMessage,
  LogMessage,
  RunCreateMessage,
  RunEndMessage,
  RunTriggerMessage,
  StorageCallMessage,
  TokenSettleMessage,
  TraceCarrier,
  WaitMessage,
} from './api/diagnostics.ts'
export {
  AbortTaskRunError,
  RunCanceledError,
  RunFailedError,
  StorageAwayError,
  StreamInterruptedError,
  StreamLaggedError,
  SubtaskUnwrapError,
  WaitpointError,
  WaitpointTimeoutError,
} from './api/errors.ts'
export type { DueRun, DueSchedule, DueToken, TimelineEntry, TimelineOptions } from './api/timeline.ts'
export type {
  ExplainedDelay,
  ExplainedEnd,
  ExplainedExecution,
  ExplainedMismatch,
  ExplainedQueue,
  ExplainedReason,
  ExplainedRetry,
  ExplainedRun,
  ExplainedUnknownTask,
  ExplainedWait,
  ExplainedWaits,
  RunExplanation,
} from './api/explanation.ts'
export { StorageUnavailableError } from './contract/storage-unavailable.ts'
export type { ErrorCode } from './api/errors.ts'
export { idempotencyKeys } from './core/ambient/idempotency-keys.ts'
export type { IdempotencyKeyOptions } from './core/ambient/idempotency-keys.ts'
export { logger } from './core/ambient/logger.ts'
export type { Logger, LogLevel, LogLine } from './api/log.ts'
export type { RetentionOptions } from './api/retention-options.ts'
export type {
  QueueHandle,
  QueueRateOptions,
  RetrievedQueue,
  TaskLimit,
  TaskQueueOptions,
} from './api/queue.ts'
export type { RetryOptions } from './api/retry.ts'
export type {
  AnyTask,
  BatchHandle,
  BatchItem,
  DebounceOptions,
  ListRunsParams,
  RescheduleOptions,
  RetrievedRun,
  RunAttempt,
  Run,
  RunHandle,
  RunOutcome,
  RunReference,
  RunsNamespace,
  EngineRunsNamespace,
  RunSubscription,
  SubscriptionPart,
  SubtaskPromise,
  SubtaskResult,
  TaskOutput,
  TaskPayload,
  TaskRunsNamespace,
  TasksNamespace,
  TriggerOptions,
  WaitingOn,
} from './api/run.ts'
export type { RunOwner } from './api/run-owner.ts'
export type {
  CreateScheduleOptions,
  TaskSchedule,
  ScheduleChange,
  ScheduledPayload,
  ScheduledTaskOptions,
  TaskScheduleOptions,
  SchedulesNamespace,
} from './api/schedule.ts'
export type { StandardSchemaV1 } from './api/standard-schema.ts'
export type {
  EngineStreamsNamespace,
  InputListener,
  InputOptions,
  InputStream,
  OnceInputOptions,
  SendInputOptions,
  TakeInputOptions,
  WaitInputOptions,
} from './api/input.ts'
export type {
  AppendStreamOptions,
  DefinedStream,
  MetadataNamespace,
  PipedStream,
  PipeStreamOptions,
  ReadStreamOptions,
  StreamOptions,
  StreamsNamespace,
  StreamSource,
  StreamTarget,
  TargetStreamOptions,
} from './api/stream.ts'
export type {
  CancelContext,
  HookContext,
  Namespaces,
  RetryDecision,
  RunContext,
  RunTools,
  SchemaTaskOptions,
  Task,
  TaskOptions,
} from './api/task.ts'
export type {
  CompletedToken,
  CreatedToken,
  LinkedToken,
  LinkingWaitNamespace,
  CreateTokenOptions,
  Duration,
  ForTokenOptions,
  IdempotencyOptions,
  ListTokensParams,
  RetrievedToken,
  Token,
  TokenAbort,
  TokenLinks,
  TokenReference,
  TokenSignal,
  WaitForOptions,
  EngineWaitNamespace,
  SubscribeToTokensParams,
  WaitNamespace,
  WaitPromise,
  WaitResult,
  WaitUntilOptions,
  ReassignTokenOptions,
  WithdrawTokenOptions,
} from './api/token.ts'
export type { TransactionOptions } from './api/token.ts'
export { memoryStorage } from './storage/memory/memory.ts'
