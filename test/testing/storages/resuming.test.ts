import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { task } from '../../../src/core/ambient/define-task.ts'
import { once } from '../../../src/core/ambient/ambient.ts'
import type { Task } from '../../../src/api/task.ts'
import { memoryStorage } from '../../../src/storage/memory/memory.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { testClock } from '../../../src/testing/test-clock.ts'
import { cases } from '../../support/cases.ts'

const answer = task({
  id: 'answer',
  run: async (_payload: null, { wait }) => {
    const token = await wait.createToken({ timeout: '1d', tags: ['answer'] })
    return wait.forToken<number>(token).unwrap()
  },
})

/** A task that waits in some ways, one after the other, and logs how far it got. */
function stepsTask(steps: readonly string[], log: string[]): Task<null, string[]> {
  return task({
    id: 'steps',
    run: async (_payload: null, { wait, ctx }) => {
      log.push(`call ${ctx.attempt.number}`)
      for (const step of steps) {
        if (step === 'sleep') await wait.for({ seconds: 1 })
        else if (step === 'both') await Promise.all([wait.for({ seconds: 1 }), wait.for({ seconds: 2 })])
        else if (step === 'token') {
          const token = await wait.createToken({ timeout: '1s' })
          await wait.forToken(token)
        } else await once(step, () => log.push(step))
      }
      expect(ctx.attempt.policyNumber).toBe(1)
      return [...steps]
    },
  })
}

const WAITS: Readonly<Record<string, number>> = { sleep: 1, both: 2, token: 1 }

describe('alwaysResume', () => {
  it('calls a task once more for every wait, ends the same, and repeats no effect that is guarded by once', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.constantFrom('sleep', 'both', 'token', 'mail', 'charge'), { maxLength: 6 }),
        async (steps) => {
          const log: string[] = []
          const body = stepsTask(steps, log)
          await using t = await createTestEngine({ tasks: [body], alwaysResume: true })
          const run = await t.engine.trigger(body, null)
          expect(await run.result()).toEqual(steps)
          const waits = steps.reduce((sum, step) => sum + (WAITS[step] ?? 0), 0)
          const effects = new Set(steps.filter((step) => !(step in WAITS)))
          expect(log.filter((line) => line.startsWith('call '))).toHaveLength(waits + 1)
          expect(log).toHaveLength(waits + 1 + effects.size)
          expect(await t.engine.runs.retrieve(run)).toMatchObject({ attemptCount: waits + 1 })
        },
      ),
      { numRuns: cases(30) },
    ))

  it('takes no time of its own', async () => {
    const body = stepsTask(['sleep', 'both', 'token'], [])
    await using t = await createTestEngine({ tasks: [body], alwaysResume: true })
    await (await t.engine.trigger(body, null)).result()
    expect(t.clock.now()).toBe(Date.UTC(2000, 0, 1) + 4_000)
  })

  it('finds code that would break after a restart', async () => {
    const charges: string[] = []
    const careless = task({
      id: 'careless',
      run: async (_payload: null, { wait }) => {
        charges.push('charged')
        await wait.for({ hours: 1 })
      },
    })
    await using t = await createTestEngine({ tasks: [careless], alwaysResume: true })
    await (await t.engine.trigger(careless, null)).result()
    expect(charges).toEqual(['charged', 'charged'])
  })

  it('tells the old call nothing: neither its catch nor its finally is reached', async () => {
    const log: string[] = []
    const guarded = task({
      id: 'guarded',
      run: async (_payload: null, { wait, ctx }) => {
        try {
          await wait.for({ hours: 1 })
        } catch {
          log.push('caught')
        } finally {
          log.push(`finally ${ctx.attempt.number}`)
        }
      },
    })
    await using t = await createTestEngine({ tasks: [guarded], alwaysResume: true })
    await (await t.engine.trigger(guarded, null)).result()
    expect(log).toEqual(['finally 2'])
  })

  it('goes on with children and with the answers they got', async () => {
    const parent = task({
      id: 'parent',
      run: async (_payload: null) => {
        const one = await answer.triggerAndWait(null).unwrap()
        const other = await answer.triggerAndWait(null).unwrap()
        return [one, other]
      },
    })
    await using t = await createTestEngine({ tasks: [parent, answer], alwaysResume: true })
    const run = await t.engine.trigger(parent, null)
    await t.complete({ tag: 'answer' }, 1)
    await t.complete({ tag: 'answer' }, 2)
    expect(await run.result()).toEqual([1, 2])
    expect(t.calls(parent)).toHaveLength(3)
  })

  it('is no interruption and no failed attempt', async () => {
    const failing = task({
      id: 'failing',
      retry: { maxAttempts: 2, minTimeoutInMs: 1_000, factor: 1, randomize: false },
      run: async (_payload: null, { wait, ctx }) => {
        await wait.for({ seconds: 1 })
        await wait.for({ seconds: 2 })
        if (ctx.attempt.policyNumber === 1) throw new Error('first')
        return ctx.attempt
      },
    })
    await using t = await createTestEngine({ tasks: [failing], alwaysResume: true, maxInterruptions: 0 })
    const run = await t.engine.trigger(failing, null)
    expect(await run.result()).toMatchObject({ number: 6, policyNumber: 2 })
    expect(t.clock.now()).toBe(Date.UTC(2000, 0, 1) + 7_000)
  })

  it('gives the slot back to runs that wait for it', async () => {
    const body = stepsTask(['sleep', 'sleep'], [])
    await using t = await createTestEngine({ tasks: [body], alwaysResume: true, concurrency: 1 })
    const runs = await Promise.all([1, 2, 3].map(() => t.engine.trigger(body, null)))
    await Promise.all(runs.map((run) => run.result()))
    expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
  })

  it('goes on in another engine on the same storage', async () => {
    const storage = memoryStorage()
    const clock = testClock()
    const log: string[] = []
    const body = stepsTask(['sleep', 'mail', 'sleep', 'token'], log)
    const options = { tasks: [body], storage, clock, alwaysResume: true }
    const first = await createTestEngine(options)
    const { id } = await first.engine.trigger(body, null)
    await clock.advance('1s')
    await first.close()
    await using second = await createTestEngine(options)
    expect(await second.engine.runs.poll(id)).toMatchObject({ status: 'COMPLETED' })
    expect(log.filter((line) => line === 'mail')).toHaveLength(1)
  })

  it('executes nothing anew that was canceled', async () => {
    const body = stepsTask(['sleep', 'sleep'], [])
    await using t = await createTestEngine({ tasks: [body], alwaysResume: true, clock: { mode: 'manual' } })
    const run = await t.engine.trigger(body, null)
    await t.clock.advance('1s')
    await t.engine.runs.cancel(run)
    await t.clock.advance('1h')
    expect(t.calls(body)).toHaveLength(2)
    expect(await t.engine.runs.retrieve(run)).toMatchObject({ status: 'CANCELED' })
  })
})
