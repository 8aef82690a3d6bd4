import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import type { StreamSource } from 'waitpoint'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import {
  chunksOf,
  collect,
  collectUntilError,
  CountSource,
  follow,
  numbers,
  PushSource,
  reportedErrors,
  sourceOf,
} from '../../support/streams.ts'
import { turn, until } from '../../support/turn.ts'

const INTERRUPTED = { code: 'ERR_STREAM_INTERRUPTED', name: 'StreamInterruptedError' }

async function* failing(...chunks: readonly string[]): AsyncGenerator<string> {
  yield* chunks
  throw new RangeError('model overloaded')
}

const SOURCES: readonly (readonly [string, () => StreamSource<unknown>])[] = [
  ['an async generator', () => sourceOf('a', 'b', 'c')],
  ['an async iterable', () => ({ [Symbol.asyncIterator]: () => sourceOf('a', 'b', 'c') })],
  ['a web stream', () => ReadableStream.from(['a', 'b', 'c'])],
  ['a Node stream', () => Readable.from(['a', 'b', 'c'])],
  [
    'bytes through a TextDecoderStream',
    () =>
      ReadableStream.from([Buffer.from('a'), Buffer.from('b'), Buffer.from('c')]).pipeThrough(
        new TextDecoderStream(),
      ),
  ],
]

