import { describe, expect, it } from 'vitest'
import { createEngine, type Engine, memoryStorage, type Storage } from 'waitpoint'
import { testClock } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { alwaysAsync } from '../../../src/testing/storages/async.ts'
import { bodyTask } from '../../support/body-task.ts'
import { type SteeredStorage, steeredStorage } from '../../support/steered-storage.ts'
import { turn, until } from '../../support/turn.ts'

interface Scene {
  readonly engine: Engine
  readonly steering: SteeredStorage
  readonly result: Promise<string>
  /** Lets storage go on. */
  readonly goOn: () => void
}

/** A caller awaits a run, which ends while storage is held back. */
async function endedMeanwhile(hold: (steering: SteeredStorage) => () => void): Promise<Scene> {
  const steering = steeredStorage(alwaysAsync(memoryStorage()))
  const gate = createDeferred<string>()
  const body = bodyTask(() => gate.promise)
  const engine = createEngine({ tasks: [body], storage: steering.storage })
  const told: string[] = []
  engine.on('run', ({ status }) => told.push(status))
  const run = await engine.trigger(body, null)
  const goOn = hold(steering)
  const result = run.result()
  await turn()
  gate.resolve('done')
  await until(() => told.includes('COMPLETED'))
  return { engine, steering, result, goOn }
}

describe('outcome', () => {
  it('says so when the end cannot be learned, and never rejects', async () => {
    const outcomes: Promise<unknown>[] = []
    const child = bodyTask(({ wait }) => wait.for({ hours: 1 }), { id: 'child' })
    const parent = bodyTask(async ({ wait }) => {
      outcomes.push((await child.trigger(null)).outcome())
      await wait.for({ hours: 1 })
    })
    const steering = steeredStorage(memoryStorage())
    const engine = createEngine({ tasks: [child, parent], storage: steering.storage })
    const run = await engine.trigger(parent, null)
    await until(() => outcomes.length === 1)
    await engine.runs.cancel(run.id)
    const alone = await engine.trigger(child, null, { delay: '1h' })
    const failure = steering.fail('runs.get')
    outcomes.push(alone.outcome())
    const unknown = { ok: false, taskIdentifier: 'child' }
    expect(await Promise.all(outcomes)).toMatchObject([
      { ...unknown, error: { code: 'ERR_OUTCOME_UNKNOWN', cause: { code: 'ERR_RUN_CANCELED' } } },
      { ...unknown, error: { code: 'ERR_OUTCOME_UNKNOWN', cause: failure } },
    ])
    await engine.close()
  })
})

describe('finalRecord', () => {
  it('is the end that this engine has published, also when storage has forgotten the run before it answers', async () => {
    const scene = await endedMeanwhile((steering) => steering.holdCall('runs.get'))
    const later = Date.now() + 3_600_000
    expect(await scene.steering.storage.prune({ before: later, limit: 10, now: later })).toBe(1)
    scene.goOn()
    expect(await scene.result).toBe('done')
    await scene.engine.close()
  })

  it('is known also when the engine closes before storage has answered', async () => {
    const scene = await endedMeanwhile((steering) => steering.holdAnswer('runs.get'))
    const closed = scene.engine.close()
    scene.goOn()
    expect(await scene.result).toBe('done')
    await closed
  })

  it('is not read from storage while the run executes here', async () => {
    const steering = steeredStorage(alwaysAsync(memoryStorage()))
    const gate = createDeferred<string>()
    let hasBegun = false
    const body = bodyTask(() => {
      hasBegun = true
      return gate.promise
    })
    await using engine = createEngine({ tasks: [body], storage: steering.storage })
    const run = await engine.trigger(body, null)
    await until(() => hasBegun)
    const result = run.result()
    gate.resolve('done')
    expect(await result).toBe('done')
    expect(steering.calls).not.toContain('runs.get')
  })

  it('is told to a caller that asks while this engine learns that another one has canceled the run', async () => {
    const storage = alwaysAsync(memoryStorage())
    const steering = steeredStorage(storage)
    let hasBegun = false
    const body = bodyTask(async ({ wait }) => {
      hasBegun = true
      await wait.for({ hours: 1 })
    })
    await using engine = createEngine({ tasks: [body], storage: steering.storage })
    await using other = createEngine({ tasks: [], storage })
    const run = await engine.trigger(body, null)
    await until(() => hasBegun)
    const learn = steering.holdAnswer('runs.get')
    await other.runs.cancel(run.id)
    await until(() => steering.calls.includes('runs.get'))
    const outcome = run.outcome()
    await turn()
    learn()
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'ERR_RUN_CANCELED' } })
  })

  it('is read when the lease is lost of the engine that executed the run', async () => {
    const storage = alwaysAsync(memoryStorage())
    const steering = steeredStorage(storage)
    const clock = testClock({ mode: 'manual', ioGraceMs: 10 })
    const gate = createDeferred<string>()
    let hasBegun = false
    const body = bodyTask(() => {
      hasBegun = true
      return gate.promise
    })
    // It hears that its lease has an end now, and of no run.
    const subscribe: Storage['subscribe'] = (owner, listener) =>
      storage.subscribe(owner, (hint) => (hint.topic === 'waits' ? listener(hint) : undefined))
    await using one = createEngine({ tasks: [body], clock, storage: { ...steering.storage, subscribe } })
    const run = await one.trigger(body, null)
    await until(() => hasBegun)
    const goOn = steering.holdCall('tick')
    await using other = createEngine({ tasks: [bodyTask(() => 'by another')], clock, storage })
    await other.ready()
    for (let minutes = 0; minutes < 3; minutes += 1) await clock.jump('1m').catch(() => undefined)
    while ((await other.runs.retrieve(run.id)).status !== 'COMPLETED') await turn()
    const result = run.result()
    await turn()
    goOn()
    expect(await result).toBe('by another')
    gate.resolve('late')
  })
})
