import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { acknowledged, settleAccounts, untilSeen } from './kill/lives.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { startPostgres } from './postgres/server.ts'
import { Wire } from './postgres/wire.ts'

/** As many acknowledged calls before, between and after. */
const ENOUGH = 20

/** Commits wait until another server has them, once there is one. */
async function waitForStandby(url: string): Promise<void> {
  await using client = await connectPostgres(url)
  const following = 'SELECT count(*)::int AS count FROM pg_stat_replication WHERE state = $1'
  while ((await client.query<{ readonly count: number }>(following, ['streaming'])).rows[0]?.count !== 1)
    await pauseReal(10)
  await client.query(`ALTER SYSTEM SET synchronous_standby_names = '*'`)
  await client.query('SELECT pg_reload_conf()')
}

async function ask(url: string, sql: string): Promise<void> {
  await using client = await connectPostgres(url)
  await client.query(sql)
}

describe('workers whose server fails, and is followed by its standby', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it('lose nothing that was acknowledged, and do nothing twice, also while the old one is back and read-only', async () => {
    using folder = temporaryFolder()
    await using primary = await startPostgres()
    await using standby = await primary.standby()
    await waitForStandby(primary.url)
    await using wire = await Wire.to(primary.url)
    const schema = new FreshSchema(primary.url)
    const file = folder.file('observations')
    // Longer than a busy machine keeps a process waiting.
    const options = { leaseMs: 120_000 }
    const workers = [1, 2].map(() => startProgram([program, schema.place(wire.url), file, 'load'], options))
    await untilSeen(file, () => acknowledged(file) > ENOUGH)

    // The old one is cut off: what it commits from now on is never answered.
    await standby.promote()
    await ask(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on')
    await primary.restart('immediate')
    const before = acknowledged(file)
    await untilRefused(primary.url)
    for (const worker of workers) expect(worker.exitCode).toBe(null)

    wire.lead(standby.url)
    await untilSeen(file, () => acknowledged(file) > before + ENOUGH)
    await Promise.all(workers.map((child) => killNow(child, file)))
    await settleAccounts({ program, place: schema.place(standby.url), file, ...options })
  }, 900_000)
})

/** Resolves once the server has refused something that writes since it was started. */
async function untilRefused(url: string): Promise<void> {
  await using client = await connectPostgres(url)
  const rollbacks = `SELECT xact_rollback::int AS count FROM pg_stat_database WHERE datname = current_database()`
  const count = async (): Promise<number> =>
    (await client.query<{ readonly count: number }>(rollbacks)).rows[0]?.count ?? 0
  const from = await count()
  while ((await count()) === from) await pauseReal(50)
}
