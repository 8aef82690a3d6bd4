import { describe, expect, it } from 'vitest'
import { task } from '../../src/core/define-task.ts'
import { createTestEngine, type TestEngineOptions } from '../../src/testing/create-test-engine.ts'
import type { RunHandle } from '../../src/core/run.ts'
import type { TestEngine } from '../../src/testing/test-engine.ts'

const nap = task({
  id: 'nap',
  run: async (_payload: null, { wait }) => wait.for({ hours: 1 }),
})

const failing = task({
  id: 'failing',
  run: async (_payload: null) => {
    throw new Error('broken')
  },
})

const parent = task({
  id: 'parent',
  run: async (_payload: null) => (await failing.triggerAndWait(null)).ok,
})

/** What closing says after a test that only does this. */
async function left(
  use: (t: TestEngine) => Promise<unknown>,
  options: TestEngineOptions = {},
): Promise<unknown> {
  const t = await createTestEngine({ tasks: [nap, failing, parent], clock: { mode: 'manual' }, ...options })
  await use(t)
  return t.close().then(
    () => 'nothing',
    (error: unknown) => error,
  )
}

/** A run that has failed, and nobody has looked at it. */
async function fail(t: TestEngine): Promise<RunHandle<never>> {
  const run = await t.engine.trigger(failing, null)
  await t.clock.settle()
  return run
}

describe('closing a test engine', () => {
  it('says what is still awaited, and where', async () => {
    const pending: Promise<unknown>[] = []
    const error = await left(async (t) => {
      const run = await t.engine.trigger(nap, null)
      pending.push(run.result().catch((reason: unknown) => reason))
    })
    expect(error).toMatchObject({
      code: 'ERR_LOOSE_ENDS',
      message: expect.stringMatching(
        /"run_\w+" is still awaited at .*loose-ends\.test\.ts:\d+:\d+$/,
      ) as unknown,
    })
    expect(await pending[0]).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })

  it('says which failure nobody looked at, and where that run was triggered', async () => {
    const error = await left(async (t) => {
      await fail(t)
    })
    expect(error).toMatchObject({
      code: 'ERR_LOOSE_ENDS',
      message: expect.stringMatching(
        /nobody looked at run \w+ of task "failing", triggered at .*loose-ends\.test\.ts:\d+:\d+, ended as FAILED$/,
      ) as unknown,
    })
  })

  it.each<[string, (t: TestEngine) => Promise<unknown>]>([
    ['its outcome', async (t) => (await t.engine.trigger(failing, null)).outcome()],
    ['its record', async (t) => t.engine.runs.retrieve(await fail(t))],
    ['the list of runs', async (t) => fail(t).then(() => t.engine.runs.list())],
    ['its calls', async (t) => fail(t).then(() => t.calls(failing))],
    ['its result in its parent', async (t) => (await t.engine.trigger(parent, null)).result()],
  ])('is content when somebody looked at %s', async (_what, use) => {
    expect(await left(use)).toBe('nothing')
  })

  it('is content with runs that were left alone', async () => {
    expect(await left(async (t) => t.engine.trigger(nap, null))).toBe('nothing')
  })

  it('says nothing of what the test has ended itself', async () => {
    const error = await left(async (t) => {
      const run = await t.engine.trigger(nap, null)
      const result = run.result().catch(() => undefined)
      await t.engine.close()
      await result
    })
    expect(error).toBe('nothing')
  })
})
