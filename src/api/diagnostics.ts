import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { LogLine } from './log.ts'

/**
 * The messages of an engine by the names of their channels of `node:diagnostics_channel`. A subscriber is called within
 * the work that it hears of: it must be quick and must not throw. Instants are epoch milliseconds by the clock of the
 * engine; `engine` is the name of its lease; records are those of the storage. See docs/operations.md#channels.
 *
 * @example
 * ```ts
 * import { subscribe } from 'node:diagnostics_channel'
 * import type { DiagnosticMessages } from 'waitpoint'
 *
 * subscribe('waitpoint:run.end', (message) => {
 *   const { run } = message as DiagnosticMessages['waitpoint:run.end']
 *   console.log(run.id, run.status)
 * })
 * ```
 */
export interface DiagnosticMessages {
  /** A run is about to be stored. */
  readonly 'waitpoint:run.trigger': RunTriggerMessage
  /** This engine has made a run: its trigger found none by its idempotency key, or as the child of an earlier attempt. */
  readonly 'waitpoint:run.create': RunCreateMessage
  /** This engine has ended a run. */
  readonly 'waitpoint:run.end': RunEndMessage
  /** An attempt begins, parks, resumes, and ends. */
  readonly 'waitpoint:attempt': AttemptMessage
  /** A run begins to wait, and stops waiting. */
  readonly 'waitpoint:wait': WaitMessage
  /** This engine has settled a token. */
  readonly 'waitpoint:token.settle': TokenSettleMessage
  /** The storage has answered, or failed. */
  readonly 'waitpoint:storage': StorageCallMessage
  /** The engine has renewed its lease, or lost it. */
  readonly 'waitpoint:lease': LeaseMessage
  /** A task has logged a line. */
  readonly 'waitpoint:log': LogMessage
}

/** A text map that is stored with a run, such as a W3C trace context. */
export type TraceCarrier = Record<string, string>

/** A run that is about to be stored. */
export interface RunTriggerMessage {
  readonly engine: string
  readonly at: number
  readonly run: RunRecord
  /** What a subscriber writes here is stored with the run, up to 4,096 characters, and is in the messages of its attempts. */
  readonly carrier: TraceCarrier
}

/** A run that was stored as a new one. */
export interface RunCreateMessage {
  readonly engine: string
  readonly at: number
  readonly run: RunRecord
}

/** A run that has ended. */
export interface RunEndMessage {
  readonly engine: string
  readonly at: number
  readonly run: RunRecord
}

/** A step of an attempt. */
export type AttemptMessage = AttemptBeginMessage | AttemptParkMessage | AttemptEndMessage

/** The attempt that a message is about. */
export interface AttemptDetails {
  readonly engine: string
  readonly at: number
  /** One object for all messages of an attempt. */
  readonly attempt: object
  /** The run as it is now. Its `attempt` counts calls of the function, its `policyAttempt` those that count for the policy. */
  readonly run: RunRecord
}

/** The function of a task is about to be called. */
export interface AttemptBeginMessage extends AttemptDetails {
  readonly phase: 'begin'
  /** The map that was stored with the run, if any. */
  readonly carrier: Readonly<TraceCarrier> | undefined
  /** Calls the function. A subscriber may put a function of its own around it, which calls it and returns its answer. */
  call: () => unknown
}

/** A run gives its slot back because it waits, or has a slot again. */
export interface AttemptParkMessage extends AttemptDetails {
  readonly phase: 'park' | 'resume'
}

/** The function of a task has settled, or its attempt was ended from outside. */
export interface AttemptEndMessage extends AttemptDetails {
  readonly phase: 'end'
  readonly outcome: 'returned' | 'threw' | 'aborted'
  /** The value that was thrown, or the reason of the abort. */
  readonly error: unknown
}

/** A run begins to wait for a token, or stops waiting. A wait whose token was settled before has only an end. */
export interface WaitMessage {
  readonly phase: 'begin' | 'end'
  readonly engine: string
  readonly at: number
  /** One object for both messages of a wait. */
  readonly wait: object
  /** See {@link AttemptDetails}. When an attempt ends, so do its waits, without a message. */
  readonly attempt: object
  readonly run: RunRecord
  /** That of a child run is `run:<run id>`. */
  readonly tokenId: string
  /** Absent if the signal of the wait dropped it: that is its end. */
  readonly token: TokenRecord | undefined
}

/** A token that was settled. */
export interface TokenSettleMessage {
  readonly engine: string
  readonly at: number
  readonly token: TokenRecord
}

/** A call of the storage that was answered or failed. */
export interface StorageCallMessage {
  readonly engine: string
  /** The method: `runs.insert`, `tick`. */
  readonly call: string
  readonly calledAt: number
  readonly at: number
  /** Why it failed. Absent: it was answered. */
  readonly error?: unknown
}

/** The lease of an engine. */
export interface LeaseMessage {
  readonly engine: string
  readonly at: number
  readonly outcome: 'renewed' | 'lost'
}

/** A line that was logged. */
export interface LogMessage {
  readonly engine: string
  readonly line: LogLine
}
