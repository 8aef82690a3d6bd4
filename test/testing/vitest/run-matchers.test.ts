import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { task } from '../../../src/core/ambient/define-task.ts'
import { matchers } from '../../../src/testing/vitest/matchers.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { cases } from '../../support/cases.ts'
import { sourceOf } from '../../support/streams.ts'

expect.extend(matchers)

const review = task({
  id: 'review',
  run: async (payload: { timeout?: string }, { wait, metadata }) => {
    await metadata.stream('draft', sourceOf('a', 'b'))
    const token = await wait.createToken({ ...payload, tags: ['review'] })
    return (await wait.forToken(token)).ok
  },
})

const nap = task({
  id: 'nap',
  run: async (seconds: number, { wait }) => {
    await wait.for({ seconds })
    if (seconds === 13) throw new Error('unlucky')
  },
})

const tasks = [review, nap]

/** What a failed expectation says. */
async function failure(expectation: Promise<void>): Promise<string> {
  try {
    await expectation
  } catch (error) {
    return String(error)
  }
  return 'none'
}

describe('toBeWaitingFor', () => {
  it('tells what a run waits for from anything else', async () => {
    await using t = await createTestEngine({ tasks })
    const run = await t.engine.trigger(review, { timeout: '24h' })
    const other = await t.engine.wait.createToken({ timeout: '24h' })
    await t.clock.settle()
    const token = await t.waitingToken({ tag: 'review' })
    await expect(run).toBeWaitingFor(token)
    await expect(run).toBeWaitingFor(token.id)
    await expect(run).not.toBeWaitingFor(other)
    expect(await failure(expect(run).toBeWaitingFor(other))).toContain(`it waits for ${token.id}`)
    expect(await failure(expect(run).not.toBeWaitingFor(token))).toContain('not to wait for')
    await t.complete(token)
    expect(await failure(expect(run).toBeWaitingFor(token))).toContain(
      'it is COMPLETED and waits for nothing',
    )
  })
})

describe('toTimeOutIn', () => {
  it('holds for the exact time that is left, and moves none', async () => {
    await using t = await createTestEngine({ tasks })
    const run = await t.engine.trigger(review, { timeout: '24h' })
    await expect(run).toTimeOutIn('24h')
    await t.clock.advance('1h')
    await expect(run).toTimeOutIn('23h')
    await expect(run).not.toTimeOutIn('24h')
    expect(await failure(expect(run).toTimeOutIn('24h'))).toContain('it does in 23h')
    const napping = await t.engine.trigger(nap, 5)
    expect(await failure(expect(napping).toTimeOutIn('5s'))).toContain('waits for no token')
  })

  it('holds for the default timeout', async () => {
    await using t = await createTestEngine({ tasks })
    await expect(await t.engine.trigger(review, {})).toTimeOutIn('10m')
  })
})

describe('toFinishWithin', () => {
  it('holds exactly from the time on that a run takes', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 50 }),
        fc.integer({ min: -2, max: 2 }),
        async (seconds, byMs) => {
          await using t = await createTestEngine({ tasks })
          const run = await t.engine.trigger(nap, seconds)
          const within = seconds * 1_000 + byMs
          if (byMs >= 0) await expect(run).toFinishWithin(within)
          else await expect(run).not.toFinishWithin(within)
          expect(t.clock.now() - Date.UTC(2000, 0, 1)).toBe(Math.min(within, seconds * 1_000))
        },
      ),
      { numRuns: cases(20) },
    ))

  it('says what is scheduled instead, or that it is stuck', async () => {
    await using t = await createTestEngine({ tasks })
    const late = await t.engine.trigger(nap, 3_600)
    expect(await failure(expect(late).toFinishWithin('5m'))).toMatch(
      /within "5m": it did not[^]*\+55m deadline/,
    )
    await expect(late).not.toFinishWithin('5m')
    expect(t.clock.now()).toBe(Date.UTC(2000, 0, 1, 0, 10))
    await expect(late).toFinishWithin('50m')
    expect(await failure(expect(late).not.toFinishWithin('1d'))).toContain('it did after 0ms')
    const stuck = await t.engine.trigger(review, {})
    expect(await failure(expect(stuck).toFinishWithin('1h'))).toContain('the token is never completed')
  })
})

describe('toHaveEmitted', () => {
  it('compares what a stream has so far', async () => {
    await using t = await createTestEngine({ tasks })
    const run = await t.engine.trigger(review, { timeout: '24h' })
    await expect(run).toHaveEmitted('draft', ['a', 'b'])
    await expect(run).toHaveEmitted(t.engine.streams.define<string>({ id: 'draft' }), [
      'a',
      expect.stringMatching('b'),
    ])
    await expect(run).not.toHaveEmitted('draft', ['a'])
    expect(await failure(expect(run).toHaveEmitted('draft', ['b']))).toContain('it emitted ["a","b"]')
    expect(await failure(expect(run).toHaveEmitted('final', ['b']))).toContain('no such stream')
  })
})

describe('toBeStuck', () => {
  it('holds for a run that waits for a missing answer, and for no other run', async () => {
    await using t = await createTestEngine({ tasks })
    await expect(await t.engine.trigger(review, { timeout: '1h' })).not.toBeStuck()
    const failing = await t.engine.trigger(nap, 13)
    await expect(failing).not.toBeStuck()
    await failing.outcome()
    expect(await failure(expect(await t.engine.trigger(nap, 5)).toBeStuck())).toContain('it is COMPLETED')
    await expect(await t.engine.trigger(review, {})).toBeStuck()
    expect(await failure(expect(await t.engine.trigger(review, {})).not.toBeStuck())).toContain('created at')
  })

  it('is said of runs of test engines only', async () => {
    const { matchers: untyped }: { matchers: { toBeStuck(run: unknown): Promise<unknown> } } = { matchers }
    for (const subject of [
      undefined,
      5,
      { id: 'run_1' },
      { id: 'run_1', outcome: () => Promise.resolve() },
    ]) {
      await expect(untyped.toBeStuck(subject)).rejects.toMatchObject({ code: 'ERR_NOT_UNDER_TEST' })
    }
  })

  it('finds the engine of a run among several that make the same ids', async () => {
    await using one = await createTestEngine({ tasks })
    await using other = await createTestEngine({ tasks })
    const stuck = await one.engine.trigger(review, {})
    const answered = await other.engine.trigger(review, {})
    expect(stuck.id).toBe(answered.id)
    await other.complete({ tag: 'review' })
    await expect(stuck).toBeStuck()
    await expect(answered).not.toBeStuck()
  })

  it('does not await a run for good by asking whose it is', async () => {
    await using t = await createTestEngine({ tasks, clock: { mode: 'manual' } })
    const run = await t.engine.trigger(nap, 5)
    await expect(run).not.toTimeOutIn('5s')
    expect(t.clock.timeline()).not.toContain('awaited')
  })
})
