import type { PruneRequest } from '../../contract/storage.ts'
import { keptUntil } from './ended-entries.ts'
import { findItem } from '../../primitives/few.ts'
import { RunEntry, type TokenEntry, type WaitSource } from './entries.ts'
import { listOwn } from './own-tokens.ts'
import type { MemoryState } from './state.ts'
import { isFinal } from '../../contract/run-states.ts'

/** `prune`: drops what ended first, until `limit` records are gone or nothing more may go. */
export function pruneMemory(state: MemoryState, request: PruneRequest): number {
  const { before, keep = Infinity, limit, now } = request
  const { ended, leases } = state
  leases.forget(before)
  ended.releaseKeys(now)
  let dropped = 0
  while (dropped < limit) {
    const { oldest } = ended
    if (oldest === undefined || (oldest.at >= before && ended.count <= keep)) break
    if (isKept(state, oldest, now)) continue
    dropped += oldest instanceof RunEntry ? dropRun(state, oldest, limit - dropped) : dropToken(state, oldest)
  }
  return dropped
}

/** Whether the entry may still be needed. Then it is set aside until it is not. */
function isKept({ runs, ended }: MemoryState, entry: WaitSource, now: number): boolean {
  const { record } = entry
  const keyEnd = keptUntil(record.key)
  if (now < keyEnd) {
    ended.keepUntil(entry, keyEnd)
    return true
  }
  const creator = entry instanceof RunEntry ? entry : entry.creator
  const root = creator && runs.table.get(creator.record.rootId)
  // A child without a waiting parent outlives its root.
  const isUser = (run: RunEntry | undefined): boolean => run !== undefined && isLive(run)
  const user = [root, creator].find(isUser) ?? findItem(entry.waiters, () => true)?.run
  if (user !== undefined) ended.keepFor(entry, user)
  return user !== undefined
}

function isLive(run: RunEntry): boolean {
  return !isFinal(run.record.status)
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
