import { describe, expect, it } from 'vitest'
import { createEngine, memoryStorage } from 'waitpoint'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { alwaysAsync } from '../../src/testing/async-storage.ts'
import { bodyTask } from '../support/body-task.ts'
import { steeredStorage } from '../support/steered-storage.ts'
import { turn, until } from '../support/turn.ts'

describe('finalRecord', () => {
  it('is what this engine has told of the end, also when storage has forgotten the run before it answers', async () => {
    const steering = steeredStorage(alwaysAsync(memoryStorage()))
    const gate = createDeferred<string>()
    const body = bodyTask(() => gate.promise)
    const engine = createEngine({ tasks: [body], storage: steering.storage })
    const told: string[] = []
    engine.on('run', ({ status }) => told.push(status))
    const run = await engine.trigger(body, null)
    const ask = steering.holdCall('runs.get')
    const result = run.result()
    await turn()
    gate.resolve('done')
    await until(() => told.includes('COMPLETED'))
    const later = Date.now() + 3_600_000
    expect(await steering.storage.prune({ before: later, limit: 10, now: later })).toBe(1)
    ask()
    expect(await result).toBe('done')
    await engine.close()
  })

  it('is known also when the engine closes before storage has answered', async () => {
    const steering = steeredStorage(alwaysAsync(memoryStorage()))
    const gate = createDeferred<string>()
    const body = bodyTask(() => gate.promise)
    const engine = createEngine({ tasks: [body], storage: steering.storage })
    const told: string[] = []
    engine.on('run', ({ status }) => told.push(status))
    const run = await engine.trigger(body, null)
    const answer = steering.holdAnswer('runs.get')
    const result = run.result()
    await turn()
    gate.resolve('done')
    await until(() => told.includes('COMPLETED'))
    const closed = engine.close()
    answer()
    expect(await result).toBe('done')
    await closed
  })
})
