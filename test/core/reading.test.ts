import { describe, expect, it } from 'vitest'
import { ChangeFeed, type Watcher } from '../../src/core/change-feed.ts'
import { StreamLaggedError } from '../../src/core/errors.ts'
import { Reading } from '../../src/core/reading.ts'
import { rejection } from '../support/body-task.ts'
import { collect, collectUntilError } from '../support/streams.ts'

/** A reading of what `read` yields, and the feed it watches. */
function readingOf<T>(read: (watcher: Watcher) => AsyncGenerator<T>): {
  feed: ChangeFeed
  reading: Reading<T>
} {
  const feed = new ChangeFeed()
  const closing = async function* (watcher: Watcher): AsyncGenerator<T> {
    try {
      yield* read(watcher)
    } finally {
      watcher.close()
    }
  }
  return { feed, reading: new Reading({ watch: () => feed.watch('topic'), read: closing }) }
}

/** Chunks 0 … 4, of which 1 and 2 are gone by the time they are read. */
function lagging(): { feed: ChangeFeed; reading: Reading<number> } {
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

describe('Reading', () => {
  it('yields everything and ends', async () => {
    const { feed, reading } = readingOf(async function* () {
      yield* [1, 2, 3]
    })
    expect(feed.size).toBe(0)
    expect(await collect(reading)).toEqual([1, 2, 3])
    expect((await reading.next()).done).toBe(true)
    expect(feed.size).toBe(0)
  })

  it('goes on after a lag, and watches nothing in between', async () => {
    const { feed, reading } = lagging()
    expect(await collectUntilError(reading)).toMatchObject({ items: [0], error: { missed: 2, next: 3 } })
    expect(feed.size).toBe(0)
    expect(await collect(reading)).toEqual([3, 4])
    expect(feed.size).toBe(0)
  })

  it('loses nothing when several are asked for at once and one of them lags', async () => {
    const { reading } = lagging()
    const settled = await Promise.allSettled([1, 2, 3, 4, 5].map(() => reading.next()))
    expect(
      settled.map((one) => (one.status === 'fulfilled' ? (one.value.value as unknown) : 'lagged')),
    ).toEqual([0, 'lagged', 3, 4, undefined])
  })

  it('is over after any other error', async () => {
    const { feed, reading } = readingOf<number>(async function* () {
      yield 1
      throw new Error('gone')
    })
    expect(await collectUntilError(reading)).toEqual({ items: [1], error: new Error('gone') })
    expect(await collect(reading)).toEqual([])
    expect(feed.size).toBe(0)
  })

  it('can be left before it began, while it waits and between two', async () => {
    const { feed, reading } = readingOf(async function* (watcher) {
      yield 1
      await watcher.changed()
      yield 2
    })
    await reading.next()
    const waiting = reading.next()
    expect(feed.size).toBe(1)
    await reading.return()
    expect((await waiting).done).toBe(true)
    expect((await reading.next()).done).toBe(true)
    expect(feed.size).toBe(0)

    const idle = lagging()
    await idle.reading.return()
    expect((await idle.reading.next()).done).toBe(true)

    const begun = lagging()
    await begun.reading.next()
    await begun.reading.return()
    expect(begun.feed.size).toBe(0)
  })

  it('rejects while it waits when the feed is closed', async () => {
    const { feed, reading } = readingOf(async function* (watcher) {
      await watcher.changed()
      yield 'a change'
    })
    const waiting = rejection(reading.next())
    feed.close(() => new Error('closed'))
    expect(await waiting).toEqual(new Error('closed'))
    expect(feed.size).toBe(0)
  })
})
