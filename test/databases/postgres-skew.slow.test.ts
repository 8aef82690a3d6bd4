import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { acknowledged, settleAccounts, untilSeen } from './kill/lives.ts'
import { observations } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'

/** Longer than a busy machine keeps a process waiting. */
const LEASE_MS = 30_000
const APART_MS = 25_000
const MINUTE_MS = 60_000
/** Each third of it an engine hears of the time of the server. */
const SHORT_LEASE_MS = 6_000
/** Most of the time is spent waiting for clocks: what is done meanwhile is read in the end. */
const ROUND_PAUSE_MS = 250
/** So many acknowledged calls between two steps. */
const ENOUGH = 20

describe('workers on machines of their own', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it('whose clocks are most of a lease apart leave each other alone, and lose nothing', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const workers = [0, APART_MS, -APART_MS].map((aheadMs) =>
      startProgram([program, place, file, 'load'], {
        leaseMs: LEASE_MS,
        aheadMs,
        roundPauseMs: ROUND_PAUSE_MS,
      }),
    )
    await untilSeen(file, (seen) =>
      workers.every(({ pid }) => pick(seen, 'finished').some((one) => one.pid === pid)),
    )
    // Leases are renewed after a third: what the others think of one shows at its oldest.
    await pauseReal(LEASE_MS / 2)
    await Promise.all(workers.map((child) => killNow(child, file)))
    const seen = observations(file)
    expect(pick(seen, 'aborted').length).toBe(0)
    expect(pick(seen, 'failed')).toEqual([])
    await settleAccounts({ program, place, file, leaseMs: LEASE_MS })
  }, 600_000)

  it('lose nothing when the clock of the server is stepped by a minute, forth and back', async () => {
    using folder = temporaryFolder()
    await using schema = new FreshSchema()
    const [place, file] = [schema.place(), folder.file('observations')]
    const options = { leaseMs: SHORT_LEASE_MS, roundPauseMs: ROUND_PAUSE_MS }
    const workers = [1, 2].map(() => startProgram([program, place, file, 'load'], options))
    await untilSeen(file, () => acknowledged(file) > ENOUGH)
    for (const aheadMs of [MINUTE_MS, 0, -MINUTE_MS, 0]) {
      await stepServer(schema, aheadMs)
      await untilNoticed(schema, workers.length)
      const before = acknowledged(file)
      await untilSeen(file, () => acknowledged(file) > before + ENOUGH)
    }
    for (const worker of workers) expect(worker.exitCode).toBe(null)
    await Promise.all(workers.map((child) => killNow(child, file)))
    await settleAccounts({ program, place, file, ...options })
  }, 900_000)
})

/** From now on the server tells this schema another time than it has. */
async function stepServer({ connectionString, schema }: FreshSchema, aheadMs: number): Promise<void> {
  await using client = await connectPostgres(connectionString)
  await client.query(`CREATE OR REPLACE FUNCTION ${schema}.now_ms() RETURNS float8 LANGUAGE sql VOLATILE AS $$
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::float8 + ${aheadMs} $$`)
}

/** Resolves once so many engines have renewed their leases at about the time that the server tells. */
async function untilNoticed({ connectionString, schema }: FreshSchema, engines: number): Promise<void> {
  await using client = await connectPostgres(connectionString)
  const living = `SELECT count(*)::int AS count FROM ${schema}.owners
    WHERE lost = 0 AND abs(heard_at - ${schema}.now_ms()) < ${MINUTE_MS / 2}`
  const count = async (): Promise<number> =>
    (await client.query<{ readonly count: number }>(living)).rows[0]?.count ?? 0
  while ((await count()) < engines) await pauseReal(50)
}
