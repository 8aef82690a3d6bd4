import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { RunTools, StreamLaggedError, StreamOptions } from 'waitpoint'
import type { Storage } from '../../../src/contract/storage.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { memoryOfProject } from '../../support/abandon.ts'
import { bodyTask, rejection } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import {
  collect,
  collectUntilError,
  countedSignal,
  CountSource,
  numbers,
  PushSource,
  reportedErrors,
  watchers,
} from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

/** How far a source may be ahead of a task that reads. */
const BOUND = 17

/** Runs `body` as a task and answers its output. */
async function inTask<Output>(
  body: (tools: RunTools) => Promise<Output>,
  streams: StreamOptions = {},
  storage: Storage = memoryOfProject(),
): Promise<Output> {
  const task = bodyTask(body)
  await using t = await createTestEngine({ tasks: [task], storage, streams })
  reportedErrors(t.engine)
  const run = await t.engine.trigger(task, null)
  const outcome = await run.outcome()
  if (!outcome.ok) throw outcome.error.cause as Error
  expect(watchers(t.engine)).toBe(0)
  return outcome.output
}

describe('StreamPipe', () => {
  describe('the cursor of the task', () => {
    it('gets every chunk, however long the task waits before it reads', () =>
      inTask(async ({ metadata }) => {
        const source = new CountSource(9_000)
        const stream = await metadata.stream('k', source)
        while (source.produced < 9_000) await turn()
        expect(await collect(stream)).toEqual(numbers(9_000))
      }))

    it('gets every chunk exactly once and in order, at any pace', () =>
      fc.assert(
        fc.asyncProperty(
          fc.array(fc.nat({ max: 3 }), { maxLength: 60 }),
          // What the source yields before the first `next()` must fit.
          fc.integer({ min: 8, max: 30 }),
          (pauses, history) =>
            inTask(
              async ({ metadata }) => {
                const stream = await metadata.stream('k', new CountSource(60))
                const seen: number[] = []
                for await (const chunk of stream) {
                  seen.push(chunk)
                  for (let turns = pauses[chunk] ?? 0; turns > 0; turns--) await turn()
                }
                expect(seen).toEqual(numbers(60))
              },
              { historyChunks: history },
            ),
        ),
        { numRuns: cases(40) },
      ))

    it('keeps large chunks from being pushed out of a small history before they were read', () =>
      inTask(
        async ({ metadata }) => {
          const large = async function* (): AsyncGenerator<string> {
            for (const index of numbers(20)) yield `${index}`.padStart(400, ' ')
          }
          const seen: number[] = []
          for await (const chunk of await metadata.stream('k', large())) {
            seen.push(Number(chunk))
            await turn()
          }
          expect(seen).toEqual(numbers(20))
        },
        { historyBytes: 2_000 },
      ))

    it('holds the source back while the task stalls, within a small bound', () =>
      inTask(async ({ metadata }) => {
        const source = new CountSource(100_000)
        const iterator = (await metadata.stream('k', source))[Symbol.asyncIterator]()
        await iterator.next()
        await turn()
        const ahead = source.produced
        for (const _ of numbers(20)) await turn()
        expect(source.produced).toBe(ahead)
        const next = Number((await iterator.next()).value)
        expect(next).toBe(1)
        for (const index of numbers(3_000, 2)) {
          expect((await iterator.next()).value).toBe(index)
          expect(source.produced - index).toBeLessThanOrEqual(Math.max(ahead, BOUND))
        }
        await iterator.return?.()
      }))

    it('does not hold the source back before its first next()', () =>
      inTask(async ({ metadata }) => {
        const source = new CountSource(5_000)
        const iterator = (await metadata.stream('k', source))[Symbol.asyncIterator]()
        while (source.produced < 5_000) await turn()
        expect((await iterator.next()).value).toBe(0)
        await iterator.return?.()
      }))

    it('lets the source go on after a break', () =>
      inTask(async ({ metadata }) => {
        const source = new CountSource(5_000)
        for await (const chunk of await metadata.stream('k', source)) {
          if (chunk < 3) continue
          await turn()
          break
        }
        while (source.produced < 5_000) await turn()
        expect(source.isReturned).toBe(false)
      }))

    it('lets the source go on when the task throws out of its loop', () =>
      inTask(async ({ metadata }) => {
        const source = new CountSource(5_000)
        const reading = (async () => {
          for await (const chunk of await metadata.stream('k', source))
            if (chunk === 3) throw new Error('full')
        })()
        expect(await rejection(reading)).toEqual(new Error('full'))
        while (source.produced < 5_000) await turn()
      }))

    it('goes on where it stood when the task reads again', () =>
      inTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', new CountSource(50))
        const seen: number[] = []
        for await (const chunk of stream) {
          seen.push(chunk)
          if (chunk === 20) break
        }
        expect([...seen, ...(await collect(stream))]).toEqual(numbers(50))
        expect(await collect(stream)).toEqual([])
      }))

    it('shares its chunks between two loops: none twice, none lost', () =>
      inTask(async ({ metadata }) => {
        const stream = await metadata.stream('k', new CountSource(500))
        const [one, other] = [stream[Symbol.asyncIterator](), stream[Symbol.asyncIterator]()]
        const seen: unknown[] = []
        for (const _ of numbers(50)) seen.push((await one.next()).value, (await other.next()).value)
        const rest = await Promise.all(
          [one, other].map((iterator) => collect({ [Symbol.asyncIterator]: () => iterator })),
        )
        expect(seen).toEqual(numbers(100))
        expect(rest.flat().sort((left, right) => left - right)).toEqual(numbers(500, 100))
      }))

    it('gets every chunk when it begins after the history, with those of others between', () =>
      inTask(
        async ({ metadata, streams }) => {
          const source = new CountSource(100)
          const stream = await metadata.stream('k', source)
          while (source.produced < 100) await turn()
          for (const index of numbers(20)) await streams.append('k', `other ${index}`)
          expect(await collect(stream)).toEqual(numbers(100))
        },
        { historyChunks: 30 },
      ))

    it('is told what it missed when it begins after four histories, and then goes on', () =>
      inTask(
        async ({ metadata }) => {
          const source = new CountSource(200)
          const stream = await metadata.stream('k', source)
          while (source.produced < 200) await turn()
          await turn()
          expect(await collectUntilError(stream)).toMatchObject({
            items: [],
            error: { code: 'ERR_STREAM_LAGGED', key: 'k', missed: 190, next: 190 },
          })
          expect(await collect(stream)).toEqual(numbers(200, 190))
        },
        { historyChunks: 10 },
      ))

    it('counts only its own chunks as missed when others write to the key', () =>
      inTask(
        async ({ metadata, streams }) => {
          const stream = await metadata.stream('k', new CountSource(40))
          await turn()
          for (const index of numbers(10)) await streams.append('k', `other ${index}`)
          expect(await collectUntilError(stream)).toMatchObject({
            error: { code: 'ERR_STREAM_LAGGED', missed: 40, next: 48 },
          })
          expect(await collect(stream)).toEqual([])
        },
        { historyChunks: 2 },
      ))

    it('is told what it missed when sources of one key took turns too often before it read', () =>
      inTask(
        async ({ metadata, streams }) => {
          const source = new PushSource<number>()
          const stream = await metadata.stream('k', source)
          for (const index of numbers(12_000)) {
            source.push(index)
            for (const _ of numbers(4)) await streams.append('k', 'other')
            if (index % 100 === 0) for (const _ of numbers(5)) await turn()
          }
          source.end()
          await turn()
          const lagged = await collectUntilError(stream)
          const { missed } = lagged.error as StreamLaggedError
          expect(lagged).toMatchObject({ items: [], error: { code: 'ERR_STREAM_LAGGED' } })
          expect(missed).toBeLessThanOrEqual(2_000)
          expect(await collect(stream)).toEqual(numbers(12_000, missed))
        },
        { historyChunks: 100_000 },
        // One that keeps all chunks, as a durable one does.
        { ...memoryOfProject(), boundedHistory: false },
      ))

    it('is not slowed down by what others write to the key', () =>
      inTask(async ({ metadata, streams }) => {
        const stream = await metadata.stream('k', new CountSource(200))
        const seen: number[] = []
        for await (const chunk of stream) {
          seen.push(chunk)
          for (const index of numbers(20)) void streams.append('k', `other ${index}`)
        }
        expect(seen).toEqual(numbers(200))
      }))

    it('throws what the source threw on every loop', () =>
      inTask(async ({ metadata }) => {
        const error = new Error('broken')
        const source = async function* (): AsyncGenerator<number> {
          yield 1
          throw error
        }
        const stream = await metadata.stream('k', source())
        expect(await collectUntilError(stream)).toEqual({ items: [1], error })
        expect(await collectUntilError(stream)).toEqual({ items: [], error })
      }))
  })

  it('leaves others their turn, even when the source never waits', () =>
    inTask(async ({ metadata }) => {
      const source = new CountSource()
      await metadata.stream('k', source)
      for (const _ of numbers(5)) await turn()
      expect(source.produced).toBeGreaterThan(0)
      throw new Error('stop it')
    }).catch((error: unknown) => expect(error).toMatchObject({ message: 'stop it' })))

  it('listens to its signal no longer than it reads', () =>
    inTask(async ({ metadata }) => {
      const { signal, listeners } = countedSignal()
      const stream = await metadata.stream('k', new CountSource(3), signal)
      expect(await collect(stream)).toEqual([0, 1, 2])
      expect(listeners()).toBe(0)
    }))
})
