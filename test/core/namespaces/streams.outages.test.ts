import { describe, expect, it } from 'vitest'
import { streams } from 'waitpoint'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { steadyStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import {
  chunksOf,
  collect,
  collectUntilError,
  countedSignal,
  CountSource,
  follow,
  numbers,
  PushSource,
  reportedErrors,
  sourceOf,
  watchers,
} from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

/** A task that writes 0 … 9 under `k`. */
const counting = bodyTask(async ({ metadata }) => {
  await metadata.stream('k', new CountSource(10))
})

describe('streams.read', () => {
  it('reads a stream before, while and after it is written', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null, { delay: '1h' })
    const before = collect(t.engine.streams.read(run, 'k'))
    await t.clock.advance('1h').catch(() => undefined)
    source.push('a')
    const during = collect(t.engine.streams.read(run.id, 'k'))
    source.push('b')
    source.end()
    await run.result()
    expect(await before).toEqual(['a', 'b'])
    expect(await during).toEqual(['a', 'b'])
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b'])
    expect(watchers(t.engine)).toBe(0)
  })

  it('ends as soon as the source has, while the run goes on', async () => {
    const body = bodyTask(async ({ metadata, wait }) => {
      await metadata.stream('k', sourceOf('a'))
      await wait.for({ hours: 1 })
    })
    await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const run = await t.engine.trigger(body, null)
    const start = t.clock.now()
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a'])
    expect(t.clock.now()).toBe(start)
    await run.result()
  })

  it('ends with the first source of a key; a later reader, and a subscriber, get what a second one adds', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ streams, wait }) => {
      await streams.pipe('k', sourceOf('a')).waitUntilComplete()
      await wait.for({ hours: 1 })
      await streams.pipe('k', source).waitUntilComplete()
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const parts = follow(t.engine, run)
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a'])
    source.push('b')
    source.end()
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b'])
    expect(chunksOf(await parts, 'k')).toEqual(['a', 'b'])
  })

  it('ends with the first attempt that ended its source well; startIndex reads on, a subscriber gets all', async () => {
    const body = bodyTask(
      async ({ streams, ctx }) => {
        await streams
          .pipe('k', sourceOf(`${ctx.attempt.number}a`, `${ctx.attempt.number}b`))
          .waitUntilComplete()
        if (ctx.attempt.number === 1) throw new Error('once more')
      },
      { retry: { maxAttempts: 2 } },
    )
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const parts = follow(t.engine, run)
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['1a', '1b'])
    expect(await collect(t.engine.streams.read(run, 'k', { startIndex: 2 }))).toEqual(['2a', '2b'])
    expect(chunksOf(await parts, 'k')).toEqual(['1a', '1b', '2a', '2b'])
  })

  it('reads nothing from a key that the run never used', async () => {
    await using t = await createTestEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, null)
    expect(await collect(t.engine.streams.read(run, 'other'))).toEqual([])
  })

  it('rejects for a run that does not exist', async () => {
    await using t = await createTestEngine({})
    const reading = collect(t.engine.streams.read('run_unknown', 'k'))
    expect(await rejection(reading)).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    expect(watchers(t.engine)).toBe(0)
  })

  it('can be iterated again, from the start', async () => {
    await using t = await createTestEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, null)
    const read = t.engine.streams.read(run, 'k')
    expect(await collect(read)).toEqual(numbers(10))
    expect(await collect(read)).toEqual(numbers(10))
  })

  it.each([
    [0, numbers(10)],
    [7, [7, 8, 9]],
    [10, []],
    [99, []],
  ])('starts at startIndex %i', async (startIndex, expected) => {
    await using t = await createTestEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, null)
    expect(await collect(t.engine.streams.read(run, 'k', { startIndex }))).toEqual(expected)
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'k', { startIndex }))).toEqual(expected)
  })

  it('waits for a startIndex that is not written yet', async () => {
    const source = new PushSource<number>()
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const reading = collect(t.engine.streams.read(run, 'k', { startIndex: 2 }))
    for (const chunk of numbers(4)) {
      source.push(chunk)
      await turn()
    }
    source.end()
    expect(await reading).toEqual([2, 3])
  })

  it.each([-1, 1.5, NaN, '3' as never])('refuses startIndex %j', async (startIndex) => {
    await using t = await createTestEngine({})
    expect(() => t.engine.streams.read('run_x', 'k', { startIndex })).toThrow(RangeError)
  })

  it.each([undefined, '', {}, null])('refuses %j as a run', async (run) => {
    await using t = await createTestEngine({})
    expect(() => t.engine.streams.read(run as never, 'k')).toThrow(TypeError)
  })

  describe('with a signal', () => {
    it('rejects with its reason while it waits, and watches no longer', async () => {
      const source = new PushSource<string>()
      const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
      await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
      const run = await t.engine.trigger(body, null)
      source.push('a')
      const controller = new AbortController()
      const reading = collectUntilError(t.engine.streams.read(run, 'k', { signal: controller.signal }))
      await turn()
      expect(watchers(t.engine)).toBe(2)
      controller.abort('enough')
      expect(await reading).toEqual({ items: ['a'], error: 'enough' })
      expect(watchers(t.engine)).toBe(1)
      source.end()
      await run.result()
    })

    it('rejects with the next read after it was aborted between two', async () => {
      await using t = await createTestEngine({ tasks: [counting] })
      const run = await t.engine.trigger(counting, null)
      await run.result()
      const controller = new AbortController()
      const seen: unknown[] = []
      const reading = (async () => {
        for await (const chunk of t.engine.streams.read(run, 'k', { signal: controller.signal })) {
          seen.push(chunk)
          if (chunk === 3) controller.abort()
        }
      })()
      expect(await rejection(reading)).toMatchObject({ name: 'AbortError' })
      expect(seen).toEqual([0, 1, 2, 3])
    })

    it('listens to it no longer than it reads', async () => {
      await using t = await createTestEngine({ tasks: [counting] })
      const run = await t.engine.trigger(counting, null)
      const { signal, listeners } = countedSignal()
      expect(await collect(t.engine.streams.read(run, 'k', { signal }))).toEqual(numbers(10))
      expect(listeners()).toBe(0)
    })

    it('rejects at once when it is aborted already', async () => {
      await using t = await createTestEngine({ tasks: [counting] })
      const run = await t.engine.trigger(counting, null)
      const reading = collectUntilError(t.engine.streams.read(run, 'k', { signal: AbortSignal.abort(7) }))
      expect(await reading).toEqual({ items: [], error: 7 })
    })
  })

  it('can be left while it waits', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const iterator = t.engine.streams.read(run, 'k')[Symbol.asyncIterator]()
    const waiting = iterator.next()
    await turn()
    await iterator.return?.()
    expect((await waiting).done).toBe(true)
    expect((await iterator.next()).done).toBe(true)
    expect(watchers(t.engine)).toBe(1)
    source.end()
    await run.result()
  })

  it('leaves nothing behind when its loop is left', async () => {
    await using t = await createTestEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, null)
    for await (const chunk of t.engine.streams.read(run, 'k')) if (chunk === 2) break
    await run.result()
    expect(watchers(t.engine)).toBe(0)
  })

  it('rejects when the engine is closed, before and while it waits', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', source)))
    const t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    const waiting = collectUntilError(t.engine.streams.read(run, 'k'))
    await turn()
    await t.engine.close()
    expect(await waiting).toMatchObject({ error: { code: 'ERR_ENGINE_CLOSED' } })
    const late = collectUntilError(t.engine.streams.read(run, 'k'))
    expect(await late).toMatchObject({ error: { code: 'ERR_ENGINE_CLOSED' } })
    expect(watchers(t.engine)).toBe(0)
  })
})

