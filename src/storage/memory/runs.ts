import type { RunRecord, TokenRecord, WaitRecord } from '../../contract/records.ts'
import { boundRunId, boundTo } from '../../contract/run-binding.ts'
import type {
  Inserted,
  KeyFree,
  KeyFreed,
  Page,
  PageRequest,
  RunAsked,
  RunBinding,
  RunFence,
  RunFilter,
  RunInsert,
  RunResume,
  RunResumed,
  RunsAmong,
  RunStore,
  RunUpdate,
  RunUpdated,
} from '../../contract/storage.ts'
import { itemsOf, withItem } from '../../primitives/few.ts'
import { claimRuns } from './claims.ts'
import { isHeld, isSettled, type Lane, type RunEntry } from './entries.ts'
import { fencedRun, isStale, type MemoryState, telling } from './state.ts'
import { isOwnKey, listOwn } from './own-tokens.ts'
import { type RunLedger, statusGroup } from './run-ledger.ts'
import { tokenOf } from './tokens.ts'
import { idRange, requireMadeId } from '../made-id.ts'
import { changedDraft, draftOf, finalDraft, freedAt, pushedDraft } from '../run-draft.ts'
import { isAttempted, isFinal } from '../../contract/run-states.ts'

const NONE: readonly WaitRecord[] = []

/** The runs of a memory storage. */
export function memoryRuns(state: MemoryState): RunStore {
  const { runs } = state
  return {
    insert: telling(state, insertRun),
    get: (id, among) => runAmong(runs.table.get(id)?.record, among),
    list: (filter, page) => listRuns(state, filter, page),
    waits: (id) => openWaits(runs.table.get(id)),
    asked: (id) => askedBy(state, id),
    update: telling(state, updateRun),
    claim: telling(state, claimRuns),
    park: telling(state, parkRun),
    resume: telling(state, resumeRun),
    marks: (scopes) => scopes.map((scope) => state.marks.get(scope)),
    freeKey: (request) => freeKey(state, request),
  }
}

function insertRun(state: MemoryState, request: RunInsert): Inserted<RunRecord> | 'stale' {
  const { record, push, mark } = request
  requireMadeId('runs', record)
  if (isStale(state, request)) return 'stale'
  if (mark !== undefined && record.key !== undefined) raiseMark(state, record.key.scope, mark)
  const found =
    push === undefined ? holderOf(state, request) : (boundRun(state, request) ?? pushRun(state, request))
  if (found !== undefined) return { record: found, isCached: true }
  bind(state, request, state.runs.add(record, request))
  return { record, isCached: false }
}

function raiseMark({ marks }: MemoryState, scope: string, mark: number): void {
  marks.set(scope, Math.max(mark, marks.get(scope) ?? mark))
}

/** The run that holds the key, unless it gives the key up. */
function holderOf(
  { runs: { table } }: MemoryState,
  { record: { key }, instead, mark, now }: RunInsert,
): RunRecord | undefined {
  const holder = key && (mark === undefined ? table.holder(key, now) : table.latest(key))
  return holder?.record.id === instead ? undefined : holder?.record
}

/** Puts off the run that was stored last with the key, if it can be. */
function pushRun(state: MemoryState, request: RunInsert): RunRecord | undefined {
  const { runs } = state
  const { key } = request.record
  const last = key && runs.table.latest(key)
  if (last === undefined) return undefined
  const draft = pushedDraft(last.record, request)
  if (draft === undefined) return undefined
  bind(state, request, last)
  return runs.replace(last, draft, request)
}

/** The run that the place of the insert is bound to. */
function boundRun({ runs, tokens }: MemoryState, { bind: binding, now }: RunInsert): RunRecord | undefined {
  const token = binding && tokens.holder(binding.key, binderOf(runs, binding), now)
  return token && runs.table.get(boundRunId(token.record))?.record
}

/** Binds the place of the insert, if it has one, to the run that is answered. */
function bind({ runs, tokens }: MemoryState, { bind: binding, now }: RunInsert, run: RunEntry): void {
  if (binding === undefined) return
  const binder = binderOf(runs, binding)
  tokens.add(boundTo(binding, run.id), binder, now)
  if (binder !== undefined) run.binders = withItem(run.binders, binder)
}

function binderOf({ table }: RunLedger, { runId = '' }: RunBinding): RunEntry | undefined {
  return table.get(runId)
}

function freeKey(state: MemoryState, request: KeyFree): KeyFreed | 'stale' | undefined {
  if (isStale(state, request)) return 'stale'
  const { runs, ended } = state
  const { key, now } = request
  const last = runs.table.latest(key)
  if (last === undefined) return undefined
  const { record } = last
  const isFreed = now < (record.key?.expiresAt ?? Infinity)
  if (isFreed) {
    last.record = { ...record, key: { ...key, expiresAt: freedAt(record, now) } }
    // It was kept for its key.
    if (isFinal(record.status) && !record.slot) ended.add(last, now)
  }
  return { runId: last.id, isFreed }
}

