import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { memoryStorage, StreamLaggedError } from 'waitpoint'
import type { ChunksRead } from '../../../src/contract/storage.ts'
import { isPromise } from '../../../src/primitives/awaitable.ts'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { createTestEngine } from '../../../src/testing/create-test-engine.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { memoryOfProject } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import {
  chunksOf,
  collect,
  collectUntilError,
  CountSource,
  follow,
  numbers,
  sourceOf,
} from '../../support/streams.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { turn } from '../../support/turn.ts'

const MIB = 1_024 * 1_024
const sum = (sizes: readonly number[]): number => sizes.reduce((total, size) => total + size, 0)

/** One read of a stream: a chunk, or the gap it reported. */
type Seen = number | StreamLaggedError

/** Reads with a pause after each chunk, and on after every lag. */
async function readSlowly(chunks: AsyncIterator<unknown>, pauses: readonly number[]): Promise<Seen[]> {
  const seen: Seen[] = []
  for (;;) {
    try {
      const step = await chunks.next()
      if (step.done === true) return seen
      seen.push(step.value as number)
    } catch (error) {
      if (!(error instanceof StreamLaggedError)) throw error
      seen.push(error)
    }
    for (let turns = pauses[seen.length % pauses.length] ?? 0; turns > 0; turns--) await turn()
  }
}

/** Where a reader stands after what it saw, if every gap in it was reported for what it is. */
function endOf(seen: readonly Seen[]): number {
  let next = 0
  for (const item of seen) {
    if (typeof item === 'number') {
      expect(item).toBe(next)
      next += 1
    } else {
      expect(item.missed).toBeGreaterThan(0)
      expect(item.next).toBe(next + item.missed)
      next = item.next
    }
  }
  return next
}

const bursts = fc.array(fc.record({ size: fc.nat({ max: 12 }), turns: fc.nat({ max: 3 }) }), {
  maxLength: 12,
})
const pauses = fc.array(fc.nat({ max: 2 }), { minLength: 1, maxLength: 6 })