describe('streams.append', () => {
  it('adds chunks in call order, without waiting in between', async () => {
    const body = bodyTask(async ({ streams }) => {
      await Promise.all(numbers(50).map((chunk) => streams.append('k', chunk)))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(numbers(50))
  })

  it('rejects for what is not JSON, and the stream goes on', async () => {
    const errors: unknown[] = []
    const body = bodyTask(async ({ streams }) => {
      await streams.append('k', 'a')
      errors.push(await rejection(streams.append('k', { a: [() => 1] })))
      await streams.append('k', 'b')
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b'])
    expect(errors).toMatchObject([
      {
        code: 'ERR_NOT_SERIALIZABLE',
        message: 'Cannot store a chunk of stream "k": $.a[0] is not JSON: a function',
      },
    ])
  })
})

describe('streams.pipe', () => {
  it('answers at once what the task reads, and when all of it is stored', async () => {
    const body = bodyTask(async ({ streams, ctx }) => {
      const piped = streams.pipe('k', new CountSource(10))
      const seen = await collect(piped.stream)
      await piped.waitUntilComplete()
      const stored = await collect(streams.read<number>(ctx.run, 'k'))
      return [seen, stored]
    })
    await using t = await createTestEngine({ tasks: [body] })
    expect(await (await t.engine.trigger(body, null)).result()).toEqual([numbers(10), numbers(10)])
  })

  it('reads on without a reader', async () => {
    const body = bodyTask(({ streams }) => {
      streams.pipe('k', sourceOf('a', 'b'))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b'])
  })

  it('rejects where it is waited for with what the source threw', async () => {
    const body = bodyTask(async ({ streams }) => {
      const source = new PushSource<string>()
      source.fail(new Error('broken'))
      const piped = streams.pipe('k', source)
      const error = (await rejection(piped.waitUntilComplete())) as Error
      return [error.message, ((await collectUntilError(piped.stream)).error as Error).message]
    })
    await using t = await createTestEngine({ tasks: [body] })
    reportedErrors(t.engine)
    expect(await (await t.engine.trigger(body, null)).result()).toEqual(['broken', 'broken'])
  })

  it('rejects where it is waited for with why it was stopped', async () => {
    const body = bodyTask(async ({ streams }) => {
      const controller = new AbortController()
      const { signal } = controller
      const piped = streams.pipe('k', new PushSource<string>(), { signal })
      const waiting = rejection(piped.waitUntilComplete())
      await turn()
      controller.abort('enough')
      return waiting
    })
    await using t = await createTestEngine({ tasks: [body] })
    expect(await (await t.engine.trigger(body, null)).result()).toBe('enough')
  })

  it('reports a source it could not take when it is not waited for', async () => {
    const body = bodyTask(({ streams }) => {
      const source = ReadableStream.from(['a'])
      source.getReader()
      streams.pipe('k', source)
    })
    await using t = await createTestEngine({ tasks: [body], storage: steadyStorage() })
    const errors = reportedErrors(t.engine)
    await (await t.engine.trigger(body, null)).result()
    expect(errors).toMatchObject([{ name: 'TypeError' }])
  })
})

describe('streams.define', () => {
  it('names a stream once, for its writer and its readers', async () => {
    const draft = streams.define<string>({ id: 'draft' })
    const body = bodyTask(async () => {
      await draft.append('a')
      return collect(draft.pipe(sourceOf('b', 'c')).stream)
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    expect(await run.result()).toEqual(['b', 'c'])
    expect(draft.id).toBe('draft')
    expect(await collect(t.engine.streams.define<string>({ id: 'draft' }).read(run))).toEqual(['a', 'b', 'c'])
  })
})
