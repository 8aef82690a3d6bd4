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

const reporting = task({
  id: 'reporting',
  run: async (_payload: null, { streams, wait }) => {
    await streams.append('news', 'begun')
    await wait.for({ hours: 1 })
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
  const t = await createTestEngine({
    tasks: [nap, failing, reporting, parent],
    clock: { mode: 'manual' },
    ...options,
  })
  await use(t)
  return t.close().then(
    () => 'nothing',
    (error: unknown) => error,
  )
}

async function first(parts: AsyncIterable<unknown>): Promise<unknown> {
  for await (const part of parts) return part
  return undefined
}

async function all(parts: AsyncIterable<unknown>): Promise<unknown[]> {
  const seen: unknown[] = []
  for await (const part of parts) seen.push(part)
  return seen
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
        /"run_\w+" is still awaited or read at .*loose-ends\.test\.ts:\d+:\d+$/,
      ) as unknown,
    })
    expect(await pending[0]).toMatchObject({ code: 'ERR_ENGINE_CLOSED' })
  })

  it.each<[string, (t: TestEngine, id: string) => AsyncIterable<unknown>]>([
    ['a subscription', (t, id) => t.engine.runs.subscribeToRun(id)],
    ['a subscription with its streams', (t, id) => t.engine.runs.subscribeToRun(id).withStreams()],
    ['a stream', (t, id) => t.engine.streams.read(id, 'news')],
  ])('says that %s was begun and not left, and where', async (_what, open) => {
    const error = await left(async (t) => {
      const { id } = await t.engine.trigger(reporting, null)
      await open(t, id)[Symbol.asyncIterator]().next()
    })
    expect(error).toMatchObject({
      code: 'ERR_LOOSE_ENDS',
      message: expect.stringMatching(
        /"run_\w+" is still awaited or read at .*loose-ends\.test\.ts:\d+:\d+$/,
      ) as unknown,
    })
  })

  it.each<[string, (parts: AsyncIterable<unknown>, t: TestEngine) => Promise<unknown>]>([
    ['left', async (parts) => first(parts)],
    ['read to its end', async (parts) => all(parts)],
    ['never begun', async (parts) => parts[Symbol.asyncIterator]()],
    [
      'ended with the engine',
      async (parts, t) =>
        parts[Symbol.asyncIterator]()
          .next()
          .then(() => t.engine.close()),
    ],
  ])('is content with a subscription that was %s', async (_what, use) => {
    const closed = await left(
      async (t) => {
        const run = await t.engine.trigger(reporting, null)
        await use(t.engine.runs.subscribeToRun(run.id).withStreams(), t)
      },
      { clock: {} },
    )
    expect(closed).toBe('nothing')
  })

  it('does not mind what a task reads', async () => {
    const following = task({
      id: 'following',
      run: async (id: string, { runs }) => first(runs.subscribeToRun(id)),
    })
    const closed = await left(
      async (t) => {
        const run = await t.engine.trigger(nap, null)
        await (await t.engine.trigger(following, run.id)).result()
      },
      { tasks: [nap, following] },
    )
    expect(closed).toBe('nothing')
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
