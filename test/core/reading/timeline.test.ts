import { describe, expect, it } from 'vitest'
import { memoryStorage, task, wait } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { steadyStorage } from '../../support/abandon.ts'

const ask = task({
  id: 'ask',
  run: async () => {
    const token = await wait.createToken({ timeout: '3h', tags: ['legal', 'eu'] })
    return wait.forToken(token).unwrap()
  },
})
const nap = task({ id: 'nap', run: () => wait.for({ hours: 1 }) })
const flaky = task({
  id: 'flaky',
  retry: { maxAttempts: 3, minTimeoutInMs: 60_000, randomize: false },
  run: (): Promise<never> => Promise.reject(new Error('busy')),
})
const nightly = task({ id: 'nightly', schedule: { cron: '0 4 * * *' }, run: async () => undefined })

describe('engine.timeline', () => {
  it('says what is due next and why, the earliest first', async () => {
    const tasks = [ask, nap, flaky, nightly]
    await using t = await createTestEngine({ tasks, storage: steadyStorage(), clock: { mode: 'manual' } })
    const { engine, clock } = t
    const start = clock.now()
    const asking = await engine.trigger(ask, undefined)
    const sleeping = await engine.trigger(nap, undefined)
    const retried = await engine.trigger(flaky, undefined)
    const delayed = await engine.trigger(nap, undefined, { delay: '2h' })
    await clock.settle()
    const { data } = await engine.wait.listTokens()
    const told = (await engine.timeline()).map(({ at, sentence }) => [at.getTime() - start, sentence])
    const hour = 3_600_000
    expect(told).toEqual([
      [60_000, `run ${retried.id} of task "flaky" begins attempt 2`],
      [hour, `the sleep of run ${sleeping.id} is over`],
      [2 * hour, `run ${delayed.id} of task "nap" starts: its delay is over`],
      [3 * hour, `token ${data[0]?.id} [legal, eu] of run ${asking.id} times out`],
      [4 * hour, 'schedule "0 4 * * *" triggers a run of task "nightly"'],
    ])
    expect(await engine.timeline({ limit: 2 })).toMatchObject([
      { kind: 'run', id: retried.id, taskIdentifier: 'flaky', reason: 'retries' },
      { kind: 'token', tokenKind: 'SLEEP', runId: sleeping.id },
    ])
  })

  it('names a run that expires unless it starts', async () => {
    await using t = await createTestEngine({
      tasks: [nap],
      storage: steadyStorage(),
      execute: false,
      clock: { mode: 'manual' },
    })
    const { id } = await t.engine.trigger(nap, undefined, { ttl: '5m' })
    expect(await t.engine.timeline()).toMatchObject([
      {
        at: new Date(t.clock.now() + 300_000),
        reason: 'expires',
        sentence: `run ${id} of task "nap" expires unless it has started`,
      },
    ])
  })

  it('settles nothing by looking', async () => {
    await using t = await createTestEngine({ storage: steadyStorage(), clock: { mode: 'manual' } })
    const told: string[] = []
    t.engine.on('token', ({ status }) => told.push(status))
    await t.engine.wait.createToken({ timeout: '1m' })
    await t.engine.timeline()
    await t.clock.settle()
    expect(told).toEqual(['WAITING'])
  })

  it('has the schedules of the engine where the storage cannot tell what is due', async () => {
    const { due: _, ...storage } = memoryStorage()
    await using t = await createTestEngine({ tasks: [nap, nightly], storage, clock: { mode: 'manual' } })
    await t.engine.trigger(nap, undefined, { delay: '1h' })
    expect(await t.engine.timeline()).toMatchObject([{ kind: 'schedule', taskIdentifier: 'nightly' }])
  })

  it('refuses options that cannot be used', async () => {
    await using t = await createTestEngine()
    expect(await rejection(t.engine.timeline({ limit: 0 }))).toBeInstanceOf(RangeError)
    expect(await rejection(t.engine.timeline({ limits: 3 } as object))).toBeInstanceOf(TypeError)
  })
})
