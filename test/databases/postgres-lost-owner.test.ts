import { describe, expect, it, onTestFinished } from 'vitest'
import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { madeId, namedStorage } from '../../src/testing/conformance/named-storage.ts'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { untilBlocked } from './postgres/blocked.ts'
import { connectPostgres, type PostgresClient } from './postgres/client.ts'
import { freshSchema, testPool } from './postgres-schemas.ts'

const START = Date.UTC(2026, 0, 1)
const LEASE_MS = 30_000
/** After the lease of the owner that is lost. */
const LATER = START + LEASE_MS + 10
const [LOST, OTHER, THIRD] = ['lost', 'other', 'third']

async function openStorage(): Promise<Storage & { readonly schema: string }> {
  const pool = testPool()
  const schema = await freshSchema(pool)
  const storage = namedStorage(postgresStorage({ pool, schema, listen: false, pollMs: 60_000 }))
  await storage.open()
  onTestFinished(async () => {
    for (const owner of [OTHER, THIRD]) await storage.leave({ owner, now: LATER })
    await pool.query(`DROP SCHEMA ${schema} CASCADE`)
    await pool.end()
  })
  return { ...storage, schema }
}

async function begun(): Promise<PostgresClient & AsyncDisposable> {
  const client = await connectPostgres()
  onTestFinished(() => client.end())
  await client.query('BEGIN')
  return client
}

const tick = async (storage: Storage, owner: string, now: number) =>
  storage.tick({ owner, now, leaseUntil: now + LEASE_MS, limit: 100 })

let claims = 0
const claim = async (storage: Storage, by: string, now: number, maxInterruptions: number = 10) =>
  storage.runs.claim({
    by,
    now,
    number: (claims += 1),
    taskIds: ['task'],
    limit: 10,
    queueLimits: new Map(),
    maxInterruptions,
  })

/** A run of `LOST` that has parked, with a wait for each of these tokens. */
async function parked(
  storage: Storage,
  id: string,
  tokens: Readonly<Record<string, number | undefined>>,
): Promise<void> {
  await storage.runs.insert({ record: queuedRun(id, { createdAt: START }), now: START, by: LOST })
  const [run] = (await claim(storage, LOST, START)).runs
  const epoch = run?.epoch ?? 0
  for (const [tokenId, timeoutAt] of Object.entries(tokens)) {
    const record = manualToken(tokenId, { createdAt: START, ...(timeoutAt !== undefined && { timeoutAt }) })
    if (!tokenId.startsWith('run:')) await storage.tokens.insert({ record, now: START, by: LOST })
    await storage.tokens.await({ tokenId, runId: id, epoch, by: LOST, now: START })
  }
  await storage.runs.park({ id, epoch, parks: 1, by: LOST, now: START })
}

describe('an owner that is lost while a transaction is open that has completed a token of its run', () => {
  it('holds up no tick and no claim of others, and is lost once the transaction is over', async () => {
    const storage = await openStorage()
    for (const owner of [LOST, OTHER, THIRD]) await tick(storage, owner, START)
    await parked(storage, 'r', { t: undefined })
    for (const owner of [OTHER, THIRD]) await tick(storage, owner, START + LEASE_MS / 2)
    const client = await begun()
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: LATER, transaction: client })
    await storage.runs.insert({ record: queuedRun('new', { createdAt: LATER }), now: LATER, by: OTHER })
    const ticks = await Promise.all([OTHER, THIRD].map((owner) => tick(storage, owner, LATER)))
    for (const { alive } of ticks) expect(alive).toBe(true)
    expect((await claim(storage, OTHER, LATER)).runs.map(({ id }) => id)).toEqual(['new'])
    await client.query('COMMIT')
    expect(await tick(storage, THIRD, LATER)).toMatchObject({ alive: true, claimable: true })
    expect((await claim(storage, THIRD, LATER)).runs).toMatchObject([{ id: 'r', interruptions: 0 }])
  })

  it('is lost at once beside another one whose run is locked', async () => {
    const storage = await openStorage()
    for (const owner of [LOST, OTHER]) await tick(storage, owner, START)
    await parked(storage, 'r', { t: undefined })
    await tick(storage, 'gone', START)
    await tick(storage, OTHER, START + LEASE_MS / 2)
    await storage.runs.insert({ record: queuedRun('s', { createdAt: START }), now: START, by: 'gone' })
    await claim(storage, 'gone', START)
    const client = await begun()
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: LATER, transaction: client })
    await tick(storage, OTHER, LATER)
    expect((await claim(storage, OTHER, LATER)).runs).toMatchObject([{ id: 's', interruptions: 1 }])
    await client.query('ROLLBACK')
    // Nothing has woken it.
    expect((await claim(storage, OTHER, LATER)).runs).toEqual([])
  })

  it('lets an engine pause before it looks at a deadline of its token again', async () => {
    const storage = await openStorage()
    await tick(storage, OTHER, START)
    const [now, later] = [START + 100, START + 150]
    const dues = [
      { id: 't', timeoutAt: now },
      { id: 'next', timeoutAt: later },
    ]
    for (const { id, timeoutAt } of dues) {
      const record = manualToken(id, { createdAt: START, timeoutAt })
      await storage.tokens.insert({ record, now: START, by: OTHER })
    }
    const client = await begun()
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: START, transaction: client })
    expect((await tick(storage, OTHER, now)).nextDue).toEqual({ at: later, what: 'token next' })
    const { nextDue, settled } = await tick(storage, OTHER, later)
    expect(settled).toMatchObject([{ id: 'next' }])
    expect(nextDue?.at).toBeGreaterThan(later)
    await client.query('COMMIT')
    expect((await tick(storage, OTHER, later)).nextDue).toBeUndefined()
  })

  it('lets deadlines of others pass, and that of its run once the transaction is over', async () => {
    const storage = await openStorage()
    for (const owner of [LOST, OTHER]) await tick(storage, owner, START)
    await tick(storage, OTHER, START + LEASE_MS / 2)
    await parked(storage, 'r', { t: undefined, due: LATER })
    const late = manualToken('late', { createdAt: START, timeoutAt: LATER })
    await storage.tokens.insert({ record: late, now: START, by: OTHER })
    // The run has no living owner any more: what wakes it moves it into line.
    await tick(storage, OTHER, LATER - 1)
    const client = await begun()
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: LATER - 1, transaction: client })
    expect(await tick(storage, OTHER, LATER)).toMatchObject({ alive: true, settled: [{ id: 'late' }] })
    await client.query('COMMIT')
    expect(await tick(storage, OTHER, LATER)).toMatchObject({ settled: [{ id: 'due' }], claimable: true })
  })
})

