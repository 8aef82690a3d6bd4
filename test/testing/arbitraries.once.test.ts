import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { crashPoints, delaysAround, schedules, tokenPlans } from 'waitpoint/fast-check'
import { ExplorationError } from 'waitpoint/testing'
import { askAll, exploreAll } from './exploration/bodies.ts'
import { checkThenAct } from './planted/check-then-act.ts'
import { earlyAcknowledgement } from './planted/early-acknowledgement.ts'
import { rejection } from '../support/body-task.ts'

const HOUR_MS = 3_600_000

describe('schedules', () => {
  afterEach(() => void vi.unstubAllEnvs())

  it('run the one of WAITPOINT_REPLAY, whatever they are', async () => {
    const { replay } = (await rejection(exploreAll(checkThenAct.body))) as ExplorationError
    vi.stubEnv('WAITPOINT_REPLAY', replay)
    const found = await fc.check(
      fc.asyncProperty(schedules(), (schedule) => schedule.run(checkThenAct.body)),
      { numRuns: 1, endOnFailure: true },
    )
    expect(found.errorInstance).toMatchObject({ replay })
  })

  it('find a race and shrink it to the few departures it takes', async () => {
    const found = await fc.check(
      fc.asyncProperty(schedules(), (schedule) => schedule.run(checkThenAct.body)),
      { seed: 1, numRuns: 200 },
    )
    expect(found.failed).toBe(true)
    const [schedule] = found.counterexample ?? []
    expect(schedule?.trace?.length).toBeLessThanOrEqual(2)
    const replay = schedule?.replay ?? ''
    expect(fc.stringify(schedule)).toBe(`schedule '${replay}'`)
    const error = await rejection(exploreAll(checkThenAct.body, { replay }))
    expect(error).toBeInstanceOf(ExplorationError)
    expect(error).toMatchObject({ replay })
  })

  it('hold for what is right, whatever the outside world does around the deadline', async () => {
    const review = askAll(['ada'], HOUR_MS)
    await fc.assert(
      fc.asyncProperty(schedules(), tokenPlans(HOUR_MS), async (schedule, { kind, afterMs }) => {
        await schedule.run(
          async (t) => {
            const run = await t.engine.trigger(review, null)
            const token = await t.waitingToken({ tag: 'ada' })
            const at = t.clock.now() + afterMs
            if (kind === 'twice')
              await Promise.all([t.complete(token, 1, { at }), t.complete(token, 2, { at })])
            else if (kind === 'wrong-id') await rejection(t.complete('waitpoint_wrong', 1, { at }))
            else if (kind !== 'never') await t.complete(token, 'yes', { at })
            expect((await run.outcome()).ok).toBe(true)
          },
          { tasks: [review], crashes: 'every-commit' },
        )
      }),
      { numRuns: 100 },
    )
  })
})

describe('crashPoints', () => {
  it('leave everything but crashes in order', async () => {
    const { options, body } = earlyAcknowledgement
    const found = await fc.check(
      fc.asyncProperty(crashPoints(), (schedule) => schedule.run(body, options)),
      { seed: 1, numRuns: 200 },
    )
    expect(found.counterexample?.[0].trace).toEqual([
      { kind: 'crash', at: 'body/tokens.settle#1', take: 'before' },
    ])
  })
})

describe('delaysAround', () => {
  it('are most often a millisecond before a deadline, at it, or after it', () => {
    const delays = fc.sample(delaysAround(1_000), { numRuns: 200, seed: 1 })
    expect(delays.filter((delay) => Math.abs(delay - 1_000) <= 1).length).toBeGreaterThan(100)
    expect(delays.every((delay) => delay >= 0 && delay <= 2_000)).toBe(true)
  })
})
