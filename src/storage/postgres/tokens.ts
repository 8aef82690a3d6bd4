import type { TokenRecord } from '../../contract/records.ts'
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
import { inTransaction } from './joined.ts'
import {
  fenceColumns,
  keyLockColumns,
  locksKey,
  resumeColumns,
  tokenColumns,
  waitColumns,
} from './requests.ts'
import { type PostgresSession, readyWaits, type ReadyAnswer, type RunAnswer, runOf } from './session.ts'
import type { CallKind } from './turns.ts'
import { tokenOfRun } from '../../contract/run-states.ts'
import { readPostgresPage } from './pages.ts'
import { orNull, type Row } from '../../contract/columns.ts'
import { tokenOfRow } from '../../generated/token-record.ts'

/** A token, or the run whose end it stands for, as a function answers it. */
interface TokenAnswer {
  readonly token?: Row
  readonly run?: RunAnswer
  readonly settledNow?: boolean
  readonly won?: boolean
  readonly changed?: boolean
  readonly ready?: ReadyAnswer
  readonly resumed?: RunAnswer | null
  readonly outcome?: TokenAwaited['outcome']
  readonly waiters?: readonly string[] | null
}

interface ListAnswer {
  readonly settled: readonly (readonly [token: Row, ready: ReadyAnswer])[]
  readonly records: readonly Row[]
}

type InsertAnswer =
  'stale' | 'taken' | readonly [isCached: 0 | 1, token?: Row, settledNow?: boolean, ready?: ReadyAnswer]

const INSERT: CallKind = { name: 'insert_tokens', isRepeatable: true, tellsHeld: true, locksKey }
const GET: CallKind = {
  name: 'get_tokens',
  isRepeatable: true,
  lockOf: (request: { readonly id: string }) => request.id,
}
const AWAIT: CallKind = {
  name: 'await_tokens',
  isRepeatable: true,
  lockOf: (request: { readonly token_id: string }) => request.token_id,
}
const SETTLE: CallKind = {
  name: 'settle_tokens',
  isRepeatable: true,
  lockOf: (request: { readonly id: string }) => request.id,
}
const CHANGE: CallKind = { name: 'change_tokens', isRepeatable: true, isSingle: true, patienceMs: 50 }
const RELEASE: CallKind = { name: 'release_waits', isRepeatable: true }
/** Due tokens that it looks at may be locked for long. */
const LIST: CallKind = { name: 'list_tokens', isSingle: true, patienceMs: 50 }

/** Waits of one run are registered by one process only: a count in this one is their order. */
let places = 0

/** The tokens of a Postgres storage. */
export function postgresTokens(session: PostgresSession): TokenStore {
  return {
    insert: (request) => insertToken(session, request),
    get: (id, now, extras) => readToken(session, id, { now, waiters: extras?.waiters }),
    list: (filter, page, now) => listTokens(session, filter, { ...page, now }),
    await: (request) => awaitToken(session, request),
    settle: (request) =>
      inTransaction(session, request.transaction, (joined) => settleToken(joined, request)),
    change: (request) => changeToken(session, request),
    async release(waits) {
      const request = waits.map(waitColumns)
      if (request.length > 0) await session.ask(RELEASE, request, waits[0]?.runId)
    },
  }
}

async function insertToken(session: PostgresSession, request: TokenInsert): Promise<TokenInserted | 'stale'> {
  const { record, now, by } = request
  if (record.kind === 'MANUAL') requireMadeId('tokens', record)
  const columns = {
    token: tokenColumns(record),
    by_owner: by,
    now,
    ...keyLockColumns(request),
    tries: true,
  }
  const answer = (await session.ask(
    INSERT,
    { ...columns, ...fenceColumns(request) },
    request.fence?.runId,
  )) as InsertAnswer
  if (answer === 'stale') return 'stale'
  if (answer === 'taken')
    throw new Error(`Cannot insert token "${record.id}": there is one of this id already`)
  const [isCached, stored, settledNow = false, ready = null] = answer
  if (isCached === 0 && record.kind === 'MANUAL') session.hints.token(by)
  if (stored === undefined) return { record, isCached: isCached === 1 }
  tellSettled(session, { token: stored, settledNow, ready }, undefined)
  return { record: tokenOfRow(stored), isCached: isCached === 1, settledNow }
}

