import { describe, expect, it } from 'vitest'
import { type Engine, task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { steeredStorage } from '../../support/steered-storage.ts'

const KEYED = { idempotencyKey: 'k', idempotencyKeyTTL: '30d', freeKeyOnFailure: true }

/** Fails so many times, then succeeds. */
function failing(times: number) {
  let calls = 0
  return task({
    id: 'failing',
    run: () => {
      calls += 1
      if (calls <= times) throw new Error(`call ${calls}`)
      return calls
    },
  })
}

const ids = new WeakMap<object, string[]>()

/** Triggers with the key; answers which of the runs so far it is, from 1. */
async function nth(engine: Engine, options: object = KEYED): Promise<readonly [run: number, status: string]> {
  const run = await engine.tasks.trigger('failing', undefined, options)
  const known = ids.get(engine) ?? []
  ids.set(engine, known)
  if (!known.includes(run.id)) known.push(run.id)
  const { status } = await engine.runs.poll(run.id)
  return [known.indexOf(run.id) + 1, status]
}

describe('freeKeyOnFailure', () => {
  it('has a new run after one that has failed, and keeps the key of one that has not', async () => {
    await using t = await createTestEngine({ tasks: [failing(2)] })
    expect(await nth(t.engine)).toEqual([1, 'FAILED'])
    expect(await nth(t.engine, { idempotencyKey: 'k' })).toEqual([1, 'FAILED'])
    expect(await nth(t.engine)).toEqual([2, 'FAILED'])
    expect(await nth(t.engine)).toEqual([3, 'COMPLETED'])
    expect(await nth(t.engine)).toEqual([3, 'COMPLETED'])
  })

  it('keeps the key of a run that was canceled', async () => {
    await using t = await createTestEngine({ tasks: [failing(9)] })
    const later = { ...KEYED, delay: '1h' }
    const run = await t.engine.tasks.trigger('failing', undefined, later)
    await t.engine.runs.cancel(run)
    expect(await t.engine.tasks.trigger('failing', undefined as never, later)).toMatchObject({
      id: run.id,
      isCached: true,
    })
  })

  it('frees the key of a run that has expired', async () => {
    await using t = await createTestEngine({ tasks: [failing(9)], execute: false })
    const expiring = { ...KEYED, ttl: 60 }
    const { id } = await t.engine.tasks.trigger('failing', undefined, expiring)
    await t.clock.advance('2m')
    expect((await t.engine.runs.retrieve(id)).status).toBe('EXPIRED')
    expect(await t.engine.tasks.trigger('failing', undefined as never, expiring)).toMatchObject({
      isCached: false,
    })
  })

  it('has one new run for two that trigger at once', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const tasks = [failing(1)]
    await using a = await createTestEngine({ tasks, storage, clock })
    await using b = await createTestEngine({ tasks, storage, clock })
    const first = await a.engine.tasks.trigger('failing', undefined, KEYED)
    await first.outcome()
    await b.engine.runs.poll(first)
    const again = await Promise.all(
      [a, b, a].map(({ engine }) => engine.tasks.trigger('failing', undefined as never, KEYED)),
    )
    expect(new Set(again.map(({ id }) => id)).size).toBe(1)
    expect(again.filter(({ isCached }) => !isCached)).toHaveLength(1)
    await a.engine.runs.poll(again[0]!)
  })

  it('is refused unless it is true or false', async () => {
    await using t = await createTestEngine({ tasks: [failing(0)] })
    await expect(
      t.engine.tasks.trigger('failing', undefined as never, { freeKeyOnFailure: 1 } as never),
    ).rejects.toThrow('Cannot use freeKeyOnFailure 1')
  })

  it('has a retry of the parent begin the child anew, in a batch too', async () => {
    const child = failing(2)
    const parent = task({
      id: 'parent',
      retry: { maxAttempts: 5, minTimeoutInMs: 0 },
      run: async (batch: boolean, { tasks }) => {
        if (!batch) return tasks.triggerAndWait<typeof child>('failing', undefined, KEYED).unwrap()
        const items = [{ payload: undefined, options: KEYED }]
        const { runs } = await tasks.batchTriggerAndWait<typeof child>('failing', items)
        if (runs[0]?.ok !== true) throw new Error('failed')
        return runs[0].output
      },
    })
    for (const batch of [false, true]) {
      await using t = await createTestEngine({ tasks: [batch ? failing(2) : child, parent] })
      const run = await t.engine.trigger(parent, batch)
      expect(await run.result()).toBe(3)
      expect(await t.engine.runs.retrieve(run)).toMatchObject({ attemptCount: 3 })
    }
  })

  it('finds the run that has failed when the attempt is executed again after a crash', async () => {
    const storage = projectStorage()
    await using clock = testClock()
    const child = failing(9)
    const parent = task({
      id: 'parent',
      run: async (_: undefined, { tasks, wait }) => {
        const first = await tasks.triggerAndWait<typeof child>('failing', undefined, KEYED)
        const again = await tasks.trigger<typeof child>('failing', undefined, KEYED)
        await wait.for({ hours: 1 })
        return [first.id === again.id, first.id]
      },
    })
    const options = { tasks: [child, parent], storage, clock, retention: { maxAge: '30d' } }
    const before = await createTestEngine(options)
    const { id } = await before.engine.trigger(parent, undefined)
    await clock.advance('1m')
    expect((await before.engine.runs.retrieve(id)).status).toBe('WAITING')
    await before.close()
    await using after = await createTestEngine(options)
    await clock.advance('2h')
    const { data } = await after.engine.runs.list({ taskIdentifier: 'failing' })
    expect(data).toHaveLength(1)
    expect((await after.engine.runs.retrieve(id)).output).toEqual([true, data[0]?.id])
  })

  it('has one run when the answer to the second insert is lost', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await createTestEngine({ tasks: [failing(1)], storage: steered.storage })
    expect(await nth(t.engine)).toEqual([1, 'FAILED'])
    steered.fail('runs.insert')
    await expect(nth(t.engine)).rejects.toThrow('no answer')
    expect(await nth(t.engine)).toEqual([2, 'COMPLETED'])
  })
})
