import type { RunStatus } from '../contract/records.ts'
import type { AnswerIssue, Withdrawal } from './question.ts'

/** The stable codes of everything that can go wrong. A code never changes its meaning. */
export type ErrorCode =
  | 'ERR_API_REFUSED'
  | 'ERR_API_UNAUTHORIZED'
  | 'ERR_API_UNAVAILABLE'
  | 'ERR_API_UNREADABLE'
  | 'ERR_CANNOT_ADD_TAGS'
  | 'ERR_CANNOT_CONTINUE'
  | 'ERR_CANNOT_DECODE'
  | 'ERR_CANNOT_RESCHEDULE'
  | 'ERR_CANNOT_RESET_KEY'
  | 'ERR_CANNOT_SCHEDULE'
  | 'ERR_CANNOT_SET_QUEUE'
  | 'ERR_CANNOT_WRITE_STREAM'
  | 'ERR_DEBOUNCE_UNSUPPORTED'
  | 'ERR_ENGINE_CLOSED'
  | 'ERR_ENGINE_OPEN'
  | 'ERR_HOSTED_ONLY'
  | 'ERR_INBOX_FULL'
  | 'ERR_LISTEN_FAILED'
  | 'ERR_NO_ENGINE'
  | 'ERR_NOT_APPROVER'
  | 'ERR_NOT_IN_RUN'
  | 'ERR_NOT_SERIALIZABLE'
  | 'ERR_OTHER_ENGINE'
  | 'ERR_OUTCOME_UNKNOWN'
  | 'ERR_OUTPUT_INVALID'
  | 'ERR_PAYLOAD_INVALID'
  | 'ERR_PENDING_VERSION'
  | 'ERR_RUN_CANCELED'
  | 'ERR_RUN_CRASHED'
  | 'ERR_RUN_ENDED'
  | 'ERR_RUN_EXPIRED'
  | 'ERR_RUN_FAILED'
  | 'ERR_RUN_NOT_FOUND'
  | 'ERR_RUN_TIMED_OUT'
  | 'ERR_SCHEDULE_NOT_FOUND'
  | 'ERR_STALE_ATTEMPT'
  | 'ERR_STORAGE_UNAVAILABLE'
  | 'ERR_STREAM_FAILED'
  | 'ERR_STREAM_INTERRUPTED'
  | 'ERR_STREAM_LAGGED'
  | 'ERR_SUBTASK_FAILED'
  | 'ERR_TASK_DUPLICATE'
  | 'ERR_TASK_NOT_FOUND'
  | 'ERR_TOKEN_NOT_FOUND'
  | 'ERR_TOKEN_TIMED_OUT'
  | 'ERR_TRANSACTION_UNSUPPORTED'
  | 'ERR_WAIT_CYCLE'
  | 'ERR_WAIT_NAMED_TWICE'

/** An error as it is stored. */
export interface StoredError {
  readonly name: string
  readonly message: string
  readonly stack?: string
  readonly code?: string
}

/** The base of every error of this library; `code` is stable, the message is for people. */
export class WaitpointError extends Error {
  override name: string = 'WaitpointError'
  readonly code: ErrorCode

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }

  /** The error as JSON, so that the result of a wait can be the output of a task. */
  toJSON(): { readonly name: string; readonly message: string; readonly code: ErrorCode } {
    const { name, message, code } = this
    return { name, message, code }
  }
}

/**
 * A token passed its deadline before it was completed, or was withdrawn: the only way a wait can fail (docs/waitpoints.md,
 * docs/errors.md).
 */
export class WaitpointTimeoutError extends WaitpointError {
  override name: string = 'WaitpointTimeoutError'
  /** Absent: nothing came in time. */
  declare readonly withdrawn?: Withdrawal

  constructor(message: string) {
    super('ERR_TOKEN_TIMED_OUT', message)
  }
}

/** An answer does not fit its question (docs/ask-a-person.md). */
export class OutputInvalidError extends WaitpointError {
  override name: string = 'OutputInvalidError'
  readonly issues: readonly AnswerIssue[]
  /** What was answered, for a task whose schema refuses what the stored one took. */
  readonly answer: unknown

  constructor(message: string, { issues, answer }: Pick<OutputInvalidError, 'issues' | 'answer'>) {
    super('ERR_OUTPUT_INVALID', message)
    this.issues = issues
    this.answer = answer
  }
}

