import type { RunStatus, TokenKind } from '../contract/records.ts'
import type { QueueRate } from '../contract/storage.ts'
import type { StoredError } from './errors.ts'
import type { RunOwner } from './run-owner.ts'

/** Why a run stands where it stands, as `runs.explain` answers it. `reason` tells the shapes apart. See docs/operations.md. */
export type RunExplanation = ExplainedRun & ExplainedReason

/** What every explanation has. */
export interface ExplainedRun {
  readonly id: string
  readonly status: RunStatus
  /** One sentence for people, in English. Instants are ISO 8601 in UTC. The text may change with every version. */
  readonly sentence: string
}

/** The reason of an explanation, with its data. */
export type ExplainedReason =
  | ExplainedEnd
  | ExplainedDelay
  | ExplainedRetry
  | ExplainedUnknownTask
  | ExplainedQueue
  | ExplainedWaits
  | ExplainedExecution
  | ExplainedMismatch

/** The run has ended. */
export interface ExplainedEnd {
  readonly reason: 'ended'
  readonly at?: Date
  readonly error?: StoredError
}

/** The run is put off. */
export interface ExplainedDelay {
  readonly reason: 'delayed'
  readonly until: Date
  /** The key of `debounce`: a trigger with it puts the run off further, unless a newer run has the key. */
  readonly debounceKey?: string
}

/** The last attempt failed, and the next one begins later. */
export interface ExplainedRetry {
  readonly reason: 'retrying'
  readonly at: Date
  /** The attempt that comes, as `maxAttempts` counts them: from 1. */
  readonly attempt: number
  /** Absent for a task that this engine does not know. */
  readonly maxAttempts?: number
  /** The error of the last attempt. */
  readonly error?: StoredError
}

/** The run is to be executed, and this engine does not know its task. */
export interface ExplainedUnknownTask {
  readonly reason: 'unknown task'
  readonly taskIdentifier: string
}

/** The run is to be executed, and has no slot. */
export interface ExplainedQueue {
  readonly reason: 'queued'
  readonly queue: string
  readonly concurrencyKey?: string
  /** The limit of the queue that is in force. Absent for a queue without one. */
  readonly limit?: number
  /** Whether the queue is paused: no run of it gets a slot. */
  readonly isPaused: boolean
  /** The rate of the queue that is in force. Absent for a queue without one. */
  readonly rate?: QueueRate
  /** A further limit of the run that holds it back. */
  readonly heldBackBy?: ExplainedLimit
  /** When the rate lets the next run of the queue start, under the key of the run. Absent: now. */
  readonly nextStartAt?: Date
  /** Runs that hold a slot of the queue, under the key of the run: ids, at most 200. */
  readonly heldBy: readonly string[]
  /** Runs that are queued there and come first, by their age and priority: of the 200 older and the 200 newer ones. */
  readonly ahead: number
  /** Whether there may be more than `ahead`: not all were counted. */
  readonly isMore: boolean
  /** When the run expires if it has not started by then. */
  readonly expiresAt?: Date
}

/** A limit that has no slot for a run: over all keys (`total`), for the key of the run (`perKey`), or none at all while it is paused. */
export interface ExplainedLimit {
  readonly name: string
  readonly isPaused: boolean
  readonly total?: number
  readonly perKey?: number
  /** Runs that hold its slots: ids, at most 200. */
  readonly heldBy: readonly string[]
}

/** The run waits: for tokens, for a time, or for child runs. */
export interface ExplainedWaits {
  readonly reason: 'waiting'
  /** In order of registration. Empty: all its waits are settled, and it is in line for a slot. */
  readonly waits: readonly ExplainedWait[]
}

/** A token, a sleep or a child run that a run waits for. */
export interface ExplainedWait {
  /** The id of the token, or of the child run. */
  readonly id: string
  readonly kind: TokenKind
  readonly tags: readonly string[]
  readonly createdAt: Date
  /** When the token times out, or the sleep ends. */
  readonly timeoutAt?: Date
  /** The child run: its task. */
  readonly taskIdentifier?: string
  /** The child run: its status. */
  readonly status?: RunStatus
}

/** The function of the run is being called. */
export interface ExplainedExecution {
  readonly reason: 'executing'
  /** The call of the function, counted from 1 with the interrupted ones. */
  readonly attempt: number
  /** The engine that executes it. Absent: none does, and the next engine with a free slot takes it over. */
  readonly owner?: RunOwner
  /** The first start of the run. */
  readonly startedAt?: Date
  /** The last change of the record: its claim, its last resume, or new metadata. */
  readonly changedAt: Date
  /** The function has returned, and its streams are drained. */
  readonly isDraining: boolean
}

/** The run waits for code that fits it. See docs/changing-code.md. */
export interface ExplainedMismatch {
  readonly reason: 'pending version'
  /** The version of the code that the run began on. */
  readonly version?: string
  readonly error?: StoredError
}