function runAmong(record: RunRecord | undefined, among: RunsAmong | undefined): RunRecord | undefined {
  if (record === undefined || among === undefined) return record
  const { taskIds, tags } = among
  const isTagged = tags === 'any' ? record.tags.length > 0 : record.tags.some((tag) => tags.includes(tag))
  return isTagged || taskIds.includes(record.taskId) ? record : undefined
}

function listRuns({ runs }: MemoryState, filter: RunFilter, page: PageRequest): Page<RunRecord> {
  const { status, taskIds, notTaskIds, tags, from, to, root, isRoot } = filter
  const isAskedFor = (taskId: string): boolean =>
    (taskIds?.includes(taskId) ?? true) && notTaskIds?.includes(taskId) !== true
  const matches = ({ record }: RunEntry): boolean =>
    (status?.includes(record.status) ?? true) &&
    isAskedFor(record.taskId) &&
    (isRoot !== true || record.parentId === undefined) &&
    (tags?.some((tag) => record.tags.includes(tag)) ?? true)
  const { records, ...cursors } = runs.table.list({
    strands: taskIds,
    notStrands: notTaskIds,
    lists: tags,
    family: root,
    groups: status?.map(statusGroup),
    matches,
    page,
    ...idRange('runs', { from, to }),
  })
  return { records: records.map((run) => run.record), ...cursors }
}

function openWaits(run: RunEntry | undefined): readonly TokenRecord[] {
  const sources = itemsOf(run?.waits).map((wait) => wait.source)
  return sources.filter((source) => !isSettled(source)).map(tokenOf)
}

function askedBy({ runs }: MemoryState, id: string): RunAsked {
  const run = runs.table.get(id)
  if (run === undefined) return { tokens: [], runs: [] }
  return { tokens: ownOf(listOwn(run.created), id), runs: ownOf(runs.table.scoped(id), id) }
}

/** The records whose key is the run's own, the oldest first. */
function ownOf<Record extends Dated>(
  entries: readonly { readonly record: Record }[],
  runId: string,
): readonly Record[] {
  const own = entries.map(({ record }) => record).filter(({ key }) => isOwnKey(key, runId))
  return own.sort((one, other) => one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1))
}

type Dated = Pick<RunRecord, 'id' | 'key' | 'createdAt'>

function updateRun({ runs, waits, hints }: MemoryState, request: RunUpdate): RunUpdated | undefined {
  const { id, expected, change, now } = request
  const run = runs.table.get(id)
  if (run === undefined) return undefined
  const { record } = run
  if (!expected.status.includes(record.status)) return undefined
  if (expected.epoch !== undefined && expected.epoch !== record.epoch) return undefined

  if (isFinal(record.status)) return updateFinal({ runs, run }, request)
  if (change.status !== undefined && isFinal(change.status)) {
    return runs.finish(run, finalDraft(record, change, now), request)
  }
  const draft = changedDraft(record, change, now)
  const isOver = !isAttempted(draft.status)
  // The attempt is over, and the next one does not need its waits.
  if (isOver) waits.dropAll(run)
  if (isOver || 'owner' in change) {
    runs.hold(run, undefined)
    draft.owner = undefined
    draft.slot = false
    draft.slotUntil = undefined
  }
  // It goes on by a claim, and any engine may make it.
  if (draft.status === 'EXECUTING' && draft.owner === undefined) hints.queue(request.by)
  return { record: runs.replace(run, draft, request), ready: NONE }
}

/** A final status stays as it is. */
function updateFinal(
  { runs, run }: Pick<MemoryState, 'runs'> & { readonly run: RunEntry },
  request: RunUpdate,
): RunUpdated | undefined {
  const { change, now } = request
  if (change.status !== undefined && change.status !== run.record.status) return undefined
  return { record: runs.replace(run, changedDraft(run.record, change, now), request), ready: NONE }
}

function parkRun(state: MemoryState, fence: RunFence): RunRecord | undefined {
  const run = fencedRun(state, fence)
  if (run === undefined) return undefined
  const { status, parks = 0 } = run.record
  if (status === 'WAITING' && parks === fence.parks) return run.record
  if (status === 'WAITING' || parks + 1 !== fence.parks) return undefined
  const draft = draftOf(run.record, fence.now)
  draft.status = 'WAITING'
  draft.parks = fence.parks
  draft.slot = false
  draft.interruptions = 0
  return state.runs.replace(run, draft, fence)
}

function resumeRun(state: MemoryState, request: RunResume): RunResumed {
  const run = fencedRun(state, request)
  if (run === undefined || run.record.parks !== request.parks) return { outcome: 'stale' }
  if (run.record.status === 'EXECUTING') return { outcome: 'resumed', record: run.record }
  const isFull = (pool: Lane): boolean => pool.slots >= state.queues.most(pool, request)
  const full = isFull(run.lane) ? run.lane : run.pools.find(isFull)
  if (full !== undefined) {
    if (isHeld(run)) state.lanes.reserve(run)
    return full === run.lane ? { outcome: 'full' } : { outcome: 'full', pool: full.id }
  }
  const draft = draftOf(run.record, request.now)
  draft.status = 'EXECUTING'
  draft.slot = true
  return { outcome: 'resumed', record: state.runs.replace(run, draft, request) }
}
