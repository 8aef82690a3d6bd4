export { systemClock } from './clock/system.ts'
export type { CancelTimer, Clock, Hold, ReleaseHold, TimerAbout } from './contract/clock.ts'
export type {
  ChunkRecord,
  KeyRecord,
  RunChange,
  RunRecord,
  RunStatus,
  SegmentEnd,
  SegmentRecord,
  StreamRecord,
  TokenKind,
  TokenRecord,
  TokenStatus,
  WaitRecord,
} from './contract/records.ts'
export type {
  AttemptFence,
  Awaitable,
  ChunkAppend,
  ChunkRead,
  ChunksRead,
  ChunkStore,
  Hint,
  Inserted,
  NextDue,
  Page,
  PageRequest,
  PruneRequest,
  RunClaim,
  RunClaimed,
  RunFence,
  RunFilter,
  RunInsert,
  RunResumed,
  RunStore,
  RunUpdate,
  RunUpdated,
  SettingStore,
  Storage,
  StreamHistory,
  StreamOpen,
  TickRequest,
  TickResult,
  TokenAwait,
  TokenAwaited,
  TokenFilter,
  TokenInsert,
  TokenPage,
  TokenRead,
  TokenSettle,
  TokenSettled,
  TokenStore,
  Unsubscribe,
} from './contract/storage.ts'
export { metadata, once, runs, streams, tasks, wait } from './core/ambient/ambient.ts'
export { createEngine } from './core/create-engine.ts'
export type { CursorPage, CursorPagePromise } from './api/cursor-page.ts'
export { task } from './core/ambient/define-task.ts'
export type { EngineErrorEvent, EngineEvents } from './core/changes/events.ts'
export type { EngineOptions } from './core/engine-options.ts'
export type { CloseOptions, Engine, EngineStats } from './core/engine.ts'
export {
  AbortTaskRunError,
  RunCanceledError,
  RunFailedError,
  StreamInterruptedError,
  StreamLaggedError,
  SubtaskUnwrapError,
  WaitpointError,
  WaitpointTimeoutError,
} from './api/errors.ts'
export type { ErrorCode } from './api/errors.ts'
export { idempotencyKeys } from './core/ambient/idempotency-keys.ts'
export type { IdempotencyKeyOptions } from './core/ambient/idempotency-keys.ts'
export type { RetentionOptions } from './core/changes/retention.ts'
export type { RetryOptions } from './api/retry.ts'
export type {
  AnyTask,
  BatchHandle,
  BatchItem,
  ListRunsParams,
  RescheduleOptions,
  RetrievedRun,
  Run,
  RunHandle,
  RunOutcome,
  RunReference,
  RunsNamespace,
  RunSubscription,
  SubscriptionPart,
  SubtaskPromise,
  SubtaskResult,
  TaskOutput,
  TaskPayload,
  TasksNamespace,
  TriggerOptions,
  WaitingOn,
} from './api/run.ts'
export type { StandardSchemaV1 } from './api/standard-schema.ts'
export type {
  DefinedStream,
  MetadataNamespace,
  PipedStream,
  ReadStreamOptions,
  StreamOptions,
  StreamsNamespace,
  StreamSource,
} from './api/stream.ts'
export type {
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
  CreateTokenOptions,
  Duration,
  ForTokenOptions,
  IdempotencyOptions,
  ListTokensParams,
  RetrievedToken,
  Token,
  TokenReference,
  WaitForOptions,
  WaitNamespace,
  WaitPromise,
  WaitResult,
  WaitUntilOptions,
} from './api/token.ts'
export type { TransactionOptions } from './api/token.ts'
export { memoryStorage } from './storage/memory/memory.ts'