/** The run was canceled: its waits and its later calls of the engine reject with this. */
export class RunCanceledError extends WaitpointError {
  override name: string = 'RunCanceledError'
  readonly runId: string

  constructor(runId: string, message = `Cannot go on with run "${runId}": it was canceled`) {
    super('ERR_RUN_CANCELED', message)
    this.runId = runId
  }
}

/** A run ended without an output: `code` says how, `cause` is what the task threw last, if anything. */
export class RunFailedError extends WaitpointError {
  override name: string = 'RunFailedError'
  readonly runId: string

  constructor(
    code: ErrorCode,
    message: string,
    details: { readonly runId: string; readonly cause?: unknown },
  ) {
    super(code, message, details.cause === undefined ? undefined : { cause: details.cause })
    this.runId = details.runId
  }
}

/** A child run that `triggerAndWait` waited for did not succeed and the result was unwrapped. */
export class SubtaskUnwrapError extends WaitpointError {
  override name: string = 'SubtaskUnwrapError'
  readonly taskId: string
  readonly runId: string

  constructor(taskId: string, runId: string, cause: unknown) {
    super(
      'ERR_SUBTASK_FAILED',
      `Cannot unwrap the result of run "${runId}" of task "${taskId}": it did not succeed`,
      {
        cause,
      },
    )
    this.taskId = taskId
    this.runId = runId
  }
}

/**
 * The storage cannot be used for a while. As an `error` event it comes once for each outage, and once more, with `until`, when
 * the storage is back. A call of a run rejects with it when the call has waited for too long; see docs/operations.md.
 */
export class StorageAwayError extends WaitpointError {
  override name: string = 'StorageAwayError'

  /** When the engine noticed that the storage was away. */
  readonly since: Date
  /** When the storage was back. Absent while it is away. */
  readonly until: Date | undefined

  constructor(
    message: string,
    { since, until, cause }: { readonly since: Date; readonly until?: Date; readonly cause: unknown },
  ) {
    super('ERR_STORAGE_UNAVAILABLE', message, { cause })
    this.since = since
    this.until = until
  }
}

/** Thrown by a task to fail its run at once, without the retries it has left. */
export class AbortTaskRunError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'AbortTaskRunError'
  }
}

/** A reader asked for chunks that are no longer kept: `missed` of them are gone, `next` is the oldest there is. */
export class StreamLaggedError extends WaitpointError {
  override name: string = 'StreamLaggedError'
  readonly key: string
  readonly missed: number
  readonly next: number

  constructor(key: string, missed: number, next: number) {
    super(
      'ERR_STREAM_LAGGED',
      `Cannot read stream "${key}": ${missed} chunks are no longer kept; start at ${next}, or raise streams.historyChunks`,
    )
    this.key = key
    this.missed = missed
    this.next = next
  }
}

/** The attempt that wrote these chunks was lost; a later attempt goes on at `next`. */
export class StreamInterruptedError extends WaitpointError {
  override name: string = 'StreamInterruptedError'
  readonly key: string
  readonly next: number

  constructor(key: string, next: number) {
    super(
      'ERR_STREAM_INTERRUPTED',
      `Cannot read on in stream "${key}": the attempt that wrote it was interrupted`,
    )
    this.key = key
    this.next = next
  }
}

/** A run that has ended, as far as its error tells of it. */
export interface EndedRun {
  readonly id: string
  readonly taskId: string
  readonly status: RunStatus
}

const FAILURES: Readonly<Record<string, readonly [ErrorCode, string]>> = {
  FAILED: ['ERR_RUN_FAILED', 'it failed'],
  CANCELED: ['ERR_RUN_CANCELED', 'it was canceled'],
  TIMED_OUT: ['ERR_RUN_TIMED_OUT', 'it exceeded its maxDuration'],
  EXPIRED: ['ERR_RUN_EXPIRED', 'it expired before it could start'],
  CRASHED: ['ERR_RUN_CRASHED', 'it was interrupted too often'],
}

/** The error of a run that ended without an output; `cause` is what its task threw last. */
export function failureOf({ id, taskId, status }: EndedRun, cause: Error | undefined): RunFailedError {
  const [code, why] = FAILURES[status] ?? ['ERR_RUN_FAILED', 'it ended']
  const because = cause === undefined ? why : `${why}: ${cause.message}`
  const message = `Cannot get the output of run "${id}" of task "${taskId}": ${because}`
  return new RunFailedError(code, message, { runId: id, cause })
}
