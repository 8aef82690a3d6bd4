import { sqliteStorage } from 'waitpoint/sqlite'
import { RecordedStatements } from '../bare/replayed-statements.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure } from '../lab.ts'
import { spreadOf } from '../measurement.ts'
import { ParkedWait } from '../parked-wait.ts'
import { openOursAt } from '../placed-approvals.ts'
import { SqliteFiles } from '../sqlite-files.ts'
import { inCrowds } from '../approval-loops.ts'

const AT_ONCE = 1_000
const TIMEOUT_MS = 600_000
const NS_OF_THE_GOAL = 100_000

/** Each of these parks first, which takes a turn. */
const ONE_BY_ONE = 200
const NS_OF_A_RESUME = 300_000

const together: Contest<'ours' | 'bare'> = {
  name: 'run with a wait, 1,000 at once, on a SQLite file',
  count: AT_ONCE,
  rounds: 20,
  warmUps: 5,
  sides: { ours: onEngine, bare: onBareDriver },
}

const resumed: Contest<'ours' | 'bare'> = {
  name: 'complete → next line of a parked run, on a SQLite file',
  count: ONE_BY_ONE,
  rounds: 10,
  warmUps: 3,
  sides: { ours: momentsOnEngine, bare: momentsOnBareDriver },
}

/**
 * Complete runs with one wait on a SQLite file, and single completions, compared with the same statements without an
 * engine.
 */
export const disk: Figure = {
  name: 'disk',
  contests: [together, resumed],
  async measure(lab) {
    const { ours, bare } = await lab.hold(together)
    const common = { unit: 'ns', count: lab.count(together.count), ours } as const
    const moments = await lab.hold(resumed)
    return [
      { ...common, what: together.name, bare, goal: { kind: 'ratio', most: 2 } },
      { ...common, what: '  10,000 a second', goal: { kind: 'value', most: NS_OF_THE_GOAL } },
      // These times are too short for the CPU clock.
      {
        what: resumed.name,
        unit: 'ns',
        count: lab.count(resumed.count),
        ours: { values: moments.ours.values },
        bare: { values: moments.bare.values },
        goal: { kind: 'value', most: NS_OF_A_RESUME },
      },
    ]
  },
}

async function onEngine(count: number): Promise<Contestant> {
  const { approvals, close } = await openOursAt('file')
  return { pass: () => inCrowds(approvals, { count, isParked: false }), close }
}

/** Records the statements of one crowd first. */
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

async function momentsOnEngine(count: number): Promise<Contestant> {
  const files = new SqliteFiles()
  const waiting = new ParkedWait(sqliteStorage(files.open()))
  await waiting.ready()
  return {
    pass: async () => medianOf(await momentsOf(waiting, count)),
    close: async () => {
      await waiting.close()
      files.close()
    },
  }
}

/** Records the statements from each completion to the next line, and those in between. */
async function momentsOnBareDriver(count: number): Promise<Contestant> {
  const files = new SqliteFiles()
  const recorded = new RecordedStatements()
  const waiting = new ParkedWait(sqliteStorage(recorded.record(files.open())))
  await waiting.ready()
  recorded.endSetUp()
  await momentsOf(waiting, count, () => recorded.mark())
  recorded.stop()
  await waiting.close()

  let parts: readonly (() => void)[] = []
  return {
    before: () => void (parts = recorded.prepareParts(files.open())),
    pass: () => medianOf(parts.map(durationOf).filter((_, part) => part % 2 === 1)),
    close: async () => {
      files.close()
    },
  }
}

/** The time that each of `count` parked runs took to continue. `mark` is called at every beginning and end. */
async function momentsOf(
  waiting: ParkedWait,
  count: number,
  mark: () => void = () => undefined,
): Promise<readonly number[]> {
  const moments: number[] = []
  while (moments.length < count) {
    const complete = await waiting.begin()
    mark()
    const start = performance.now()
    const end = await complete()
    mark()
    moments.push(end - start)
  }
  return moments
}

function durationOf(act: () => void): number {
  const start = performance.now()
  act()
  return performance.now() - start
}

/** Not the mean, because the machine sometimes does other work in between. */
function medianOf(moments: readonly number[]): { readonly overriddenDuration: number } {
  return { overriddenDuration: spreadOf(moments).median * moments.length }
}
