import { sqliteStorage } from 'waitpoint/sqlite'
import { RecordedStatements } from '../bare/replayed-statements.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure } from '../lab.ts'
import { SqliteFiles } from '../sqlite-files.ts'
import { inCrowds } from './runs.ts'

const AT_ONCE = 1_000
const TIMEOUT_MS = 600_000
const NS_OF_THE_GOAL = 100_000

const together: Contest<'ours' | 'bare'> = {
  name: 'run with a wait, 1,000 at once, on a SQLite file',
  count: AT_ONCE,
  rounds: 20,
  warmUps: 5,
  sides: { ours: onEngine, bare: onBareDriver },
}

/** Full runs with one wait on a SQLite file, beside the same statements without an engine. */
export const disk: Figure = {
  name: 'disk',
  contests: [together],
  async measure(lab) {
    const { ours, bare } = await lab.hold(together)
    const common = { unit: 'ns', count: lab.count(together.count), ours } as const
    return [
      { ...common, what: together.name, bare, goal: { kind: 'ratio', most: 2 } },
      { ...common, what: '  10,000 a second', goal: { kind: 'value', most: NS_OF_THE_GOAL } },
    ]
  },
}

async function onEngine(count: number): Promise<Contestant> {
  const files = new SqliteFiles()
  const approvals = new EngineApprovals(TIMEOUT_MS, sqliteStorage(files.open()))
  await approvals.ready()
  return {
    pass: () => inCrowds(approvals, { count, isParked: false }),
    close: async () => {
      await approvals.close()
      files.close()
    },
  }
}

/** What the engine asks for one crowd is recorded first. */
async function onBareDriver(count: number): Promise<Contestant> {
  const files = new SqliteFiles()
  const recorded = new RecordedStatements()
  const approvals = new EngineApprovals(TIMEOUT_MS, sqliteStorage(recorded.record(files.open())))
  await approvals.ready()
  recorded.endSetUp()
  await inCrowds(approvals, { count, isParked: false })
  recorded.stop()
  await approvals.close()

  let pass = (): void => undefined
  return {
    before: () => void (pass = recorded.prepare(files.open())),
    pass: () => pass(),
    close: async () => {
      files.close()
    },
  }
}
