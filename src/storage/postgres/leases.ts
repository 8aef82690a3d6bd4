import { hostname } from 'node:os'
import type { LeaseRecord, NextDue, PruneRequest, TickRequest, TickResult } from '../../contract/storage.ts'
import { type EndAnswer, endedRun, type PostgresSession, readyWaits, type ReadyAnswer } from './session.ts'
import type { CallKind } from './turns.ts'
import type { Row } from '../../contract/columns.ts'
import { tokenOfRow } from '../../generated/token-record.ts'
import { shownLease } from '../sql-rows.ts'

interface TickAnswer {
  readonly alive: boolean
  /** Runs of an owner that is gone were freed. */
  readonly isStirred: boolean
  /** Owners whose lease had no end until now. */
  readonly told: readonly string[] | null
  readonly settled: readonly (readonly [token: Row, ready: ReadyAnswer])[]
  readonly expired: readonly EndAnswer[]
  readonly ready: readonly (readonly [tokenId: string, runId: string])[] | null
  readonly claimable: boolean
  readonly nextDue: NextDue | null
  readonly nextLease: NextDue | null
  readonly leaseUntil: number | null
  readonly time: number
  readonly held: number | null
}

const TICK: CallKind = { name: 'tick', isSingle: true }
const LEAVE: CallKind = { name: 'leave', isRepeatable: true, isSingle: true }
const TIME: CallKind = { name: 'get_time', isRepeatable: true, isSingle: true }
const LEASES: CallKind = { name: 'get_leases', isRepeatable: true, isSingle: true }
const DUE: CallKind = { name: 'get_due', isRepeatable: true, isSingle: true }
const PRUNE: CallKind = { name: 'prune', isSingle: true }

/** `tick`. */
export async function tickPostgres(session: PostgresSession, request: TickRequest): Promise<TickResult> {
  const { owner, leaseUntil, endless = false, now, census = false, limit } = request
  const { hints } = session
  const here = { host: hostname(), pid: process.pid }
  const columns = { owner, lease_until: leaseUntil, endless, now, census, most: limit, ...here }
  const answer = (await session.ask(TICK, columns, owner)) as TickAnswer
  if (answer.isStirred) hints.queue(owner)
  if (!answer.alive) return { alive: false, ready: [], settled: [], expired: [], claimable: false }
  for (const other of answer.told ?? []) hints.waits(other, owner)
  const settled = answer.settled.map(([row, ready]) => {
    const token = tokenOfRow(row)
    if (token.kind === 'MANUAL') hints.token(owner)
    readyWaits(hints, ready, { tokenId: token.id, by: owner })
    return token
  })
  return {
    alive: true,
    ready: (answer.ready ?? []).map(([tokenId, runId]) => ({ tokenId, runId, owner })),
    settled,
    expired: answer.expired.map((end) => endedRun(hints, end, owner)),
    claimable: answer.claimable,
    nextDue: answer.nextDue ?? undefined,
    nextLease: answer.nextLease ?? undefined,
    leaseUntil: answer.leaseUntil ?? undefined,
    held: answer.held ?? undefined,
    time: answer.time,
  }
}

/** All engines that have not left. */
export async function postgresLeases({ ask }: PostgresSession): Promise<readonly LeaseRecord[]> {
  return ((await ask(LEASES, {})) as readonly Row[]).map(shownLease)
}

/** What is due next, the earliest first. */
export async function postgresDue({ ask }: PostgresSession, limit: number): Promise<readonly NextDue[]> {
  return (await ask(DUE, { most: limit })) as readonly NextDue[]
}

/** The time of the server. */
export async function postgresTime({ ask }: PostgresSession): Promise<number> {
  return Number(await ask(TIME, {}))
}

/** A graceful end: nothing counts as interrupted, because the runs name no owner any more. */
export async function endPostgresLease(
  { ask, hints }: PostgresSession,
  { owner, now }: { readonly owner: string; readonly now: number },
): Promise<void> {
  if ((await ask(LEAVE, { owner, now }, owner)) === true) hints.queue(owner)
}

/** `prune`. */
export async function prunePostgres(
  { ask }: PostgresSession,
  { before, keep, limit, now }: PruneRequest,
): Promise<number> {
  return Number(await ask(PRUNE, { before, keep, most: limit, now }))
}
