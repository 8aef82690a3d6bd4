import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type {
  PageRequest,
  TokenAwait,
  TokenAwaited,
  TokenChange,
  TokenChanged,
  TokenFilter,
  TokenInsert,
  TokenInserted,
  TokenPage,
  TokenRead,
  TokenSettle,
  TokenSettled,
  TokenStore,
} from '../../contract/storage.ts'
import { idRange, requireMadeId } from '../made-id.ts'
import type { TokenEnd } from '../run-draft.ts'
import { isHeld, RunEntry, type TokenEntry, type WaitSource } from './entries.ts'
import { fencedRun, isStale, type MemoryState, telling, waitSource } from './state.ts'
import { tokenOfRun } from '../../contract/run-states.ts'

/** The tokens of a memory storage. */
export function memoryTokens(state: MemoryState): TokenStore {
  const { hints } = state
  return {
    insert: telling(state, insertToken),
    get(id, now, extras) {
      const source = waitSource(state, id)
      const token = source && readToken(state, source, now)
      hints.flush()
      const most = extras?.waiters
      if (token === undefined || most === undefined) return token
      return { ...token, waiters: state.waits.waiters(source, most) }
    },
    list(filter, page, now) {
      const listed = listTokens(state, filter, { now, ...page })
      hints.flush()
      return listed
    },
    await: telling(state, awaitToken),
    settle: telling(state, settleToken),
    change: telling(state, changeToken),
    release(waits) {
      for (const wait of waits) releaseWait(state, wait)
    },
  }
}

/** The record of what a run can wait for; for a run the one that stands for its end. */
export function tokenOf(source: WaitSource): TokenRecord {
  return source instanceof RunEntry ? tokenOfRun(source.record) : source.record
}

function insertToken(state: MemoryState, request: TokenInsert): TokenInserted | 'stale' {
  if (request.record.kind === 'MANUAL') requireMadeId('tokens', request.record)
  if (isStale(state, request)) return 'stale'
  const { runs, tokens } = state
  const { record, now } = request
  const creator = record.runId === undefined ? undefined : runs.table.get(record.runId)
  const holder = record.key && tokens.holder(record.key, creator, now)
  if (holder !== undefined) return { ...readToken(state, holder, now), isCached: true }
  tokens.add(record, creator, now)
  if (record.kind === 'MANUAL') state.hints.token(request.by)
  return { record, isCached: false }
}

/** Settles a token past its deadline before it is answered. No owner did that, so all owners are told. */
function readToken({ tokens }: MemoryState, source: WaitSource, now: number): TokenRead {
  const settledNow = !(source instanceof RunEntry) && tokens.settleIfDue(source, { now }) !== undefined
  return { record: tokenOf(source), settledNow }
}

function listTokens(
  { runs, tokens }: MemoryState,
  filter: TokenFilter,
  { now, ...page }: PageRequest & { readonly now: number },
): TokenPage {
  const settled: TokenRecord[] = []
  const { kind, status, tags, key, from, to } = filter
  const matches = (token: TokenEntry): boolean => {
    const { record } = token
    if (record.kind !== kind) return false
    if (tags !== undefined && !tags.some((tag) => record.tags.includes(tag))) return false
    if (tokens.settleIfDue(token, { now }) !== undefined) settled.push(token.record)
    return status?.includes(token.record.status) ?? true
  }
  const among = key && tokens.keyed(key, runs.table.get(key.scope))
  const { records, ...cursors } = tokens.table.list({
    strands: [kind],
    lists: tags,
    among,
    groups: status && tokens.groupsOf(status, now),
    matches,
    page,
    ...idRange('tokens', { from, to }),
  })
  return { records: records.map((token) => token.record), ...cursors, settled }
}

function awaitToken(state: MemoryState, { tokenId, runId, epoch, by, now }: TokenAwait): TokenAwaited {
  const run = fencedRun(state, { id: runId, epoch, by })
  if (run === undefined) return { outcome: 'stale' }
  const source = waitSource(state, tokenId)
  if (source === undefined) return { outcome: 'unknown' }
  if (!(source instanceof RunEntry)) state.tokens.asked(source, run)
  const { record: token, settledNow } = readToken(state, source, now)
  if (token.status !== 'WAITING') return { outcome: 'settled', token, settledNow }
  state.waits.add(run, source)
  // Its owner is gone, though not in its own eyes: the run can be claimed once the token is due.
  if (!isHeld(run) && run.line === undefined) state.schedule.renew(run, now)
  return { outcome: 'registered', token }
}

function settleToken(state: MemoryState, request: TokenSettle): TokenSettled | 'stale' | undefined {
  if (isStale(state, request)) return 'stale'
  const { tokens } = state
  const { id, outputJson, question, answeredJson, now } = request
  const token = tokens.table.get(id)
  if (token === undefined) return undefined
  const late = tokens.settleIfDue(token, request)
  if (late !== undefined || !isAsking(token, question)) {
    return { record: token.record, won: false, settledNow: late !== undefined, ready: late ?? [] }
  }
  const completedAt = Math.max(token.record.createdAt, now)
  const end: TokenEnd = request.isTimeOut
    ? { status: 'TIMED_OUT', timeoutAt: completedAt, completedAt }
    : { status: 'COMPLETED', outputJson, completedAt }
  const ready = tokens.settle(token, answeredJson === undefined ? end : { ...end, answeredJson }, request)
  return { record: token.record, won: true, settledNow: true, ready }
}

function changeToken(state: MemoryState, request: TokenChange): TokenChanged | 'stale' | undefined {
  if (isStale(state, request)) return 'stale'
  const token = state.tokens.table.get(request.id)
  if (token === undefined) return undefined
  const { settledNow } = readToken(state, token, request.now)
  const changed = isAsking(token, request.question)
  if (changed) state.tokens.change(token, request)
  return { record: token.record, changed, settledNow }
}

/** Whether a token that is not past its deadline can be settled by an answer to `question`. */
function isAsking({ record }: TokenEntry, question: string | undefined): boolean {
  return record.status === 'WAITING' && record.questionJson === question
}

/** A parked run without an owner keeps its waits: they wake it, and no living owner can release them. */
function releaseWait(state: MemoryState, { tokenId, runId, owner }: WaitRecord): void {
  const run = state.runs.table.get(runId)
  const source = waitSource(state, tokenId)
  if (run === undefined || source === undefined) return
  if (run.record.status === 'WAITING' && !isHeld(run)) return
  const wait = state.waits.find(run, source)
  if (wait?.owner === owner) state.waits.drop(wait)
}
