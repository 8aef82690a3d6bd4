import { afterAll, expect, it, onTestFinished } from 'vitest'
import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { manualToken, queuedRun } from '../../src/testing/conformance/sample-records.ts'
import { postgresUrl } from './postgres/client.ts'
import { freshSchema, patientPool, testPool } from './postgres-schemas.ts'

const now = 1_000
const by = 'one'

const pool = testPool(10)
afterAll(() => pool.end())

/** A storage with some runs that are executed. Its turns wait for a lock as long as it takes. */
async function executing(...ids: readonly string[]): Promise<{ schema: string; storage: Storage }> {
  const schema = await freshSchema(pool)
  const own = patientPool(postgresUrl())
  const storage = postgresStorage({ pool: own, schema, listen: false })
  await storage.open()
  onTestFinished(async () => {
    await storage.leave({ owner: by, now })
    await own[Symbol.asyncDispose]()
    await pool.query(`DROP SCHEMA ${schema} CASCADE`)
  })
  await storage.tick({ owner: by, now, leaseUntil: now + 60_000, limit: 10 })
  for (const id of ids) await storage.runs.insert({ record: queuedRun(id, { createdAt: now }), now, by })
  const claim = { taskIds: ['task'], limit: 10, queueLimits: new Map<string, number>(), maxInterruptions: 3 }
  await storage.runs.claim({ ...claim, number: 1, by, now })
  return { schema, storage }
}

function fenceOf(runId: string): { readonly runId: string; readonly epoch: number } {
  return { runId, epoch: 1 }
}

async function end(storage: Storage, id: string, epoch: number = 1): Promise<unknown> {
  return storage.runs.update({
    id,
    expected: { status: ['EXECUTING'], epoch },
    change: { status: 'COMPLETED', outputJson: '1', errorJson: undefined, finishedAt: now, slot: false },
    by,
    now,
  })
}

it('the end of a run is told to the run that waits for it, beside an end that comes too late', async () => {
  const { storage } = await executing('a', 'child', 'parent')
  await storage.tokens.await({ tokenId: 'run:child', ...fenceOf('parent'), by, now })
  expect(await Promise.all([end(storage, 'a', 0), end(storage, 'child')])).toMatchObject([
    undefined,
    { record: { id: 'child' }, ready: [{ runId: 'parent', tokenId: 'run:child', owner: by }] },
  ])
})

it('of two inserts in a turn with a key of the run itself, the second is answered with the first', async () => {
  const { storage } = await executing('r')
  const insert = async (id: string): Promise<unknown> => {
    const key = { scope: 'r', value: 'first' }
    const record = manualToken(id, { kind: 'SLEEP', createdAt: now, runId: 'r', key })
    return storage.tokens.insert({ record, fence: fenceOf('r'), now, by })
  }
  expect(await Promise.all([insert('t'), insert('u')])).toMatchObject([
    { record: { id: 't' }, isCached: false },
    { record: { id: 't' }, isCached: true },
  ])
})
