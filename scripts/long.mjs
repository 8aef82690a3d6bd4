// `npm run test:long`: what only many random programs, kills and cut connections show, in a night. The counts and the seed are
// printed before and after each part, and WAITPOINT_SEED repeats a run; WAITPOINT_CASES, WAITPOINT_KILLS and WAITPOINT_CUTS are
// other counts.
import { spawn } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'

const seed = process.env.WAITPOINT_SEED ?? String(randomInt(2 ** 31))

/** One after the other: the variable that says how often, how often it is unless that is set, and whose files are run. */
const PARTS = [
  {
    what: 'cases of each property of random programs',
    variable: 'WAITPOINT_CASES',
    usual: 120_000,
    files: ['core', 'random-programs', 'random-edits'],
  },
  {
    what: 'cases, a tenth of them random worlds and a quarter schedules in which leases are lost',
    variable: 'WAITPOINT_CASES',
    usual: 40_000,
    files: ['core', 'random-worlds', 'lost-leases'],
  },
  {
    what: 'programs of several queues and engines',
    variable: 'WAITPOINT_CASES',
    usual: 20_000,
    files: ['core', 'random-queues'],
  },
  {
    what: 'random programs that are recorded and replayed',
    variable: 'WAITPOINT_CASES',
    usual: 10_000,
    files: ['core', 'replay-programs'],
  },
  {
    what: 'schedules without each planted bug, and a seed with it for each fifty',
    variable: 'WAITPOINT_CASES',
    usual: 1_000,
    files: ['core', 'planted.once'],
  },
  {
    what: 'time through all laws of storages, on another driver',
    variable: 'WAITPOINT_CASES',
    usual: 1,
    files: ['databases', 'postgres-js'],
  },
  { what: 'kills of processes', variable: 'WAITPOINT_KILLS', usual: 500, files: ['databases', 'kill.slow'] },
  { what: 'cut connections', variable: 'WAITPOINT_CUTS', usual: 500, files: ['databases', 'cut.slow'] },
]

const failed = []
for (const { what, variable, usual, files } of PARTS) {
  const count = process.env[variable] ?? String(usual)
  const part = `${count} ${what} (seed ${seed})`
  console.log(`\n== ${part}`)
  const child = spawn('npx', ['vitest', 'run', '--project', ...files], {
    stdio: 'inherit',
    env: { ...process.env, WAITPOINT_SEED: seed, WAITPOINT_PROPERTY_SEED: seed, [variable]: count },
  })
  const [code] = await once(child, 'close')
  if (code !== 0) failed.push(part)
  console.log(`== ${code === 0 ? 'passed' : 'FAILED'}: ${part}`)
}
for (const part of failed) console.log(`FAILED: ${part}`)
process.exitCode = failed.length === 0 ? 0 : 1
