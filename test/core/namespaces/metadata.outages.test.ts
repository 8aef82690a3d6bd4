import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { type EngineErrorEvent, metadata, type Run, type RunTools } from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { projectStorage, steadyStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { steeredStorage, type SteeredStorage } from '../../support/steered-storage.ts'
import { countText } from '../../support/text-count.ts'
import { turn } from '../../support/turn.ts'

/** The metadata of a run whose function is `body`, once it has ended. */
async function after(
  body: (tools: RunTools) => unknown,
  options: { readonly metadata?: Readonly<Record<string, unknown>> } = {},
): Promise<Readonly<Record<string, unknown>>> {
  const only = bodyTask(body)
  await using t = await createTestEngine({ tasks: [only] })
  const run = await t.engine.trigger(only, null, options)
  await run.result()
  return (await t.engine.runs.retrieve(run.id)).metadata
}

interface SteeredEngine extends TestEngine {
  readonly steered: SteeredStorage
  readonly errors: readonly EngineErrorEvent[]
  readonly run: { readonly id: string }
}

/** A run of `body` on a storage that a test can hold back. */
async function steer(
  prepare: (steered: SteeredStorage) => void,
  body: (tools: RunTools) => unknown,
): Promise<SteeredEngine> {
  const steered = steeredStorage(steadyStorage())
  prepare(steered)
  const only = bodyTask(body)
  const t = await createTestEngine({ tasks: [only], storage: steered.storage, clock: { ioGraceMs: 10 } })
  const errors: EngineErrorEvent[] = []
  t.engine.on('error', (event) => void errors.push(event))
  const run = await t.engine.trigger(only, null)
  return { ...t, steered, errors, run }
}

describe('metadata', () => {
  it('starts with what the trigger gives', async () => {
    let seen: unknown
    const body = ({ metadata: own }: RunTools): unknown => (seen = own.current())
    expect(await after(body, { metadata: { a: 1, b: { c: [null] } } })).toEqual({ a: 1, b: { c: [null] } })
    expect(seen).toEqual({ a: 1, b: { c: [null] } })
    expect(await after(() => undefined)).toEqual({})
  })

  it('is changed at once, and by a chain of calls', async () => {
    const seen: unknown[] = []
    const stored = await after(() => {
      seen.push(metadata.get('n'))
      metadata.set('n', 1).increment('n').increment('n', 0.5).decrement('n', 2).increment('fresh')
      seen.push(metadata.get('n'), metadata.current())
      metadata
        .append('list', 'a')
        .append('list', 'b')
        .set('one', 1)
        .append('one', 2)
        .set('gone', true)
        .del('gone')
      metadata.del('never').set('undefined', undefined)
    })
    expect(seen).toEqual([undefined, 0.5, { n: 0.5, fresh: 1 }])
    expect(stored).toEqual({ n: 0.5, fresh: 1, list: ['a', 'b'], one: [1, 2] })
  })

  it('is a copy, when it is given and when it is got', async () => {
    const stored = await after(() => {
      const given = { list: [1] }
      metadata.set('given', given)
      given.list.push(2)
      const got = metadata.get('given') as typeof given
      got.list.push(3)
      const current = metadata.current() as { given: typeof given }
      current.given.list.push(4)
    })
    expect(stored).toEqual({ given: { list: [1] } })
  })

  it('makes text of what was changed, not of everything that is there, for each change', async () => {
    let characters = 0
    const stored = await after(() => {
      metadata.set('large', 'x'.repeat(10_000)).append('list', 0)
      using made = countText()
      for (let number = 1; number <= 500; number++) metadata.append('list', number).set(`k${number}`, number)
      characters = made.characters
    })
    expect(stored).toMatchObject({ k500: 500, list: expect.objectContaining({ length: 501 }) as unknown })
    expect(characters).toBeLessThan(20_000)
  })

  it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty', ''])(
    'takes the key "%s"',
    async (key) => {
      const seen: unknown[] = []
      const stored = await after(() => {
        seen.push(metadata.get(key))
        metadata.increment(key, 2)
        seen.push(metadata.get(key))
        metadata.append(key, 'x').set('other', 1)
      })
      expect(seen).toEqual([undefined, 2])
      expect(Object.entries(stored)).toEqual([
        [key, [2, 'x']],
        ['other', 1],
      ])
    },
  )

  it('refuses what is not JSON, with the place, and keeps what was', async () => {
    const errors: unknown[] = []
    const stored = await after(() => {
      metadata.set('kept', 1)
      for (const value of [{ at: [1n] }, () => 1, new Map(), Number.NaN]) {
        try {
          metadata.set('kept', value)
        } catch (error) {
          errors.push(error)
        }
      }
      expect(metadata.get('kept')).toBe(1)
    })
    expect(errors).toHaveLength(4)
    expect(errors[0]).toMatchObject({
      code: 'ERR_NOT_SERIALIZABLE',
      message: expect.stringMatching(/"kept".*\$\.at\[0\]/) as unknown,
    })
    expect(stored).toEqual({ kept: 1 })
  })

  it('refuses to count what is no number', async () => {
    await after(() => {
      metadata.set('text', 'a')
      expect(() => metadata.increment('text')).toThrow(TypeError)
      for (const by of [Number.NaN, Number.POSITIVE_INFINITY, '1' as unknown as number]) {
        expect(() => metadata.increment('n', by)).toThrow(RangeError)
      }
      metadata.set('big', Number.MAX_VALUE)
      expect(() => metadata.increment('big', Number.MAX_VALUE)).toThrow(/big/)
      expect(metadata.get('big')).toBe(Number.MAX_VALUE)
    })
  })

  it('is only there in a run', async () => {
    await using t = await createTestEngine()
    const own = t.engine.metadata
    for (const call of [
      () => own.get('a'),
      () => own.current(),
      () => own.set('a', 1),
      () => own.del('a'),
      () => own.increment('a'),
      () => own.append('a', 1),
    ]) {
      expect(call).toThrow(expect.objectContaining({ code: 'ERR_NOT_IN_RUN' }) as Error)
    }
    await expect(own.flush()).rejects.toMatchObject({ code: 'ERR_NOT_IN_RUN' })
  })

  it('ends with its attempt', async () => {
    let late: () => unknown = () => undefined
    const only = bodyTask((tools) => {
      const own = tools.metadata.set('a', 1)
      late = AsyncLocalStorage.bind(() => own.set('a', 2))
    })
    await using t = await createTestEngine({ tasks: [only] })
    const run = await t.engine.trigger(only, null)
    await run.result()
    expect(late).not.toThrow()
    expect((await t.engine.runs.retrieve(run.id)).metadata).toEqual({ a: 1 })
  })

  it('does not throw in what an aborted attempt has left behind', async () => {
    const late: (() => unknown)[] = []
    const only = bodyTask(async (tools) => {
      tools.metadata.set('a', 1)
      for (const own of [tools.metadata, metadata, t.engine.metadata])
        late.push(
          AsyncLocalStorage.bind(() => own.set('a', 2).increment('a').append('b', 3)),
          AsyncLocalStorage.bind(() => own.append('b', 1).decrement('a').del('a')),
        )
      await tools.wait.for({ hours: 1 })
    })
    const t = await createTestEngine({ tasks: [only], storage: steadyStorage(), clock: { mode: 'manual' } })
    const canceled = await t.engine.trigger(only, null)
    while (!(await t.engine.runs.retrieve(canceled.id)).isWaiting) await turn()
    await t.engine.runs.cancel(canceled.id)
    expect(late).toHaveLength(6)
    for (const call of late) expect(call).not.toThrow()
    expect((await t.engine.runs.retrieve(canceled.id)).metadata).toEqual({ a: 1 })
    late.length = 0
    const closed = await t.engine.trigger(only, null)
    while (!(await t.engine.runs.retrieve(closed.id)).isWaiting) await turn()
    await t.close()
    expect(late).toHaveLength(6)
    for (const call of late) expect(call).not.toThrow()
  })

  it('is stored soon, while the run goes on, in one write for many changes', async () => {
    const gate = createDeferred<void>()
    const steered = steeredStorage(projectStorage())
    const slow = bodyTask(async () => {
      for (let n = 0; n < 100; n += 1) metadata.set('n', n)
      await t.clock.external(gate.promise)
      metadata.set('last', true)
    })
    await using t = await createTestEngine({ tasks: [slow], storage: steered.storage })
    const run = await t.engine.trigger(slow, null)
    const stored = async (): Promise<Run['metadata']> => (await t.engine.runs.retrieve(run.id)).metadata
    while (!('n' in (await stored()))) await turn()
    expect(await stored()).toEqual({ n: 99 })
    expect(steered.calls.filter((name) => name === 'runs.update')).toHaveLength(1)
    gate.resolve()
    await run.result()
    expect((await t.engine.runs.retrieve(run.id)).metadata).toEqual({ n: 99, last: true })
  })

  it('goes along with the end of the run', async () => {
    expect(await after(() => void metadata.set('a', 1))).toEqual({ a: 1 })
    const failing = bodyTask(() => {
      metadata.set('a', 1)
      throw new Error('no')
    })
    await using t = await createTestEngine({ tasks: [failing] })
    const run = await t.engine.trigger(failing, null)
    await run.outcome()
    expect(await t.engine.runs.retrieve(run.id)).toMatchObject({ status: 'FAILED', metadata: { a: 1 } })
  })

  it('survives another attempt', async () => {
    const flaky = bodyTask(
      ({ ctx }) => {
        metadata.increment('attempts').append('log', ctx.attempt.number)
        if (ctx.attempt.number < 3) throw new Error('again')
        return metadata.current()
      },
      { retry: { maxAttempts: 3, minTimeoutInMs: 0 } },
    )
    await using t = await createTestEngine({ tasks: [flaky] })
    expect(await (await t.engine.trigger(flaky, null)).result()).toEqual({ attempts: 3, log: [1, 2, 3] })
  })

  it('survives a wait', async () => {
    const stored = await after(async ({ wait }) => {
      metadata.set('before', 1)
      await wait.for({ hours: 1 })
      expect(metadata.current()).toEqual({ before: 1 })
      metadata.set('after', 2)
    })
    expect(stored).toEqual({ before: 1, after: 2 })
  })
})

