import { sqliteStorage } from 'waitpoint/sqlite'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { SqliteFiles } from '../sqlite-files.ts'

const SLEEPERS = 100_000
const AT_ONCE = 1_000
const ROUNDS = 5
const NS_PER_MS = 1e6
const NS_OF_THE_GOAL = 2e9
/** No deadline comes due. */
const TIMEOUT_MS = 30 * 86_400_000

/** An engine that starts on a SQLite file with runs that wait for one token each. */
export const restart: Figure = {
  name: 'restart',
  contests: [],
  measure: async (lab) => [await startUps(lab)],
}

async function startUps(lab: Lab): Promise<Measurement> {
  const files = new SqliteFiles()
  const sleepers = lab.count(SLEEPERS)
  await fill(files, sleepers)
  const values: number[] = []
  for (let round = 0; round < lab.rounds(ROUNDS); round++) values.push(await startUp(files))
  files.close()
  return {
    what: `start-up with ${SLEEPERS.toLocaleString('en-US')} parked runs and tokens, to the result of a new run`,
    unit: 'ns',
    count: sleepers,
    ours: { values },
    goal: { kind: 'value', most: NS_OF_THE_GOAL },
  }
}

async function fill(files: SqliteFiles, sleepers: number): Promise<void> {
  const handle = files.open()
  const approvals = new EngineApprovals(TIMEOUT_MS, sqliteStorage(handle))
  for (let left = sleepers; left > 0; left -= AT_ONCE) {
    const crowd = Array.from({ length: Math.min(left, AT_ONCE) }, (_, place) => `doc ${place}`)
    await Promise.all(crowd.map((doc) => approvals.trigger({ doc })))
    for (const _ of crowd) await approvals.asked()
    await approvals.parked()
  }
  await approvals.close()
  handle.close()
}

async function startUp(files: SqliteFiles): Promise<number> {
  const handle = files.reopen()
  const start = performance.now()
  const approvals = new EngineApprovals(TIMEOUT_MS, sqliteStorage(handle))
  await approvals.ready()
  const run = await approvals.trigger({ doc: 'new' })
  await approvals.complete(await approvals.asked(), { approved: true })
  await run.result()
  const end = performance.now()
  await approvals.close()
  handle.close()
  return (end - start) * NS_PER_MS
}
