import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { type Body, type Decider, enumerate, type ExploreOptions } from 'waitpoint/testing'
import { cases } from '../../support/cases.ts'
import { exploreAll } from './bodies.ts'
import { bruteForce } from './brute-force.ts'
import { each } from './each-schedule.ts'

/** What a flow does, one after the other. */
type Act = 'step' | 'sleep' | 'ask' | 'child' | 'retrieve' | 'side by side'

interface Program {
  /** So many times the body takes two steps side by side, before all else. */
  readonly rounds: number
  readonly flows: readonly (readonly Act[])[]
  /** The deadline of its questions comes before the answer, at the same instant, or after it. */
  readonly timeout: '1s' | '2s' | '3s'
  readonly crashes: 'never' | 'every-commit'
}

const acts = fc.constantFrom<Act>('step', 'sleep', 'ask', 'child', 'retrieve', 'side by side')
const programs: fc.Arbitrary<Program> = fc.record({
  rounds: fc.nat(2),
  flows: fc.array(fc.array(acts, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 2 }),
  timeout: fc.constantFrom('1s', '2s', '3s'),
  crashes: fc.constantFrom('never', 'never', 'never', 'every-commit'),
})

/** A body whose code writes down all that it is told, when, and in which order. */
function bodyOf({ rounds, flows, timeout }: Program, told: (all: string) => void): Body {
  return async (t) => {
    const log: string[] = []
    const note = (what: string): void => void log.push(`${t.clock.now()} ${what}`)
    const child = task({ id: 'child', run: (n: number) => (note(`child ${n}`), n) })
    const flow = task({
      id: 'flow',
      run: async (at: number) => {
        const act = async (one: Act): Promise<void> => {
          if (one === 'step') await t.step('look', () => note(`${at} looks`))
          else if (one === 'sleep') await wait.for({ seconds: 2 })
          else if (one === 'child') note(`${at} child ${String(await child.triggerAndWait(at).unwrap())}`)
          else if (one === 'side by side') await Promise.all([act('step'), act('ask')])
          else {
            const token = await wait.createToken({ timeout, tags: [`${at}`] })
            if (one === 'retrieve') note(`${at} ${(await wait.retrieveToken(token)).status}`)
            else note(`${at} ${String((await wait.forToken(token)).ok)}`)
          }
          note(`${at} after ${one}`)
        }
        for (const one of flows[at] ?? []) await act(one)
      },
    })
    t.use(flow, child)
    for (let round = 1; round <= rounds; round += 1)
      await Promise.all(['left', 'right'].map((side) => t.step(side, () => note(`${side} ${round}`))))
    const runs = await Promise.all(flows.map((_flow, at) => t.engine.trigger(flow, at)))
    note('triggered')
    const answers = flows.flatMap((asked, at) =>
      asked.some((one) => one === 'ask' || one === 'side by side')
        ? [
            t
              .complete({ tag: `${at}` }, 'yes', { at: '+2s' })
              .then((done) => note(`${at} ${JSON.stringify(done)}`)),
          ]
        : [],
    )
    const outcomes = await Promise.all(runs.map(async (run) => (await run.outcome()).ok))
    note(String(outcomes))
    await Promise.all(answers)
    told(log.join('\n'))
  }
}

const MOST = 300

/** All that code was told in the schedules of a decider. */
async function toldBy(decider: Decider, program: Program) {
  const all = new Set<string>()
  const options: ExploreOptions = { crashes: program.crashes, decider, budget: { runs: MOST } }
  const body = bodyOf(program, (one) => all.add(one))
  const { runs, complete } = await exploreAll(body, options)
  return { all, runs, complete }
}

describe('enumerate', () => {
  it('skips no schedule in which the code of a generated program is told something else', async () => {
    await fc.assert(
      fc.asyncProperty(programs, async (program) => {
        const theirs = await toldBy(each(bruteForce(2)), program)
        if (!theirs.complete) return
        const ours = await toldBy(enumerate(2, undefined, false), program)
        expect([...theirs.all].filter((one) => !ours.all.has(one))).toEqual([])
        expect(ours.runs).toBeLessThanOrEqual(theirs.runs)
      }),
      {
        numRuns: cases(10),
        // The order of the first two steps is told at the end alone.
        examples: [[{ rounds: 2, flows: [['step']], timeout: '3s', crashes: 'never' }]],
      },
    )
  })
})