describe('StreamReader', () => {
  it('reads no more at a time than a page has room for, once it knows how large chunks are', async () => {
    const sizes: number[] = []
    const storage = wrapStorage(memoryStorage(), (name, operation) => (...args) => {
      const answer = operation(...args)
      if (name === 'chunks.read' && !isPromise(answer))
        sizes.push(sum(((answer as ChunksRead | undefined)?.chunks ?? []).map(({ bytes }) => bytes)))
      return answer
    })
    const writing = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', sourceOf(...numbers(60).map((n) => `${n} ${'x'.repeat(MIB / 4)}`)))
    })
    await using t = await createTestEngine({ tasks: [writing], storage, streams: { historyBytes: 64 * MIB } })
    const run = await t.engine.trigger(writing, null)
    await t.engine.runs.poll(run)
    const chunks = await collect(t.engine.streams.read<string>(run, 'k'))
    expect(chunks.map((chunk) => parseInt(chunk))).toEqual(numbers(60))
    // The first page cannot know.
    expect(Math.max(...sizes.slice(1))).toBeLessThanOrEqual(4 * MIB)
  })

  it('reads small chunks many at a time', async () => {
    const { storage, calls } = steeredStorage(memoryStorage())
    const writing = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(2_000))
    })
    await using t = await createTestEngine({ tasks: [writing], storage })
    const run = await t.engine.trigger(writing, null)
    await t.engine.runs.poll(run)
    const from = calls.length
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(numbers(2_000))
    expect(calls.slice(from).filter((name) => name === 'chunks.read').length).toBeLessThan(12)
  })

  it('sees a contiguous run or a typed error, whatever the bursts, the history and the pace', () =>
    fc.assert(
      fc.asyncProperty(bursts, fc.integer({ min: 1, max: 10 }), pauses, async (plan, historyChunks, pace) => {
        const body = bodyTask(async ({ streams }) => {
          let next = 0
          for (const { size, turns } of plan) {
            const appended = numbers(size).map(() => streams.append('k', next++))
            await Promise.all(appended)
            for (const _ of numbers(turns)) await turn()
          }
          return next
        })
        await using t = await createTestEngine({
          tasks: [body],
          storage: memoryOfProject(),
          streams: { historyChunks },
        })
        const run = await t.engine.trigger(body, null)
        const read = t.engine.streams.read(run, 'k')
        const reader = readSlowly(read[Symbol.asyncIterator](), pace)
        const parts = t.engine.runs.subscribeToRun(run).withStreams<{ k: number }>()
        const subscriber = readSlowly(chunksIn(parts[Symbol.asyncIterator]()), pace)
        const total = await run.result()
        expect(endOf(await reader)).toBe(total)
        expect(endOf(await subscriber)).toBe(total)
        const late = await readSlowly(read[Symbol.asyncIterator](), [0])
        expect(late.filter((item) => typeof item === 'number')).toHaveLength(Math.min(total, historyChunks))
        expect(endOf(late)).toBe(total)
      }),
      { numRuns: cases(60) },
    ))

  it('gets everything within the history, however late', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', new CountSource(10_000))
    })
    await using t = await createTestEngine({ tasks: [body] })
    const run = await t.engine.trigger(body, null)
    await run.result()
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(numbers(10_000))
    expect(chunksOf(await follow(t.engine, run), 'k')).toEqual(numbers(10_000))
  })

  it.each([
    ['chunks', { historyChunks: 100 }, 900],
    ['bytes', { historyBytes: 800 }, 900],
    ['the default of 10,000 chunks', {}, 1],
  ])(
    'is told on its first read what is gone, by %s, and reads from there',
    async (_name, streams, missed) => {
      const total = missed === 1 ? 10_001 : 1_000
      const body = bodyTask(async ({ metadata }) => {
        await metadata.stream('k', new CountSource(total))
      })
      await using t = await createTestEngine({ tasks: [body], storage: memoryOfProject(), streams })
      const run = await t.engine.trigger(body, null)
      await run.result()
      const lagged = { code: 'ERR_STREAM_LAGGED', name: 'StreamLaggedError', key: 'k', missed, next: missed }
      expect(await collectUntilError(t.engine.streams.read(run, 'k'))).toMatchObject({
        items: [],
        error: lagged,
      })
      const rest = t.engine.streams.read(run, 'k', { startIndex: missed })
      expect(await collect(rest)).toEqual(numbers(total, missed))
      const parts = t.engine.runs.subscribeToRun(run).withStreams<{ k: number }>()[Symbol.asyncIterator]()
      expect((await parts.next()).value).toMatchObject({ type: 'run' })
      expect(await collectUntilError({ [Symbol.asyncIterator]: () => parts })).toMatchObject({
        items: [],
        error: lagged,
      })
    },
  )

  it('keeps 16 MiB by default', async () => {
    const mebibyte = 'x'.repeat(512 * 1_024 - 8)
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', sourceOf(...numbers(20).map(() => mebibyte)))
    })
    await using t = await createTestEngine({ tasks: [body], storage: memoryOfProject() })
    const run = await t.engine.trigger(body, null)
    await run.result()
    const { error } = await collectUntilError(t.engine.streams.read(run, 'k'))
    expect(error).toMatchObject({ missed: 4, next: 4 })
  })

  it('is told by several streams one after the other', async () => {
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('one', new CountSource(9))
      await metadata.stream('two', new CountSource(7))
    })
    await using t = await createTestEngine({
      tasks: [body],
      storage: memoryOfProject(),
      streams: { historyChunks: 5 },
    })
    const run = await t.engine.trigger(body, null)
    await run.result()
    const parts = t.engine.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    const again = { [Symbol.asyncIterator]: () => parts }
    const rounds = [
      await collectUntilError(again),
      await collectUntilError(again),
      await collectUntilError(again),
    ]
    expect(rounds.map(({ error }) => (error as StreamLaggedError | undefined)?.key)).toEqual([
      'one',
      'two',
      undefined,
    ])
    const seen = rounds.flatMap(({ items }) =>
      items.map((part) => [part.type, 'chunk' in part ? part.chunk : '-']),
    )
    expect(seen.filter(([type]) => type === 'one').map(([, chunk]) => chunk)).toEqual(numbers(9, 4))
    expect(seen.filter(([type]) => type === 'two').map(([, chunk]) => chunk)).toEqual(numbers(7, 2))
  })

  it('shows of a chunk in memory what a storage on disk would have kept', async () => {
    const chunks = [{ text: 'a', note: undefined }, new Date(0), [Object('boxed')]]
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', sourceOf<unknown>(...chunks))
    })
    await using t = await createTestEngine({ tasks: [body], storage: memoryOfProject() })
    const run = await t.engine.trigger(body, null)
    const kept = [{ text: 'a' }, '1970-01-01T00:00:00.000Z', ['boxed']]
    expect(await collect(t.engine.streams.read(run, 'k'))).toStrictEqual(kept)
    expect(chunksOf(await follow(t.engine, run), 'k')).toStrictEqual(kept)
  })

  it('goes on from the ring to storage when the attempt ends in between', async () => {
    const goOn = createDeferred<void>()
    const body = bodyTask(async ({ streams }) => {
      for (const chunk of numbers(20)) await streams.append('k', chunk)
      await goOn.promise
    })
    await using t = await createTestEngine({ tasks: [body], streams: { historyChunks: 10 } })
    const run = await t.engine.trigger(body, null)
    await t.clock.settle().catch(() => undefined)
    const reader = t.engine.streams.read(run, 'k', { startIndex: 12 })[Symbol.asyncIterator]()
    expect((await reader.next()).value).toBe(12)
    goOn.resolve()
    await run.result()
    expect(await collect({ [Symbol.asyncIterator]: () => reader })).toEqual(numbers(20, 13))
  })
})

/** The chunks among the parts of a subscription. */
function chunksIn(
  parts: AsyncIterator<{ readonly type: string; readonly chunk?: unknown }>,
): AsyncIterator<unknown> {
  const next = async (): Promise<IteratorResult<unknown>> => {
    for (;;) {
      const step = await parts.next()
      if (step.done === true) return { done: true, value: undefined }
      if ('chunk' in step.value) return { done: false, value: step.value.chunk }
    }
  }
  return { next }
}
