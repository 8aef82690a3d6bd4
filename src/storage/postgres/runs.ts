import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type {
  KeyFree,
  KeyFreed,
  Page,
  PageRequest,
  RunClaim,
  RunClaimed,
  RunFence,
  RunFilter,
  RunInsert,
  RunInserted,
  RunResume,
  RunResumed,
  RunStore,
  RunUpdate,
  RunUpdated,
} from '../../contract/storage.ts'
import { idRange, requireMadeId } from '../made-id.ts'
import type { HintCollector } from './hints.ts'
import { inTransaction } from './joined.ts'
import {
  amongColumns,
  changeColumns,
  endColumns,
  claimColumns,
  fenceColumns,
  keyLock,
  keyLockColumns,
  locksKey,
  pushColumns,
  runColumns,
  tokenColumns,
} from './requests.ts'
import {
  type EndAnswer,
  endedRun,
  type PostgresSession,
  readyWaits,
  type RunAnswer,
  runOf,
} from './session.ts'
import type { CallKind } from './turns.ts'
import { isFinal, runTokenId, tokenOfRun } from '../../contract/run-states.ts'
import { readPostgresPage } from './pages.ts'
import type { Row } from '../../contract/columns.ts'
import { tokenOfRow } from '../../generated/token-record.ts'

type InsertAnswer = 'stale' | 'taken' | readonly [isCached: 0 | 1, run?: RunAnswer, isClaimed?: boolean]

interface ClaimAnswer {
  readonly runs: readonly RunAnswer[]
  readonly ended: readonly EndAnswer[]
  /** There are more runs, which another transaction had locked. */
  readonly isPassedOver?: boolean
  readonly isHeldBack?: true | null
  readonly nextStartAt?: number | null
  readonly isTrialDue?: true | null
}

/** `limited`: the queues of which something is set. */
type ClaimAnswers = readonly [answer: ClaimAnswer, isStirred: boolean, limited: readonly string[] | null]

/** A token, or the run whose end it stands for. */
type SourceAnswer = readonly [token: Row | null, run: RunAnswer | null]

type FreedAnswer = readonly [runId: string, isFreed: boolean]

type AskedAnswer = readonly [tokens: readonly Row[], runs: readonly RunAnswer[]]

interface ResumeAnswer {
  readonly run: RunAnswer
  readonly tokens?: readonly SourceAnswer[]
}

const lockOf = (request: { readonly id: string }): string => request.id

const INSERT: CallKind = { name: 'insert_runs', isRepeatable: true, tellsHeld: true, locksKey }
const GET: CallKind = { name: 'get_runs', isRepeatable: true }
const GET_AMONG: CallKind = { name: 'get_runs_among', isRepeatable: true }
const WAITS: CallKind = { name: 'open_waits', isRepeatable: true }
const ASKED: CallKind = { name: 'asked_runs', isRepeatable: true }
const UPDATE: CallKind = { name: 'update_runs', isRepeatable: true, lockOf }
const END: CallKind = { name: 'end_runs', isRepeatable: true, lockOf }
const CLAIM: CallKind = { name: 'claim_runs', isSingle: true }
const PARK: CallKind = { name: 'park_runs', isRepeatable: true, lockOf }
/** Busy processes that share a queue wait for each other: longer than other turns, and less than a server takes for a deadlock. */
const RESUME: CallKind = { name: 'resume_runs', isRepeatable: true, lockOf, patienceMs: 500 }
const FREE_KEY: CallKind = { name: 'free_keys', isRepeatable: true, locksKey }
const MARKS: CallKind = { name: 'get_marks', isRepeatable: true }
const LIST: CallKind = { name: 'list_runs', isRepeatable: true, isSingle: true }
const LIST_LATE: CallKind = { ...LIST, mayLag: true }

