import type { PruneRequest } from '../../contract/storage.ts'
import type { EndedEntries } from './ended-entries.ts'
import { type EndedEntry, RunEntry, type TokenEntry } from './entries.ts'
import { findItem } from '../../primitives/few.ts'
import { answerableUntil } from './needs.ts'
import { listOwn } from './own-tokens.ts'
import type { MemoryState } from './state.ts'

/** `prune`: drops what ended first, until `limit` records are gone or nothing more may go. */
export function pruneMemory(state: MemoryState, request: PruneRequest): number {
  const { before, keep = Infinity, keepBytes = Infinity, limit, now } = request
  const { ended, leases } = state
  leases.forget(before)
  ended.releaseDue(now)
  let dropped = 0
  while (dropped < limit) {
    const { oldest } = ended
    const isSurplus = ended.count > keep || ended.bytes > keepBytes
    if (oldest === undefined || (oldest.at >= before && !isSurplus)) break
    if (isKept(ended, oldest, { now, isSurplus })) continue
    dropped += oldest instanceof RunEntry ? dropRun(state, oldest, limit - dropped) : dropToken(state, oldest)
  }
  return dropped
}

/**
 * Whether the entry is needed, which it was not when it entered the order. Then it is set aside until it is not. By its age
 * an answer goes after the deadline of its token only; by the number to keep also when a run that had it has ended.
 */
function isKept(ended: EndedEntries, entry: EndedEntry, { now, isSurplus }: Occasion): boolean {
  const waiter = findItem(entry.waiters, () => true)?.run
  const user = waiter ?? (isSurplus && !(entry instanceof RunEntry) ? entry.asker : undefined)
  if (user !== undefined) {
    ended.keepFor(entry, user)
    return true
  }
  const until = isSurplus || entry instanceof RunEntry ? -Infinity : answerableUntil(entry)
  if (now >= until) return false
  ended.keepUntil(entry, until)
  return true
}

interface Occasion {
  readonly now: number
  /** There are more than may stay, whatever their age. */
  readonly isSurplus: boolean
}

/** The run goes last, after as many of its own tokens as the budget allows. */
function dropRun({ runs, tokens, ended }: MemoryState, run: RunEntry, budget: number): number {
  const own = listOwn(run.created).filter(belongsToRun)
  for (const token of own.slice(0, budget)) {
    if (token.record.status !== 'WAITING') ended.drop(token)
    tokens.drop(token)
  }
  if (own.length >= budget) return budget
  // Tokens that outlive the run must not keep it in memory.
  for (const token of listOwn(run.created)) token.creator = undefined
  ended.drop(run)
  runs.drop(run)
  return own.length + 1
}

/** A token made by hand has a life of its own; the others mean something to their run only. */
function belongsToRun(token: TokenEntry): boolean {
  return token.record.kind !== 'MANUAL' && token.waiters === undefined
}

function dropToken({ tokens, ended }: MemoryState, token: TokenEntry): number {
  ended.drop(token)
  tokens.drop(token)
  return 1
}