describe('metadata.flush', () => {
  it('resolves once everything is stored, also when there is nothing to store', async () => {
    const seen: unknown[] = []
    await after(async ({ metadata: own, runs, ctx }) => {
      await own.flush()
      for (const n of [1, 2]) {
        own.set('n', n)
        await own.flush()
        seen.push((await runs.retrieve(ctx.run.id)).metadata)
      }
    })
    expect(seen).toEqual([{ n: 1 }, { n: 2 }])
  })

  it('keeps the order of the writes, however long each takes', async () => {
    const gate = createDeferred<void>()
    let release = (): void => undefined
    await using t = await steer(
      (steered) => (release = steered.holdCall('runs.update')),
      async ({ metadata: own }) => {
        own.set('n', 1)
        await Promise.resolve().then(() => undefined)
        await Promise.resolve()
        own.set('n', 2)
        await gate.promise
        await own.flush()
      },
    )
    await t.clock.settle().catch(() => undefined)
    release()
    gate.resolve()
    await t.clock.settle()
    expect((await t.engine.runs.retrieve(t.run.id)).metadata).toEqual({ n: 2 })
  })

  it('rejects when the write fails, which is an error event; the next one takes it along', async () => {
    const seen: unknown[] = []
    let failure: unknown
    await using t = await steer(
      (steered) => (failure = steered.fail('runs.update')),
      async ({ metadata: own, runs, ctx }) => {
        own.set('a', 1)
        seen.push(await rejection(own.flush()))
        own.set('b', 2)
        await own.flush()
        seen.push((await runs.retrieve(ctx.run.id)).metadata)
      },
    )
    await t.clock.settle()
    expect(seen).toEqual([failure, { a: 1, b: 2 }])
    expect(t.errors).toEqual([{ error: failure, runId: t.run.id }])
  })

  it('writes nothing twice', async () => {
    await using t = await steer(
      () => undefined,
      async ({ metadata: own }) => {
        own.set('a', 1)
        await own.flush()
        await own.flush()
      },
    )
    await t.clock.settle()
    // One write of the metadata, one of the end of the run.
    expect(t.steered.calls.filter((name) => name === 'runs.update')).toHaveLength(2)
  })

  it('after a write that failed tries again', async () => {
    const seen: unknown[] = []
    await using t = await steer(
      (steered) => steered.fail('runs.update'),
      async ({ metadata: own, runs, ctx }) => {
        own.set('a', 1)
        await rejection(own.flush())
        await own.flush()
        seen.push((await runs.retrieve(ctx.run.id)).metadata)
      },
    )
    await t.clock.settle()
    expect(seen).toEqual([{ a: 1 }])
  })
})