describe('RunStreams', () => {
  describe('metadata.stream', () => {
    it.each(SOURCES)('gives the task and every subscriber all chunks of %s', async (_name, make) => {
      const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', make())))
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const [one, other, read] = await Promise.all([
        follow(t.engine, run),
        follow(t.engine, run.id),
        collect(t.engine.streams.read(run, 'k')),
      ])
      expect(await run.result()).toEqual(['a', 'b', 'c'])
      expect(chunksOf(one, 'k')).toEqual(['a', 'b', 'c'])
      expect(chunksOf(other, 'k')).toEqual(['a', 'b', 'c'])
      expect(read).toEqual(['a', 'b', 'c'])
    })

    it('keeps a chunk as it was when the source gave it, whatever its source or a reader does to it', async () => {
      const words = { said: [] as unknown[] }
      async function* growing(): AsyncGenerator<typeof words> {
        for (const word of ['a', 10n]) {
          yield words
          words.said.push(word)
        }
      }
      const body = bodyTask(async ({ metadata }) => {
        for await (const chunk of await metadata.stream('k', growing())) chunk.said.push('the task')
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const readers = [1, 2].map(async () => {
        const seen: unknown[] = []
        for await (const chunk of t.engine.streams.read<typeof words>(run, 'k')) {
          seen.push([...chunk.said])
          chunk.said.push('a reader')
        }
        return seen
      })
      await run.result()
      expect(await Promise.all(readers)).toEqual([
        [[], ['a']],
        [[], ['a']],
      ])
      expect(chunksOf(await follow(t.engine, run), 'k')).toEqual([{ said: [] }, { said: ['a'] }])
    })

    it.each(SOURCES)('may be ignored by the task: %s', async (_name, make) => {
      const body = bodyTask(({ metadata }) => {
        void metadata.stream('k', make())
        return 'returned'
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      expect(chunksOf(await follow(t.engine, run), 'k')).toEqual(['a', 'b', 'c'])
      expect(await run.result()).toBe('returned')
    })

    it('starts pulling at once, without a reader', async () => {
      const source = new PushSource<string>()
      const body = bodyTask(async ({ metadata }) => {
        const registered = metadata.stream('k', source)
        await registered
        return source.pulls
      })
      source.end()
      await using t = await createTestEngine({ tasks: [body] })
      expect(await (await t.engine.trigger(body, null)).result()).toBe(1)
    })

    it('takes values of every JSON type, as they are', async () => {
      const chunks = ['', 0, false, null, [], {}, { a: [1, { b: null }] }, 'ü\u0000\n']
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', sourceOf(...chunks))
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(chunks)
    })

    it('keeps several keys apart', async () => {
      const body = bodyTask(async ({ metadata }) => {
        await Promise.all([metadata.stream('one', sourceOf(1, 2)), metadata.stream('two', sourceOf('a'))])
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const parts = await follow(t.engine, run)
      expect([chunksOf(parts, 'one'), chunksOf(parts, 'two')]).toEqual([[1, 2], ['a']])
      expect((await t.engine.runs.retrieve(run)).realtimeStreams).toEqual(['one', 'two'])
    })

    it.each([
      ['run', RangeError, 'Cannot use stream "run"'],
      ['', TypeError, 'must be a non-empty string'],
      [7 as never, TypeError, 'must be a non-empty string'],
    ])('refuses the key %j before anything has changed', async (key, type, message) => {
      const source = new CountSource(3)
      const seen: unknown[] = []
      const body = bodyTask(async ({ metadata, streams }) => {
        seen.push(await rejection(metadata.stream(key, source)))
        seen.push(await rejection(streams.append(key, 'chunk')))
        seen.push(await rejection((async () => streams.pipe(key, source))()))
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      await run.result()
      for (const error of seen) {
        expect(error).toBeInstanceOf(type)
        expect(error).toMatchObject({ message: expect.stringContaining(message) as unknown })
      }
      expect(seen).toHaveLength(3)
      expect([source.produced, source.isReturned]).toEqual([0, false])
      expect((await t.engine.runs.retrieve(run)).realtimeStreams).toEqual([])
    })

    it('refuses what is no source before anything has changed', async () => {
      const errors: unknown[] = []
      const body = bodyTask(async ({ metadata, streams }) => {
        errors.push(await rejection(metadata.stream('k', 'text' as never)))
        errors.push(await rejection((async () => streams.pipe('k', ['a'] as never))()))
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      await run.result()
      expect(errors).toEqual([
        expect.objectContaining({ name: 'TypeError' }),
        expect.objectContaining({ name: 'TypeError' }),
      ])
      expect((await t.engine.runs.retrieve(run)).realtimeStreams).toEqual([])
    })

    it('works only in a run', async () => {
      await using t = await createTestEngine({})
      const source = new CountSource(1)
      expect(await rejection(t.engine.metadata.stream('k', source))).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
      expect(await rejection(t.engine.streams.append('k', 1))).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
      expect(() => t.engine.streams.pipe('k', source)).toThrow(
        expect.objectContaining({ code: 'ERR_NOT_IN_RUN' }),
      )
    })

    it.each(['throws', 'rejects'])(
      'lets go of the source when storage %s, and may be tried again',
      async (way) => {
        const inner = projectStorage()
        let failures = 1
        const storage = wrapStorage(inner, (name, operation) => (...args) => {
          if (name !== 'chunks.open' || failures-- <= 0) return operation(...args)
          const error = new Error('disk full')
          if (way === 'throws') throw error
          return Promise.reject(error)
        })
        const lost = new CountSource()
        const body = bodyTask(async ({ metadata }) => {
          const error = await rejection(metadata.stream('k', lost))
          return [(error as Error).message, await collect(await metadata.stream('k', sourceOf('again')))]
        })
        await using t = await createTestEngine({ tasks: [body], storage })
        expect(await (await t.engine.trigger(body, null)).result()).toEqual(['disk full', ['again']])
        expect([lost.isReturned, lost.produced]).toEqual([true, 0])
      },
    )

    it('stops reading when its signal aborts, and tells source, task and readers', async () => {
      const source = new PushSource<string>()
      const controller = new AbortController()
      const body = bodyTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', source, controller.signal)
        source.push('a')
        const seen: string[] = []
        const reading = (async () => {
          for await (const chunk of stream) {
            seen.push(chunk)
            controller.abort(new Error('enough'))
          }
        })()
        return [((await rejection(reading)) as Error).message, seen]
      })
      await using t = await createTestEngine({ tasks: [body] })
      const errors = reportedErrors(t.engine)
      const run = await t.engine.trigger(body, null)
      expect(await run.result()).toEqual(['enough', ['a']])
      expect(source.isReturned).toBe(true)
      const read = await collectUntilError(t.engine.streams.read(run, 'k'))
      expect(read).toMatchObject({ items: ['a'], error: INTERRUPTED })
      expect(errors).toEqual([])
    })

    it('never pulls from a source whose signal is aborted already', async () => {
      const source = new CountSource()
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', source, AbortSignal.abort())
      })
      await using t = await createTestEngine({ tasks: [body] })
      await (await t.engine.trigger(body, null)).result()
      expect([source.produced, source.isReturned]).toEqual([0, true])
    })
  })

  describe('a source that throws', () => {
    it('throws the same error in the task, where it can be caught', async () => {
      const caught: unknown[] = []
      const body = bodyTask(async ({ metadata }) => {
        const { items, error } = await collectUntilError(await metadata.stream('k', failing('a', 'b')))
        caught.push(error)
        return items
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      expect(await run.result()).toEqual(['a', 'b'])
      expect(caught[0]).toBeInstanceOf(RangeError)
      expect((await t.engine.runs.retrieve(run)).status).toBe('COMPLETED')
    })

    it('fails its stream for streams.read, with what it threw as cause, and is reported once', async () => {
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', failing('a'))
        await metadata.stream('other', sourceOf('b'))
        return 'returned'
      })
      await using t = await createTestEngine({ tasks: [body] })
      const errors = reportedErrors(t.engine)
      const run = await t.engine.trigger(body, null)
      expect(await run.result()).toBe('returned')
      for (const _ of ['once', 'again']) {
        expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject({
          items: ['a'],
          error: { code: 'ERR_STREAM_FAILED', cause: { name: 'RangeError', message: 'model overloaded' } },
        })
      }
      expect(errors).toEqual([new RangeError('model overloaded')])
      expect(await follow(t.engine, run)).toEqual([
        ['run', 'COMPLETED'],
        ['k', 'a'],
        ['other', 'b'],
        ['run', 'COMPLETED'],
      ])
    })

    it('fails the run only when the task does not catch it', async () => {
      const body = bodyTask(async ({ metadata }) => collect(await metadata.stream('k', failing('a'))))
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      expect(await rejection(run.result())).toMatchObject({
        code: 'ERR_RUN_FAILED',
        cause: { name: 'RangeError' },
      })
    })
  })

  describe('a chunk that is not JSON', () => {
    it.each([
      ['a value', { items: [1, 2n] }, '$.items[1] is not JSON: a bigint'],
      ['a Buffer', Buffer.from('a'), 'pipe them through `new TextDecoderStream()`'],
      ['bytes', new Uint8Array(1), 'pipe them through `new TextDecoderStream()`'],
    ])('fails the stream for its readers, never the run: %s', async (_name, chunk, message) => {
      const source = new PushSource<unknown>()
      source.push('a', chunk, 'never')
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', source)
      })
      await using t = await createTestEngine({ tasks: [body] })
      const errors = reportedErrors(t.engine)
      const run = await t.engine.trigger(body, null)
      await run.result()
      const { items, error } = await collectUntilError(t.engine.streams.read(run, 'k'))
      expect(items).toEqual(['a'])
      expect(error).toMatchObject({ code: 'ERR_STREAM_FAILED', cause: { code: 'ERR_NOT_SERIALIZABLE' } })
      expect((error as Error).message).toContain(message)
      expect(errors).toMatchObject([{ code: 'ERR_NOT_SERIALIZABLE' }])
      expect([source.isReturned, source.pulls]).toEqual([true, 2])
    })
  })

  describe('one key, several sources', () => {
    it('takes both, and gives the task of each only its own', async () => {
      const [left, right] = [new PushSource<string>(), new PushSource<string>()]
      const body = bodyTask(async ({ metadata }) => {
        const one = collect(await metadata.stream('k', left))
        const other = collect(await metadata.stream('k', right))
        for (const index of numbers(5)) {
          left.push(`l${index}`)
          right.push(`r${index}`)
          await Promise.resolve()
        }
        left.end()
        right.end()
        return [await one, await other]
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const [one, other] = await run.result()
      expect(one).toEqual(numbers(5).map((index) => `l${index}`))
      expect(other).toEqual(numbers(5).map((index) => `r${index}`))
      const all = await collect(t.engine.streams.read<string>(run, 'k'))
      expect(all.filter((chunk) => chunk.startsWith('l'))).toEqual(one)
      expect(all.filter((chunk) => chunk.startsWith('r'))).toEqual(other)
    })

    it('ends with the last of them', async () => {
      const [left, right] = [new PushSource<string>(), new PushSource<string>()]
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', left)
        await metadata.stream('k', right)
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const reading = collect(t.engine.streams.read(run, 'k'))
      left.push('l')
      left.end()
      await t.clock.settle()
      right.push('r')
      right.end()
      expect(await reading).toEqual(['l', 'r'])
    })

    it('fails for readers when one of them threw, however well the last one ended', async () => {
      const good = new PushSource<string>()
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', good)
        await collectUntilError(await metadata.stream('k', failing('bad')))
        good.push('good')
        good.end()
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      await run.result()
      expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject({
        items: ['bad', 'good'],
        error: { code: 'ERR_STREAM_FAILED' },
      })
    })

    it('goes on when a key is used again after its first source has ended', async () => {
      const body = bodyTask(async ({ metadata, streams }) => {
        const first = await collect(await metadata.stream('k', sourceOf('a')))
        const second = await collect(await metadata.stream('k', sourceOf('b')))
        await streams.append('k', 'c')
        return [first, second]
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const parts = follow(t.engine, run)
      expect(await run.result()).toEqual([['a'], ['b']])
      expect(chunksOf(await parts, 'k')).toEqual(['a', 'b', 'c'])
      expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a', 'b', 'c'])
    })
  })

  describe('after the task has returned', () => {
    it('stores the output first, drains without slot, and completes only then', async () => {
      const source = new PushSource<string>()
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', source)
        return 'output'
      })
      const next = bodyTask(() => 'went ahead', { id: 'next' })
      const storage = projectStorage()
      await using t = await createTestEngine({ tasks: [body, next], concurrency: 1, storage })
      const run = await t.engine.trigger(body, null)
      const other = await t.engine.trigger(next, null)
      expect(await other.result()).toBe('went ahead')
      expect(await storage.runs.get(run.id)).toMatchObject({
        status: 'EXECUTING',
        returned: true,
        outputJson: '"output"',
        slot: false,
      })
      expect(t.engine.stats()).toMatchObject({ attempts: 1, executing: 0 })
      source.push('a')
      await t.clock.settle()
      expect((await t.engine.runs.retrieve(run)).status).toBe('EXECUTING')
      source.end()
      expect(await run.result()).toBe('output')
      await turn()
      expect(t.engine.stats()).toMatchObject({ attempts: 0, executing: 0 })
    })

    it('drains outside of maxDuration', async () => {
      const body = bodyTask(
        async ({ metadata }) => {
          const slow = async function* (): AsyncGenerator<number> {
            for (const second of numbers(30)) {
              await t.clock.sleep('1s')
              yield second
            }
          }
          await metadata.stream('k', slow())
        },
        { maxDuration: 5 },
      )
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      await run.result()
      expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(numbers(30))
    })

    it('reads on where its own cursor stands still: the task no longer moves it', async () => {
      const body = bodyTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', new CountSource(1_000))
        await stream[Symbol.asyncIterator]().next()
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      const start = t.clock.now()
      await run.result()
      expect(t.clock.now()).toBe(start)
      expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(numbers(1_000))
    })

    it('waits as well for streams that are registered meanwhile', async () => {
      const [first, late] = [new PushSource<string>(), new PushSource<string>()]
      const registered = createDeferred<void>()
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('first', first)
        registered.promise.then(() => metadata.stream('late', late)).catch(() => undefined)
      })
      await using t = await createTestEngine({ tasks: [body], clock: { ioGraceMs: 3_600_000 } })
      const run = await t.engine.trigger(body, null)
      const reading = collect(t.engine.streams.read(run, 'late'))
      await t.clock.settle()
      registered.resolve()
      await t.clock.settle()
      first.end()
      await t.clock.settle()
      expect((await t.engine.runs.retrieve(run)).status).toBe('EXECUTING')
      late.push('in time')
      late.end()
      await run.result()
      expect(await reading).toEqual(['in time'])
    })

    it('ends what was only appended to', async () => {
      const body = bodyTask(({ streams }) => streams.append('k', 'a'))
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['a'])
    })
  })

  describe('when the run does not go on', () => {
    it('stops sources at once when the task throws', async () => {
      const source = new PushSource<string>()
      source.push('a')
      const body = bodyTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', source)
        await stream[Symbol.asyncIterator]().next()
        throw new Error('failed')
      })
      await using t = await createTestEngine({ tasks: [body] })
      const errors = reportedErrors(t.engine)
      const run = await t.engine.trigger(body, null)
      const parts = follow(t.engine, run)
      const start = t.clock.now()
      expect(await rejection(run.result())).toMatchObject({ code: 'ERR_RUN_FAILED' })
      expect([source.isReturned, t.clock.now()]).toEqual([true, start])
      expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject({
        items: ['a'],
        error: { ...INTERRUPTED, key: 'k', next: 1 },
      })
      expect(chunksOf(await parts, 'k')).toEqual(['a'])
      expect(errors).toEqual([])
    })

    it.each(['executing', 'draining'])('stops sources when the run is canceled while %s', async (state) => {
      const source = new PushSource<string>()
      source.push('a')
      const told: unknown[] = []
      let hasReturned = state === 'executing'
      const body = bodyTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', source)
        if (state === 'executing') told.push((await collectUntilError(stream)).error)
        else hasReturned = true
      })
      await using t = await createTestEngine({ tasks: [body], clock: { ioGraceMs: 3_600_000 } })
      const run = await t.engine.trigger(body, null)
      const live = collectUntilError(t.engine.streams.read(run, 'k'))
      const parts = follow(t.engine, run)
      await until(() => hasReturned)
      for await (const chunk of t.engine.streams.read(run, 'k')) if (chunk === 'a') break
      await t.engine.runs.cancel(run)
      expect(await rejection(run.result())).toMatchObject({ code: 'ERR_RUN_CANCELED' })
      const expected = { items: ['a'], error: INTERRUPTED }
      expect(await live).toMatchObject(expected)
      expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject(expected)
      expect(await parts).toContainEqual(['k', 'a'])
      expect((await parts).at(-1)).toEqual(['run', 'CANCELED'])
      expect(source.isReturned).toBe(true)
      expect(told).toMatchObject(state === 'executing' ? [{ code: 'ERR_RUN_CANCELED' }] : [])
    })

    it('rejects an append for an attempt that is over', async () => {
      const errors: unknown[] = []
      const appended = createDeferred<void>()
      const canceled = createDeferred<void>()
      const body = bodyTask(async ({ streams }) => {
        await streams.append('k', 'a')
        appended.resolve()
        await canceled.promise
        errors.push(await rejection(streams.append('k', 'b')))
      })
      await using t = await createTestEngine({ tasks: [body] })
      const run = await t.engine.trigger(body, null)
      await appended.promise
      await t.engine.runs.cancel(run)
      canceled.resolve()
      await t.clock.settle()
      expect(errors).toMatchObject([{ code: 'ERR_RUN_CANCELED' }])
    })

    it('never says that a chunk is stored which the storage refused', async () => {
      const storage = projectStorage()
      const errors: unknown[] = []
      const body = bodyTask(async ({ streams, ctx }) => {
        await streams.append('k', 'a')
        const expected = { status: ['EXECUTING'] as const }
        await storage.runs.update({ id: ctx.run.id, expected, change: { epoch: 99 }, by: 'other', now: 0 })
        errors.push(await rejection(streams.append('k', 'b')))
      })
      await using t = await createTestEngine({ tasks: [body], storage })
      await t.engine.trigger(body, null)
      await t.clock.settle()
      expect(errors).toMatchObject([{ code: 'ERR_STALE_ATTEMPT' }])
    })
  })
})
