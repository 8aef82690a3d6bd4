import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Watchers, type Watcher } from '../../../src/core/changes/watchers.ts'
import { StreamLaggedError } from '../../../src/api/errors.ts'
import { alone, Reading } from '../../../src/core/reading/reading.ts'
import { rejection } from '../../support/body-task.ts'
import { collect, collectUntilError } from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'

/** A reading of what `read` yields, and the watchers it watches. */
function readingOf<T>(read: (watcher: Watcher) => AsyncGenerator<T>): {
  watchers: Watchers
  reading: Reading<T>
} {
  const watchers = new Watchers()
  const closing = async function* (watcher: Watcher): AsyncGenerator<T> {
    try {
      yield* read(watcher)
    } finally {
      watcher.close()
    }
  }
  return {
    watchers,
    reading: new Reading({ watch: () => watchers.watch('topic'), read: closing, items: alone }),
  }
}

/** Chunks 0 … 4, of which 1 and 2 are gone by the time they are read. */
function lagging(): { watchers: Watchers; reading: Reading<number> } {
  let position = 0
  return readingOf(async function* () {
    while (position < 5) {
      if (position === 1) {
        position = 3
        throw new StreamLaggedError('k', 2, 3)
      }
      yield position++
    }
  })
}

/** Pages of these sizes, of the numbers from 0 on; between them other things happen. */
function pagesOf(sizes: readonly number[], signal?: AbortSignal): Reading<number, readonly number[]> {
  let first = 0
  return new Reading({
    watch: () => new Watchers().watch('topic'),
    read: async function* () {
      for (const length of sizes) {
        const page = Array.from({ length }, (_, index) => first + index)
        first += length
        await Promise.resolve()
        yield page
        signal?.throwIfAborted()
      }
    },
    items: (page) => page,
    signal,
  })
}

/** Collects garbage, for a while at most, until this holds. */
async function collectGarbage(until: () => boolean): Promise<void> {
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as () => void
  for (let turns = 0; turns < 100 && !until(); turns += 1) {
    // What was dereferenced in this turn is kept for as long as it lasts.
    await turn()
    gc()
  }
}

describe('Reading', () => {
  it('stops watching when it is dropped without return()', async () => {
    const begin = async (): Promise<Watchers> => {
      const { watchers, reading } = readingOf(async function* () {
        yield 'first'
        await new Promise(() => undefined)
      })
      expect((await reading.next()).value).toBe('first')
      return watchers
    }
    const watchers = await begin()
    expect(watchers.size).toBe(1)
    await collectGarbage(() => watchers.size === 0)
    expect(watchers.size).toBe(0)
  })

  it('is kept by nothing once it was left, or its watcher failed', async () => {
    const endless = (): ReturnType<typeof readingOf<string>> =>
      readingOf(async function* (watcher) {
        yield 'first'
        await watcher.changed()
      })
    const left = async (): Promise<WeakRef<object>> => {
      const { reading } = endless()
      await reading.next()
      await reading.return()
      return new WeakRef(reading)
    }
    /** The error knows the calls that it was made in, and what they were made on. */
    const failed = async (): Promise<WeakRef<object>> => {
      const { reading, watchers } = endless()
      const reader = { reading, close: () => watchers.close(() => new Error('closed')) }
      await reading.next()
      await reader.close()
      return new WeakRef(reading)
    }
    for (const end of [left, failed]) {
      const reader = await end()
      await collectGarbage(() => reader.deref() === undefined)
      expect(reader.deref(), end.name).toBeUndefined()
    }
  })

  it('hands out pages item by item, in order and each once, however many are asked for at once', async () => {
    const sizes = fc.array(fc.nat(4), { maxLength: 6 })
    const calls = fc.array(fc.record({ atOnce: fc.integer({ min: 1, max: 4 }), ticks: fc.nat(6) }), {
      minLength: 1,
    })
    await fc.assert(
      fc.asyncProperty(sizes, calls, async (lengths, asks) => {
        const reading = pagesOf(lengths)
        const steps: Promise<IteratorResult<number>>[] = []
        for (const { atOnce, ticks } of asks) {
          for (let count = atOnce; count > 0; count--) steps.push(reading.next())
          for (let count = ticks; count > 0; count--) await Promise.resolve()
        }
        const total = lengths.reduce((sum, length) => sum + length, 0)
        const answers = (await Promise.all(steps)).map(({ done, value }) => (done === true ? 'done' : value))
        expect(answers).toEqual(steps.map((_, index) => (index < total ? index : 'done')))
      }),
    )
  })

  it('hands out nothing that is left of a page once it was left or its signal is aborted', async () => {
    const left = pagesOf([3])
    await left.next()
    await left.return()
    expect((await left.next()).done).toBe(true)

    const controller = new AbortController()
    const aborted = pagesOf([3], controller.signal)
    await aborted.next()
    controller.abort(new Error('stop'))
    expect(await rejection(aborted.next())).toEqual(new Error('stop'))
    expect((await aborted.next()).done).toBe(true)
  })

  it('yields everything and ends', async () => {
    const { watchers, reading } = readingOf(async function* () {
      yield* [1, 2, 3]
    })
    expect(watchers.size).toBe(0)
    expect(await collect(reading)).toEqual([1, 2, 3])
    expect((await reading.next()).done).toBe(true)
    expect(watchers.size).toBe(0)
  })

  it('goes on after a lag, and watches nothing in between', async () => {
    const { watchers, reading } = lagging()
    expect(await collectUntilError(reading)).toMatchObject({ items: [0], error: { missed: 2, next: 3 } })
    expect(watchers.size).toBe(0)
    expect(await collect(reading)).toEqual([3, 4])
    expect(watchers.size).toBe(0)
  })

  it('loses nothing when several are asked for at once and one of them lags', async () => {
    const { reading } = lagging()
    const settled = await Promise.allSettled([1, 2, 3, 4, 5].map(() => reading.next()))
    expect(
      settled.map((one) => (one.status === 'fulfilled' ? (one.value.value as unknown) : 'lagged')),
    ).toEqual([0, 'lagged', 3, 4, undefined])
  })

  it('is over after any other error', async () => {
    const { watchers, reading } = readingOf<number>(async function* () {
      yield 1
      throw new Error('gone')
    })
    expect(await collectUntilError(reading)).toEqual({ items: [1], error: new Error('gone') })
    expect(await collect(reading)).toEqual([])
    expect(watchers.size).toBe(0)
  })

  it('can be left before it began, while it waits and between two', async () => {
    const { watchers, reading } = readingOf(async function* (watcher) {
      yield 1
      await watcher.changed()
      yield 2
    })
    await reading.next()
    const waiting = reading.next()
    expect(watchers.size).toBe(1)
    await reading.return()
    expect((await waiting).done).toBe(true)
    expect((await reading.next()).done).toBe(true)
    expect(watchers.size).toBe(0)

    const idle = lagging()
    await idle.reading.return()
    expect((await idle.reading.next()).done).toBe(true)

    const begun = lagging()
    await begun.reading.next()
    await begun.reading.return()
    expect(begun.watchers.size).toBe(0)
  })

  it('rejects while it waits when the watchers is closed', async () => {
    const { watchers, reading } = readingOf(async function* (watcher) {
      await watcher.changed()
      yield 'a change'
    })
    const waiting = rejection(reading.next())
    await watchers.close(() => new Error('closed'))
    expect(await waiting).toEqual(new Error('closed'))
    expect(watchers.size).toBe(0)
  })
})
