import type { KeyRecord } from '../../contract/records.ts'
import { type EndedEntry, RunEntry, type TokenEntry } from './entries.ts'
import { isOwnKey } from './own-tokens.ts'
import { isFinal } from '../../contract/run-states.ts'
import { findItem } from '../../primitives/few.ts'

/*
 * Why an ended record stays: its idempotency key has not expired, a run that is not over can still see it, or it is an
 * answer that the run it was given for may be yet to ask for.
 */

/** Until when the entry stays, whatever becomes of runs. An answer that a run has had is kept with that run instead. */
export function neededUntil(entry: EndedEntry): number {
  const keyEnd = keptUntil(entry.record.key)
  if (entry instanceof RunEntry || entry.isAnswered) return keyEnd
  return Math.max(keyEnd, answerableUntil(entry))
}

/**
 * The deadline of a completed token that no run created: the run that it was completed for may begin to wait for it until
 * then. A token that a run created is kept with that run.
 */
export function answerableUntil({ record }: TokenEntry): number {
  const isAnswer = record.kind === 'MANUAL' && record.status === 'COMPLETED' && record.runId === undefined
  return isAnswer ? (record.timeoutAt ?? -Infinity) : -Infinity
}

/** A run that is not over and may still need the entry: one that created it, asked for it or is bound to it, or the root of the first. */
export function userOf(entry: EndedEntry, runOf: (id: string) => RunEntry | undefined): RunEntry | undefined {
  const creator = entry instanceof RunEntry ? entry : entry.creator
  if (creator === undefined) return undefined
  if (isLive(creator)) return creator
  const { rootId } = creator.record
  // A child without a waiting parent outlives its root.
  const root = rootId === creator.id ? undefined : runOf(rootId)
  if (root !== undefined && isLive(root)) return root
  if (!(entry instanceof RunEntry)) return undefined
  const asker = askerOf(entry, runOf)
  return asker !== undefined && isLive(asker) ? asker : findItem(entry.binders, isLive)
}

function isLive(run: RunEntry): boolean {
  return !isFinal(run.record.status)
}

/** The run that a child is asked for by, with a key of its own: it asks again when it is executed again. */
function askerOf(
  { record: { key } }: RunEntry,
  runOf: (id: string) => RunEntry | undefined,
): RunEntry | undefined {
  return key === undefined || !isOwnKey(key, key.scope) ? undefined : runOf(key.scope)
}

/** Until when a key keeps its record. A key without an end is valid as long as there is a record: it keeps nothing. */
function keptUntil(key: KeyRecord | undefined): number {
  return key?.expiresAt ?? -Infinity
}