describe('a run whose parent waits for a token that an open transaction has completed', () => {
  /** A parent that no owner has any more, and the transaction that has completed its token. */
  async function beginBesideParent(storage: Storage): Promise<PostgresClient> {
    await parked(storage, 'parent', { t: undefined, 'run:child': undefined })
    await storage.leave({ owner: LOST, now: START })
    const client = await begun()
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: START, transaction: client })
    return client
  }

  it('holds up no tick and no claim when it expires, and expires once the transaction is over', async () => {
    const storage = await openStorage()
    for (const owner of [LOST, OTHER]) await tick(storage, owner, START)
    const expiresAt = START + 10
    for (const id of ['child', 'other']) {
      const record = queuedRun(id, { createdAt: START, expiresAt, taskId: 'another task' })
      await storage.runs.insert({ record, now: START, by: LOST })
    }
    const client = await beginBesideParent(storage)
    const { expired, nextDue } = await tick(storage, OTHER, expiresAt)
    expect(expired.map(({ record }) => record.id)).toEqual(['other'])
    expect(nextDue?.at).toBeGreaterThan(expiresAt)
    await storage.runs.insert({
      record: queuedRun('new', { createdAt: expiresAt }),
      now: expiresAt,
      by: OTHER,
    })
    const claimed = await claim(storage, OTHER, expiresAt)
    expect(claimed.runs.map(({ id }) => id)).toEqual(['new'])
    expect(claimed.ended).toEqual([])
    await client.query('ROLLBACK')
    const after = await tick(storage, OTHER, expiresAt)
    expect(after.expired.map(({ record }) => record.id)).toEqual(['child'])
    expect((await claim(storage, OTHER, expiresAt)).runs).toMatchObject([{ id: 'parent' }])
  })

  it('holds up no claim when it has been interrupted too often, and ends by a later one', async () => {
    const storage = await openStorage()
    for (const owner of [LOST, OTHER, THIRD]) await tick(storage, owner, START)
    await storage.runs.insert({ record: queuedRun('child', { createdAt: START }), now: START, by: THIRD })
    await claim(storage, THIRD, START)
    const client = await beginBesideParent(storage)
    await tick(storage, OTHER, START + LEASE_MS / 2)
    await storage.runs.insert({ record: queuedRun('new', { createdAt: LATER }), now: LATER, by: OTHER })
    const claimed = await claim(storage, OTHER, LATER, 0)
    expect(claimed.runs.map(({ id }) => id)).toEqual(['new'])
    expect(claimed.ended).toEqual([])
    await client.query('ROLLBACK')
    const { runs, ended } = await claim(storage, OTHER, LATER, 0)
    expect(ended).toMatchObject([{ record: { id: 'child', status: 'CRASHED' } }])
    expect(runs).toMatchObject([{ id: 'parent' }])
  })
})

describe('a wait that is released while its run is handed back', () => {
  it('wakes the run no more', async () => {
    const storage = await openStorage()
    await tick(storage, LOST, START)
    await tick(storage, OTHER, START)
    await parked(storage, 'r', { t: undefined, stays: undefined })
    await storage.tokens.settle({ id: 't', outputJson: '1', by: OTHER, now: START + 5 })
    const client = await begun()
    await client.query(
      `DELETE FROM ${storage.schema}.waits WHERE token_id = '${madeId('waitpoint', 't', START)}'`,
    )
    const left = storage.leave({ owner: LOST, now: START + 10 })
    await Promise.race([untilBlocked(storage.schema), left])
    await client.query('COMMIT')
    await left
    expect((await claim(storage, OTHER, START + 10)).runs).toEqual([])
  })
})
