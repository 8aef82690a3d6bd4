import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Storage, Task } from 'waitpoint'
import { createEngine, memoryStorage } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../src/core/engine.ts'
import { whenEnded } from '../../src/core/run-end.ts'
import { currentScope } from '../../src/core/run-scope.ts'
import type { Deferred } from '../../src/primitives/deferred.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { bodyTask, rejection } from '../support/body-task.ts'

type Get = (id: string) => ReturnType<Storage['runs']['get']>

/** Memory storage that is asked for runs by `get`, which is given its own way of doing that. */
function readBy(get: (own: Get) => Get): Storage {
  const storage = memoryStorage()
  return { ...storage, runs: { ...storage.runs, get: get((id) => storage.runs.get(id)) } }
}

/** Ways to end, some of which take a while after the task has returned. */
const endings: readonly Task<null, unknown>[] = [
  bodyTask(() => 1, { id: 'returns' }),
  bodyTask(() => Promise.reject(new Error('no')), { id: 'throws' }),
  bodyTask(({ wait }) => wait.for({ seconds: 1 }), { id: 'sleeps' }),
  bodyTask(() => 1, { id: 'has a hook', onSuccess: () => Promise.resolve() }),
  bodyTask(() => Promise.reject(new Error('no')), {
    id: 'has a hook for failures',
    onFailure: () => undefined,
  }),
  bodyTask(({ streams }) => streams.append('s', 'a'), { id: 'leaves a stream' }),
]

describe('whenEnded', () => {
  it('lets go on only when the attempt is over, its slot is free and nothing is read any more', async () => {
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray([...endings], { minLength: 1 }), async (tasks) => {
        await using t = await createTestEngine({ tasks })
        const runs = await Promise.all(tasks.map((one) => t.engine.trigger(one, null)))
        const { executor, journal } = kernelOf(t.engine).parts
        const isOver = (id: string) => (): boolean => !executor.scopes.has(id)
        const over = await Promise.all(runs.map((run) => run.result().then(isOver(run.id), isOver(run.id))))
        expect(over).toEqual(runs.map(() => true))
        expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0, waits: 0 })
        expect(journal.feed.size).toBe(0)
      }),
      { numRuns: 25 },
    )
  })

  it('looks again when the run has changed while storage was asked', async () => {
    const asked: Deferred<void>[] = []
    const storage = readBy((own) => async (id) => {
      const record = own(id)
      asked.push(createDeferred())
      await asked.at(-1)?.promise
      return record
    })
    const entered = createDeferred<void>()
    const held = createDeferred<string>()
    const holding = bodyTask(() => {
      entered.resolve()
      return held.promise
    })
    await using engine = createEngine({ tasks: [holding], storage })
    const run = await engine.trigger(holding, null)
    await entered.promise
    const result = run.result()
    held.resolve('output')
    await untilIdle(engine)
    expect(asked).toHaveLength(1)
    asked[0]?.resolve()
    await turn()
    expect(asked).toHaveLength(2)
    asked[1]?.resolve()
    expect(await result).toBe('output')
  })

  it('answers what storage says of a run although the engine was closed while it was asked', async () => {
    const asked = createDeferred<void>()
    const storage = readBy((own) => async (id) => {
      await asked.promise
      return own(id)
    })
    const quick = bodyTask(() => 'output')
    const engine = createEngine({ tasks: [quick], storage })
    const result = (await engine.trigger(quick, null)).result()
    await untilIdle(engine)
    await engine.close()
    asked.resolve()
    expect(await result).toBe('output')
  })

  it('rejects with the closing of the engine when storage then fails to answer', async () => {
    const asked = createDeferred<never>()
    const storage = readBy(() => () => asked.promise)
    const quick = bodyTask(() => 'output')
    const engine = createEngine({ tasks: [quick], storage })
    const result = rejection((await engine.trigger(quick, null)).result())
    await engine.close()
    asked.reject(new Error('gone'))
    expect(await result).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })

  it('rejects with what reading the record throws, and reads no more', async () => {
    const quick = bodyTask(() => 'output')
    await using t = await createTestEngine({ tasks: [quick] })
    const { id } = await t.engine.trigger(quick, null)
    const error = new Error('unreadable')
    const unreadable = (): never => {
      throw error
    }
    const kernel = kernelOf(t.engine)
    expect(await rejection(whenEnded(kernel, id, unreadable))).toBe(error)
    expect(kernel.parts.journal.feed.size).toBe(0)
  })

  it('asks storage from where it is awaited, not from where the run ends', async () => {
    const askers: (string | undefined)[] = []
    const storage = readBy((own) => (id) => {
      askers.push(currentScope()?.id)
      return own(id)
    })
    const quick = bodyTask(() => 'output')
    await using engine = createEngine({ tasks: [quick], storage })
    await (await engine.trigger(quick, null)).result()
    expect(askers.length).toBeGreaterThan(1)
    expect(askers).toEqual(askers.map(() => undefined))
  })
})

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

async function untilIdle(engine: { stats(): { readonly attempts: number } }): Promise<void> {
  do await turn()
  while (engine.stats().attempts > 0)
}