async function readToken(
  session: PostgresSession,
  id: string,
  asked: { readonly now: number; readonly waiters: number | undefined },
): Promise<TokenRead | undefined> {
  const request = { id, ...asked, call: session.newCall() }
  const answer = (await session.ask(GET, request, id)) as TokenAnswer | undefined
  if (answer === undefined) return undefined
  const record = tokenOf(answer)
  tellSettled(session, answer, undefined)
  return { record, settledNow: answer.settledNow === true, waiters: answer.waiters ?? undefined }
}

async function awaitToken(session: PostgresSession, request: TokenAwait): Promise<TokenAwaited> {
  const { tokenId, runId, epoch, by, now } = request
  places += 1
  const columns = {
    token_id: tokenId,
    run_id: runId,
    epoch,
    by_owner: by,
    now,
    place: places,
    call: session.newCall(),
  }
  const answer = (await session.ask(AWAIT, columns, runId)) as TokenAnswer
  const { outcome = 'unknown', settledNow = false } = answer
  if (outcome === 'unknown' || outcome === 'stale') return { outcome }
  const token = tokenOf(answer)
  if (outcome === 'registered') return { outcome, token }
  tellSettled(session, answer, undefined)
  return { outcome, token, settledNow }
}

async function settleToken(
  session: PostgresSession,
  request: TokenSettle,
): Promise<TokenSettled | 'stale' | undefined> {
  const { id, outputJson, question, answeredJson, isTimeOut, by, now } = request
  const call = session.newCall()
  const settled = { id, output: orNull(outputJson), question, answered: answeredJson, times_out: isTimeOut }
  const columns = { ...settled, by_owner: by, now, call, ...fenceColumns(request), ...resumeColumns(request) }
  const answer = (await session.ask(SETTLE, columns, request.fence?.runId ?? id)) as
    TokenAnswer | 'stale' | undefined
  if (answer === 'stale' || answer === undefined) return answer
  const ready = tellSettled(session, answer, by)
  const { won = false, settledNow = false, resumed } = answer
  const record = tokenOf(answer)
  if (!resumed) return { record, won, settledNow, ready }
  const run = runOf(resumed)
  session.hints.run(run.id, by, true)
  return { record, won, settledNow, ready, resumed: run }
}

async function changeToken(
  session: PostgresSession,
  request: TokenChange,
): Promise<TokenChanged | 'stale' | undefined> {
  const { id, question, questionJson, timeoutAt, by, now } = request
  const columns = { id, question, question_to: questionJson, timeout_at: timeoutAt, by_owner: by, now }
  const asked = { ...columns, call: session.newCall(), ...fenceColumns(request) }
  const answer = (await session.ask(CHANGE, asked, request.fence?.runId ?? id)) as
    TokenAnswer | 'stale' | undefined
  if (answer === 'stale' || answer === undefined) return answer
  const { changed = false, settledNow = false } = answer
  const record = tokenOf(answer)
  tellSettled(session, answer, undefined)
  if (changed && record.kind === 'MANUAL') session.hints.token(by)
  // Something may be due sooner than they know, and the engine that has moved it may leave.
  if (changed && timeoutAt !== undefined) session.hints.all(by)
  return { record, changed, settledNow }
}

async function listTokens(
  session: PostgresSession,
  { kind, status, tags, key, from, to }: TokenFilter,
  { now, ...page }: PageRequest & { readonly now: number },
): Promise<TokenPage> {
  const filter = {
    kind,
    statuses: status,
    tags,
    key_scope: key?.scope,
    key_value: key?.value,
    ...idRange('tokens', { from, to }),
    now,
  }
  const settled: TokenRecord[] = []
  const { rows, ...cursors } = await readPostgresPage<TokenRecord>(page, async (range) => {
    const answer = (await session.ask(LIST, { ...filter, ...range })) as ListAnswer
    for (const [token, ready] of answer.settled) {
      tellSettled(session, { token, ready, settledNow: true }, undefined)
      settled.push(tokenOfRow(token))
    }
    return answer.records.map(tokenOfRow)
  })
  return { records: rows, ...cursors, settled }
}

/** A deadline is met by no owner, so all owners are told. */
function tellSettled(
  { hints }: PostgresSession,
  { token, settledNow, ready }: TokenAnswer,
  by: string | undefined,
): TokenSettled['ready'] {
  if (settledNow !== true || token === undefined) return []
  if (token['kind'] === 'MANUAL') hints.token(by)
  return readyWaits(hints, ready, { tokenId: token['id'] as string, by })
}

function tokenOf({ token, run }: TokenAnswer): TokenRecord {
  if (token !== undefined) return tokenOfRow(token)
  if (run === undefined) throw new Error('Cannot read a token: Postgres answered neither it nor a run')
  return tokenOfRun(runOf(run))
}
