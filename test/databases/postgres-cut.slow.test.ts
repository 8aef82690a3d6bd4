import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { observations } from './kill/observer.ts'
import { pick } from './kill/verdict.ts'
import { acknowledged, settleAccounts, untilSeen } from './kill/lives.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { startPostgres } from './postgres/server.ts'
import { Wire } from './postgres/wire.ts'

const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
const ROUNDS = Number(process.env['WAITPOINT_CUTS'] ?? 12)
const ROUND_MS = 400
/** How long connections are silent before the server is asked. */
const CHECK_MS = 150

/** Ends about half of the connections that others have, whatever they are in the middle of. */
async function terminateSome(url: string): Promise<void> {
  await using client = await connectPostgres(url)
  await client.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND random() < 0.5`,
  )
}

let program = ''
beforeAll(async () => void (program = await buildProgram('worker')))
afterAll(() => rmSync(program, { force: true }))

describe('workers whose connections fall silent in the middle of everything', () => {
  it(
    `lose nothing that was acknowledged, and do nothing twice (seed ${SEED})`,
    async () => {
      using folder = temporaryFolder()
      await using schema = new FreshSchema()
      const random = seededRandom(SEED)
      await using wire = await Wire.to(schema.connectionString, {
        fate: () => (random.fraction() < 0.01 ? 'falls silent' : 'passes'),
      })
      const file = folder.file('observations')
      const options = { leaseMs: 120_000 }
      const place = schema.place(wire.url, CHECK_MS)
      const workers = [1, 2].map(() => startProgram([program, place, file, 'load'], options))
      while (wire.silences <= ROUNDS) await pauseReal(ROUND_MS)
      await untilSeen(file, () => acknowledged(file) > ROUNDS)
      // Each of them goes on after all that it has, too.
      wire.silence()
      const before = observations(file).length
      await untilSeen(file, (all) => {
        const since = pick(all.slice(before), 'triggered')
        return workers.every((child) => since.some(({ pid }) => pid === child.pid))
      })
      await Promise.all(workers.map((child) => killNow(child, file)))
      await settleAccounts({ program, place: schema.place(), file, ...options })
    },
    ROUNDS * 20_000 + 600_000,
  )
})

describe('workers whose connections are cut in the middle of everything', () => {
  it(
    `lose nothing that was acknowledged, and do nothing twice (seed ${SEED})`,
    async () => {
      using folder = temporaryFolder()
      await using server = await startPostgres()
      await using schema = new FreshSchema(server.url)
      const random = seededRandom(SEED)
      await using wire = await Wire.to(server.url, {
        fate: () => (random.fraction() < 0.01 ? 'is lost' : 'passes'),
      })
      const file = folder.file('observations')
      // Longer than a busy machine keeps a process waiting.
      const options = { leaseMs: 120_000 }
      const workers = [1, 2].map(() => startProgram([program, schema.place(wire.url), file, 'load'], options))
      // On a machine that is busy with other things it takes longer until there is something to cut.
      for (let round = 1; round <= ROUNDS || wire.cuts <= ROUNDS; round += 1) {
        await pauseReal(ROUND_MS)
        if (round % 6 === 3) await server.restart('immediate')
        else if (round % 6 === 0) await server.restart('fast')
        else await terminateSome(server.url)
      }
      await untilSeen(file, () => acknowledged(file) > ROUNDS)
      await Promise.all(workers.map((child) => killNow(child, file)))
      await settleAccounts({ program, place: schema.place(), file, ...options })
    },
    ROUNDS * 20_000 + 600_000,
  )
})