/** The runs of a Postgres storage. */
export function postgresRuns(session: PostgresSession): RunStore {
  const { ask } = session
  return {
    insert: (request) => inTransaction(session, request.transaction, (joined) => insertRun(joined, request)),
    async get(id, among) {
      const asked =
        among === undefined ? ask(GET, id, id) : ask(GET_AMONG, { id, ...amongColumns(among) }, id)
      const answer = (await asked) as RunAnswer | undefined
      return answer && runOf(answer)
    },
    list: (filter, page) => listRuns(session, filter, page),
    async waits(id) {
      return ((await ask(WAITS, id, id)) as readonly SourceAnswer[]).map(sourceOf)
    },
    async asked(id) {
      const [tokens, children] = (await ask(ASKED, id, id)) as AskedAnswer
      return { tokens: tokens.map(tokenOfRow), runs: children.map(runOf) }
    },
    update: (request) => updateRun(session, request),
    claim: (request) => claimRuns(session, request),
    park: (fence) => parkRun(session, fence),
    resume: (request) => resumeRun(session, request),
    async marks(scopes) {
      const answer = (await ask(MARKS, scopes)) as readonly (number | null)[] | null
      return (answer ?? []).map((mark) => mark ?? undefined)
    },
    freeKey: (request) => freeKey(session, request),
  }
}

async function insertRun(
  { ask, hints }: PostgresSession,
  request: RunInsert,
): Promise<RunInserted | 'stale'> {
  const { record, now, by, fence } = request
  requireMadeId('runs', record)
  const columns = {
    run: runColumns(record),
    by_owner: by,
    now,
    ...keyLockColumns(request),
    instead: request.instead,
    mark: request.mark,
    push: request.push && pushColumns(request.push),
    bind: request.bind && tokenColumns(request.bind),
    tries: request.transaction === undefined,
  }
  const key = fence?.runId ?? record.id
  const asked = { ...columns, ...fenceColumns(request), ...claimColumns(request) }
  const answer = (await ask(INSERT, asked, key)) as InsertAnswer
  if (answer === 'stale') return 'stale'
  if (answer === 'taken') throw new Error(`Cannot insert run "${record.id}": there is one of this id already`)
  const [isCached, stored, isClaimed = false] = answer
  const found = { record: stored === undefined ? record : runOf(stored), isCached: isCached === 1 }
  const inserted = isClaimed ? { ...found, isClaimed } : found
  tellInserted(hints, request, inserted)
  return inserted
}

function tellInserted(
  hints: HintCollector,
  { record, push, transaction, by }: RunInsert,
  { record: known, isCached, isClaimed = false }: RunInserted,
): void {
  if (isClaimed) hints.claimed(record, by)
  else if (!isCached && record.status === 'QUEUED') hints.queue(by, record)
  else {
    if (!isCached) hints.queue(by)
    if (!isCached || push !== undefined) hints.run(known.id, by, true)
  }
  // When it is due is known to a tick only, where the caller has not been told.
  if (transaction !== undefined && (record.wakeAt ?? record.expiresAt) !== undefined)
    hints.waits(by, undefined)
}

async function listRuns(
  { ask }: PostgresSession,
  { status, taskIds, notTaskIds, tags, from, to, root, isRoot }: RunFilter,
  page: PageRequest,
): Promise<Page<RunRecord>> {
  const filter = {
    statuses: status,
    task_ids: taskIds,
    not_task_ids: notTaskIds,
    tags,
    root,
    is_root: isRoot,
    ...idRange('runs', { from, to }),
  }
  const kind = page.mayLag === true ? LIST_LATE : LIST
  const { rows, ...cursors } = await readPostgresPage<RunRecord>(page, async (range) => {
    const answer = (await ask(kind, { ...filter, ...range })) as readonly RunAnswer[]
    return answer.map(runOf)
  })
  return { records: rows, ...cursors }
}

async function updateRun(session: PostgresSession, request: RunUpdate): Promise<RunUpdated | undefined> {
  const { id, expected, change, by, now } = request
  const columns = { id, statuses: expected.status, epoch: expected.epoch, now, call: session.newCall() }
  const end = endColumns(request)
  const asked =
    end === undefined
      ? session.ask(UPDATE, { ...columns, change: changeColumns(change) }, id)
      : session.ask(END, { ...columns, ...end }, id)
  const answer = (await asked) as EndAnswer | undefined
  if (answer === undefined) return undefined
  const [values, ready] = answer
  const record = runOf(values)
  if (change.status !== undefined && isFinal(change.status)) return endedRun(session.hints, answer, by)
  session.hints.run(id, by, !isFinal(record.status))
  if (!record.slot) session.hints.freed(record.queue, by)
  // A run that is put off is to be claimed again, as is one that goes on after it stood still.
  if (record.status === 'QUEUED' || isUnheld(record)) session.hints.queue(by)
  return { record, ready: readyWaits(session.hints, ready, { tokenId: runTokenId(id), by }) }
}

