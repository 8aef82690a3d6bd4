import { describe, expect, it } from 'vitest'
import { once, task, wait } from 'waitpoint'
import type { Body } from 'waitpoint/testing'
import { rejection } from '../../support/body-task.ts'
import { exploreAll } from './bodies.ts'

async function failure(promise: PromiseLike<unknown>): Promise<Error> {
  const error = await rejection(promise)
  if (error instanceof Error) return error
  throw new Error('Cannot read what failed: it is no error')
}

describe('t.onRestart', () => {
  const cache = new Map<string, string>()
  const read = task({
    id: 'read',
    run: async (_payload: null) => {
      const cached = cache.get('price')
      if (cached !== undefined) return cached
      await once('price', () => 'computed')
      cache.set('price', 'computed')
      await wait.for({ seconds: 1 })
      return cache.size === 1 ? 'computed' : 'lost'
    },
  })
  const crashing: Body = async (t) => {
    cache.clear()
    const run = await t.engine.trigger(read, null)
    await run.result()
    t.sometimes('the cache was dropped', dropped > 0)
  }
  let dropped = 0

  it('drops the state of a module when the process dies', async () => {
    dropped = 0
    const body: Body = async (t) => {
      t.onRestart((engine) => {
        expect(engine).toBe('engine')
        dropped += cache.size
        cache.clear()
      })
      await crashing(t)
    }
    const options = { tasks: [read], crashes: 'every-commit', maxDeviations: 1 } as const
    expect(await exploreAll(body, options)).toMatchObject({ complete: true })
  })

  it('waits for a module that is imported again, and gives its tasks to the new engine', async () => {
    const answer = (id: string) =>
      task({
        id: 'answer',
        version: '1',
        run: async (_payload: null) => (await wait.for({ seconds: 1 }), id),
      })
    const first = answer('first')
    const body: Body = async (t) => {
      t.onRestart(() => Promise.resolve([answer('second')]))
      const run = await t.engine.trigger(first, null)
      await t.clock.sleep(1)
      t.crash()
      expect(await run.result()).toBe('second')
      expect(t.calls(first).map(({ attempt }) => attempt)).toEqual([1, 2])
    }
    expect(await exploreAll(body, { tasks: [first], maxDeviations: 0 })).toMatchObject({ runs: 1 })
  })

  it('fails the schedule when it throws', async () => {
    const body: Body = async (t) => {
      t.onRestart(() => Promise.reject(new Error('no such module')))
      await t.engine.ready()
      t.crash()
      await t.engine.wait.createToken()
    }
    expect((await failure(exploreAll(body, { maxDeviations: 0 }))).message).toContain('no such module')
  })
})
