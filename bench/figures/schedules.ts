import { task, wait } from 'waitpoint'
import { type Body, explore } from 'waitpoint/testing'
import { toySchedule } from '../bare/toy-schedules.ts'
import type { Contest } from '../contest.ts'
import type { Figure } from '../lab.ts'

const MOST_NS = 275_000

const review = task({
  id: 'review',
  run: async (_payload: null) => {
    const token = await wait.createToken({ timeout: '24h', tags: ['review'] })
    const answer = await wait.forToken<string>(token)
    return answer.ok ? answer.output : 'no answer'
  },
})

const approval: Body = async (t) => {
  const run = await t.engine.trigger(review, null)
  await t.complete({ tag: 'review' }, 'approved')
  const { ok } = await run.outcome()
  if (!ok) throw new Error('Cannot go on: the run failed')
}

const contest: Contest<'ours' | 'bare'> = {
  name: 'schedule of an approval, explored',
  count: 1_000,
  rounds: 20,
  warmUps: 3,
  sides: {
    ours: (count) => ({
      pass: () => explore(approval, { tasks: [review], decider: 'random', budget: { runs: count } }),
    }),
    bare: (count) => ({
      pass: async () => {
        for (let run = 0; run < count; run++) await toySchedule(() => Math.random())
      },
    }),
  },
}

/** One schedule of `explore`, with its own engine and all invariants checked. */
export const schedules: Figure = {
  name: 'schedules',
  contests: [contest],
  async measure(lab) {
    const goal = { kind: 'value', most: MOST_NS } as const
    const sides = await lab.hold(contest)
    return [{ what: contest.name, unit: 'ns', count: lab.count(contest.count), ...sides, goal }]
  },
}