async function claimRuns({ ask, hints, learnLimits }: PostgresSession, claim: RunClaim): Promise<RunClaimed> {
  const {
    by,
    now,
    number,
    taskIds,
    versions,
    limit,
    queueLimits,
    queueRates,
    maxInterruptions,
    suspects,
    isTrial,
  } = claim
  learnLimits(queueLimits.keys())
  const limits = queueLimits.size === 0 ? null : Object.fromEntries(queueLimits)
  const columns = { by_owner: by, now, number, task_ids: [...new Set(taskIds)], most: wholeOf(limit), limits }
  const known = versions && Object.fromEntries(versions)
  const rates = queueRates && Object.fromEntries(queueRates)
  const cautions = { max_interruptions: maxInterruptions, suspects, is_trial: isTrial }
  const request = { ...columns, ...cautions, versions: known, rates }
  const answered = hints.asking(by)
  const [answer, isStirred, limited] = (await ask(CLAIM, request, by)) as ClaimAnswers
  // A process that came later has not heard of it when the limit was set.
  if (limited !== null) learnLimits(limited)
  if (isStirred) hints.queue(by)
  if (answer.isPassedOver === true) hints.left(by)
  const runs = answer.runs.map(runOf)
  for (const run of runs) hints.claimed(run, by)
  const ended = answer.ended.map((end) => endedRun(hints, end, by))
  const { isHeldBack, nextStartAt, isTrialDue, isPassedOver = false } = answer
  const isLeft = isPassedOver || isHeldBack === true || isTrialDue === true || typeof nextStartAt === 'number'
  answered(runs.length === limit || isLeft)
  return { runs, ended, ...told(answer) }
}

function told({ isHeldBack, nextStartAt, isTrialDue }: ClaimAnswer): Partial<RunClaimed> {
  return {
    isHeldBack: isHeldBack ?? undefined,
    nextStartAt: nextStartAt ?? undefined,
    isTrialDue: isTrialDue ?? undefined,
  }
}

async function parkRun(
  { ask, hints }: PostgresSession,
  { id, epoch, parks, by, now }: RunFence,
): Promise<RunRecord | undefined> {
  const answer = (await ask(PARK, { id, epoch, parks, by_owner: by, now }, id)) as RunAnswer | undefined
  if (answer === undefined) return undefined
  const record = runOf(answer)
  hints.run(id, by, true)
  hints.freed(record.queue, by)
  return record
}

async function resumeRun(
  { ask, hints, learnLimits }: PostgresSession,
  { id, epoch, parks, by, now, queueLimit = Infinity, isHinted = false }: RunResume,
): Promise<RunResumed> {
  const isLimited = queueLimit !== Infinity
  const columns = { id, epoch, parks, by_owner: by, now, queue_limit: isLimited ? queueLimit : null }
  const request = isHinted ? { ...columns, is_hinted: true } : columns
  const answer = (await ask(RESUME, request, id)) as ResumeAnswer | 'full' | 'stale'
  if (answer === 'full' || answer === 'stale') return { outcome: answer }
  const record = runOf(answer.run)
  if (isLimited) learnLimits([record.queue])
  hints.run(id, by, true)
  return { outcome: 'resumed', record, ...(answer.tokens && { tokens: answer.tokens.map(sourceOf) }) }
}

async function freeKey({ ask }: PostgresSession, request: KeyFree): Promise<KeyFreed | 'stale' | undefined> {
  const { key, by, now } = request
  const { scope, value } = key
  const asked = { scope, value, now, by_owner: by, key_lock: keyLock(key), ...fenceColumns(request) }
  const answer = (await ask(FREE_KEY, asked)) as FreedAnswer | 'stale' | undefined
  if (answer === undefined || answer === 'stale') return answer
  const [runId, isFreed] = answer
  return { runId, isFreed }
}

function isUnheld({ status, owner }: RunRecord): boolean {
  return status === 'EXECUTING' && owner === undefined
}

/** Any number may be asked for; a column is whole. */
function wholeOf(limit: number): number {
  return Math.min(limit, 1_000_000)
}

function sourceOf([token, run]: SourceAnswer): TokenRecord {
  if (token !== null && token['id'] !== null) return tokenOfRow(token)
  if (run === null) throw new Error('Cannot read a wait: Postgres answered neither its token nor its run')
  return tokenOfRun(runOf(run))
}
