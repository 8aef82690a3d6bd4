import type { RunRecord, TokenRecord } from '../contract/records.ts'
import type { Awaitable, TickResult } from '../contract/storage.ts'
import type { Attempt } from './attempt/attempt.ts'

/** How a tick came to be. */
export interface TickAbout {
  /** An answer was lost before, and with it what it said. */
  readonly isBehind: boolean
  /** It is time to look at what hints should have said: once in a while, or because they may have been lost. */
  readonly isFull: boolean
}

/**
 * What has happened in a part of the engine, for those above it. A part calls only parts below it; all that goes the other
 * way goes through here, and the kernel has the table of what is done then.
 */
export interface Upcalls {
  /** Something went wrong that no caller can be told. */
  failed(error: unknown, runId?: string): void
  /** The answer to a call was lost: storage may have done it all the same. */
  answerLost(what: string): void
  /** An attempt has waited for its storage for too long. */
  gaveUp(attempt: Attempt, error: Error): void
  /** A child may have been stored by a run that was canceled meanwhile. */
  leftChild(parent: Attempt, childId: string): void
  /** A run was canceled that waited for these tokens: children of it are canceled with it. */
  leftChildren(runId: string, waited: readonly string[]): void
  /** Storage has answered a tick. */
  ticked(result: TickResult, about: TickAbout): void
  /** The lease was lost: all that executes here is stale. */
  leaseLost(): void
  /** A token was settled. */
  settled(token: TokenRecord): void
  /** A run has ended. */
  ended(run: RunRecord): void
  /** A slot is free, and no run that can go on is to have it. */
  slotFreed(): void
  /** The last claim may have left runs. */
  mayHaveMore(): boolean
  /** Storage may have runs for this engine to claim. */
  claimable(): void
  /** A run that a hint has named has resumed. `tokens`: the settled ones that it waited for, unless the answer was lost. */
  woken(tokens: readonly TokenRecord[] | undefined): void
  /** A schedule may have been changed by another engine. */
  schedulesChanged(): void
  /** Storage has refused a write of the attempt. */
  stale(attempt: Attempt): void
  /** As `stale`, in a call of the attempt: answers the error for it. */
  refused(attempt: Attempt): Awaitable<Error>
  /** The code of the attempt does not fit what the run has asked before. */
  misfit(attempt: Attempt, error: Error): void
}
