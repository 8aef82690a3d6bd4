import { createEngine, task } from 'waitpoint'
import { runs as hostedRuns, task as hostedTask } from 'waitpoint/sdk'
import type { Contest, Contestant } from '../contest.ts'
import type { Figure } from '../lab.ts'
import type { Goal } from '../measurement.ts'

const AT_ONCE = 1_000
const LITTLE_MORE: Goal = { kind: 'ratio', most: 1.2 }

type RunOnce = (n: number) => Promise<unknown>
type Course = (run: RunOnce, count: number) => Promise<void>

const oneByOne = contestOf('run without a wait, one after another', async (run, count) => {
  for (let n = 0; n < count; n++) await run(n)
})
const together = contestOf('run without a wait, 1,000 at once', async (run, count) => {
  for (let left = count; left > 0; left -= AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(left, AT_ONCE) }, (_, n) => run(n)))
})

/** What a run costs through `waitpoint/sdk`, beside the same run through `waitpoint`. */
export const sdk: Figure = {
  name: 'sdk',
  contests: [oneByOne, together],
  async measure(lab) {
    const measured = []
    for (const contest of [oneByOne, together]) {
      const sides = await lab.hold(contest)
      const { name: what, count } = contest
      measured.push({ what, unit: 'ns', count: lab.count(count), ...sides, goal: LITTLE_MORE } as const)
    }
    return measured
  },
}

function contestOf(name: string, course: Course): Contest<'ours' | 'bare'> {
  return {
    name,
    count: 3 * AT_ONCE,
    rounds: 20,
    warmUps: 10,
    sides: { ours: (count) => throughSdk(course, count), bare: (count) => throughEngine(course, count) },
  }
}

function throughSdk(course: Course, count: number): Contestant {
  const double = hostedTask({ id: 'double', run: async (n: number) => n * 2 })
  const engine = createEngine({ tasks: [double] })
  engine.makeDefault()
  const run = async (n: number): Promise<unknown> => (await hostedRuns.poll(await double.trigger(n))).output
  return { pass: () => course(run, count), close: () => engine.close() }
}

function throughEngine(course: Course, count: number): Contestant {
  const double = task({ id: 'double', run: async (n: number) => n * 2 })
  const engine = createEngine({ tasks: [double] })
  const run = async (n: number): Promise<unknown> =>
    (await engine.runs.poll(await engine.trigger(double, n))).output
  return { pass: () => course(run, count), close: () => engine.close() }
}
