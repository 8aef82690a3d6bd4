import type { RunStatus, TokenKind, TokenStatus } from '../../contract/records.ts'

/**
 * What happened to one run, as `exportRepro` writes it into a test file and `replayHistory` reads it: values instead of JSON
 * texts, and instants as ISO 8601 texts. See docs/replaying-a-run.md.
 */
export interface RunHistory {
  /** The version of this shape. */
  readonly format: 1
  /** When the storage was read. */
  readonly readAt: string
  /** Values were replaced, so questions are found by their order where their content differs. */
  readonly isRedacted?: boolean
  readonly run: HistoryRun
  /** What the run has asked for and the tokens that its texts name, oldest first. */
  readonly tokens: readonly HistoryToken[]
  /** The runs that it has triggered and waited for, oldest first. */
  readonly children: readonly HistoryChild[]
}

/** The run itself. A value that is absent was `undefined`. */
export interface HistoryRun {
  readonly id: string
  readonly taskId: string
  readonly status: RunStatus
  /** Calls of the function, interrupted ones included. */
  readonly attempt: number
  /** Calls that count against `retry.maxAttempts`. */
  readonly policyAttempt: number
  readonly payload?: unknown
  /** As it was at the end: a storage does not keep what it was before. */
  readonly metadata?: unknown
  readonly tags: readonly string[]
  readonly parentId?: string
  readonly rootId: string
  /** What the trigger said instead of the task. */
  readonly options?: unknown
  readonly output?: unknown
  readonly error?: HistoryError
  /** The ids of the tokens that it waits for, if it has not ended. */
  readonly waitsFor?: readonly string[]
  /** The attempts that have thrown. */
  readonly attempts: readonly HistoryAttempt[]
  readonly createdAt: string
  readonly startedAt: string
  readonly finishedAt?: string
}

export interface HistoryAttempt {
  readonly number: number
  readonly startedAt: string
  readonly endedAt: string
  readonly error: HistoryError
}

export interface HistoryError {
  readonly name: string
  readonly message: string
  readonly code?: string
}

/** A place in the name space of keys. */
export interface HistoryKey {
  readonly scope: string
  readonly value: string
}

export interface HistoryToken {
  readonly id: string
  readonly kind: TokenKind
  readonly status: TokenStatus
  readonly output?: unknown
  /** Why the result of an effect could not be stored. */
  readonly notStored?: string
  readonly timeoutAt?: string
  readonly tags: readonly string[]
  readonly key?: HistoryKey
  /** The run that created it, if one did. */
  readonly runId?: string
  readonly createdAt: string
  readonly completedAt?: string
}

export interface HistoryChild {
  readonly id: string
  readonly taskId: string
  readonly status: RunStatus
  readonly payload?: unknown
  readonly output?: unknown
  readonly error?: HistoryError
  readonly tags: readonly string[]
  readonly key?: HistoryKey
  readonly createdAt: string
  readonly finishedAt?: string
}
