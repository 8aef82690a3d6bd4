import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { bodyTask } from '../../support/body-task.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn } from '../../support/turn.ts'

const MINUTE = 60_000
const echo = task({ id: 'echo', run: (payload: unknown) => payload })

describe('runs.reschedule', () => {
  it('starts the run when it was last said to start, neither sooner nor later', () => {
    const minutes = fc.integer({ min: 1, max: 60 })
    const step = fc.record({ wait: fc.integer({ min: 0, max: 30 }), delay: minutes })
    return fc.assert(
      fc.asyncProperty(minutes, fc.array(step, { maxLength: 5 }), async (delay, steps) => {
        await using t = await createTestEngine({ tasks: [echo], clock: { mode: 'manual' } })
        const run = await t.engine.trigger(echo, 1, { delay: delay * MINUTE })
        let startsAt = t.clock.now() + delay * MINUTE
        for (const { wait, delay: next } of steps) {
          if (t.clock.now() + wait * MINUTE >= startsAt) break
          await t.clock.advance(wait * MINUTE)
          startsAt = t.clock.now() + next * MINUTE
          const { status, delayedUntil } = await t.engine.runs.reschedule(run, { delay: next * MINUTE })
          expect([status, delayedUntil]).toEqual(['DELAYED', new Date(startsAt)])
        }
        await t.clock.advanceTo(new Date(startsAt - 1))
        expect((await t.engine.runs.retrieve(run)).status).toBe('DELAYED')
        await t.clock.advanceTo(new Date(startsAt))
        const { status, startedAt } = await t.engine.runs.retrieve(run)
        expect([status, startedAt]).toEqual(['COMPLETED', new Date(startsAt)])
      }),
      { numRuns: 30 },
    )
  })

  it.each([0, 1])('starts the run at once at an instant %i ms ago', async (ms) => {
    await using t = await createTestEngine({ tasks: [echo], clock: { mode: 'manual' } })
    const run = await t.engine.trigger(echo, 1, { delay: '1h' })
    await t.engine.runs.reschedule(run, { delay: new Date(t.clock.now() - ms) })
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(run)).status).toBe('COMPLETED')
  })

  it.each(['30m', '4h'])('moves the ttl along when the start moves to %s from now', async (delay) => {
    await using t = await createTestEngine({ tasks: [echo], clock: { mode: 'manual' } })
    await t.engine.queue('task/echo').setLimit(0)
    const run = await t.engine.trigger(echo, 1, { delay: '2h', ttl: '10m' })
    await t.clock.advance('1m')
    const { delayedUntil } = await t.engine.runs.reschedule(run, { delay })
    const expiresAt = (delayedUntil?.getTime() ?? Number.NaN) + 10 * MINUTE
    await t.clock.advanceTo(new Date(expiresAt - 1))
    expect((await t.engine.runs.retrieve(run)).status).not.toBe('EXPIRED')
    await t.clock.advanceTo(new Date(expiresAt))
    expect(await t.engine.runs.retrieve(run)).toMatchObject({
      status: 'EXPIRED',
      finishedAt: new Date(expiresAt),
    })
  })

  it('reaches the engine that would have started the run, and subscribers to it', async () => {
    const [storage, clock] = [memoryStorage(), testClock({ mode: 'manual' })]
    await using t = await createTestEngine({ tasks: [echo], storage, clock })
    await using other = await createTestEngine({ storage, clock })
    const run = await t.engine.trigger(echo, 1, { delay: '1h' })
    const seen: unknown[] = []
    const following = (async () => {
      for await (const { status, delayedUntil } of t.engine.runs.subscribeToRun(run))
        seen.push([status, delayedUntil?.getTime()])
    })()
    await clock.settle()
    const from = clock.now()
    await other.engine.runs.reschedule(run, { delay: '1m' })
    await clock.advance('1m')
    await following
    expect((await t.engine.runs.retrieve(run)).startedAt).toEqual(new Date(from + MINUTE))
    expect(seen.slice(0, 2)).toEqual([
      ['DELAYED', from + 60 * MINUTE],
      ['DELAYED', from + MINUTE],
    ])
  })

  it('is asked again when something else happened to the run meanwhile', async () => {
    const steered = steeredStorage(memoryStorage())
    const { storage } = steered
    await using t = await createTestEngine({ tasks: [echo], storage, clock: { mode: 'manual' } })
    const run = await t.engine.trigger(echo, 1, { delay: '1h' })
    const release = steered.holdCall('runs.update')
    const moved = t.engine.runs.reschedule(run, { delay: '2h' })
    await turn()
    await t.engine.runs.cancel(run)
    release()
    await expect(moved).rejects.toMatchObject({ code: 'ERR_CANNOT_RESCHEDULE' })
    expect((await t.engine.runs.retrieve(run)).status).toBe('CANCELED')
  })

  it('is refused for a run that is not put off, or was started: nothing changes', async () => {
    const waiting = bodyTask(({ wait }) => wait.for({ hours: 9 }), { id: 'waiting' })
    const failing = task({
      id: 'failing',
      retry: { maxAttempts: 2, minTimeoutInMs: MINUTE, randomize: false },
      run: () => {
        throw new Error('no')
      },
    })
    await using t = await createTestEngine({ tasks: [echo, waiting, failing], clock: { mode: 'manual' } })
    const runs = [
      [await t.engine.trigger(echo, 1), 'it is COMPLETED'],
      [await t.engine.trigger(waiting, null), 'it is WAITING'],
      [await t.engine.trigger(failing, undefined), 'it has been started'],
    ] as const
    await t.clock.settle()
    for (const [run, why] of runs) {
      const before = await t.engine.runs.retrieve(run.id)
      await expect(t.engine.runs.reschedule(run.id, { delay: '2h' })).rejects.toMatchObject({
        code: 'ERR_CANNOT_RESCHEDULE',
        message: expect.stringContaining(why) as string,
      })
      expect(await t.engine.runs.retrieve(run.id)).toEqual(before)
    }
    await expect(t.engine.runs.reschedule('run_x', { delay: '2h' })).rejects.toMatchObject({
      code: 'ERR_RUN_NOT_FOUND',
    })
    for (const [run] of runs) await t.engine.runs.cancel(run.id)
  })

  it.each([[{ delay: 'soon' }], [{ delay: -1 }], [{}], [{ delay: '1h', ttl: '1h' }], [undefined]])(
    'is refused with %j, and changes nothing',
    async (options) => {
      await using t = await createTestEngine({ tasks: [echo], clock: { mode: 'manual' } })
      const run = await t.engine.trigger(echo, 1, { delay: '1h' })
      const before = await t.engine.runs.retrieve(run)
      const refused = t.engine.runs.reschedule(run, options as never)
      await expect(refused).rejects.toThrow(/^Cannot /)
      expect(await t.engine.runs.retrieve(run)).toEqual(before)
      await t.engine.runs.cancel(run)
    },
  )
})
