import { randomInt } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import { pauseReal } from '../../src/storage/real-timer.ts'
import { temporaryFolder } from './drivers.ts'
import { buildProgram, killNow, startProgram } from './kill/killed-process.ts'
import { acknowledged, settleAccounts, untilSeen } from './kill/lives.ts'
import { connectPostgres } from './postgres/client.ts'
import { FreshSchema } from './postgres/fresh-schema.ts'
import { startPostgres } from './postgres/server.ts'

const SEED = Number(process.env['WAITPOINT_SEED'] ?? randomInt(2 ** 31))
const ROUNDS = Number(process.env['WAITPOINT_STOPS'] ?? 6)
const STOP_MS = Number(process.env['WAITPOINT_STOP_MS'] ?? 1_500)
const PAUSE_MS = 300
/** How long connections are silent before the server is asked. */
const CHECK_MS = 150

/** The process that a process was started by; undefined when it has ended. */
function parentOf(pid: number): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
  } catch {
    return undefined
  }
}

/** The processes of a server, that which starts the others first. */
async function processesOf(url: string): Promise<readonly number[]> {
  await using client = await connectPostgres(url)
  const { rows } = await client.query<{ readonly pid: number }>('SELECT pg_backend_pid() AS pid')
  const first = parentOf(rows[0]?.pid ?? 0)
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  return [first ?? 0, ...pids.map(Number).filter((pid) => parentOf(pid) === first)]
}

function signal(pids: readonly number[], name: 'SIGSTOP' | 'SIGCONT'): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // It has ended.
    }
  }
}

describe('workers whose server stands still', () => {
  let program = ''
  beforeAll(async () => void (program = await buildProgram('worker')))
  afterAll(() => rmSync(program, { force: true }))

  it.runIf(process.platform === 'linux')(
    `lose nothing that was acknowledged, and do nothing twice (seed ${SEED})`,
    async () => {
      using folder = temporaryFolder()
      await using server = await startPostgres()
      await using schema = new FreshSchema(server.url)
      const random = seededRandom(SEED)
      const file = folder.file('observations')
      const options = { leaseMs: 120_000 }
      const place = schema.place(server.url, CHECK_MS)
      const workers = [1, 2].map(() => startProgram([program, place, file, 'load'], options))
      await untilSeen(file, () => acknowledged(file) > 0)
      for (let round = 1; round <= ROUNDS; round += 1) {
        const all = await processesOf(server.url)
        // The whole server, or about half of those who work for others.
        const stopped = round % 2 === 0 ? all : all.slice(1).filter(() => random.fraction() < 0.5)
        signal(stopped, 'SIGSTOP')
        await pauseReal(STOP_MS)
        signal(stopped, 'SIGCONT')
        await pauseReal(PAUSE_MS)
      }
      const before = acknowledged(file)
      await untilSeen(file, () => acknowledged(file) > before)
      await Promise.all(workers.map((child) => killNow(child, file)))
      await settleAccounts({ program, place: schema.place(), file, ...options })
    },
    ROUNDS * (STOP_MS + 20_000) + 600_000,
  )
})
