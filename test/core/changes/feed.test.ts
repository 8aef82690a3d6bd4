import { describe, expect, it } from 'vitest'
import { ChangeFeed } from '../../../src/core/changes/feed.ts'
import { queuedRun } from '../../storage/storage-fixture.ts'
import { rejection } from '../../support/body-task.ts'

/** Whether a promise has settled once all microtasks have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false
  const settle = (): void => void (settled = true)
  promise.then(settle, settle)
  await new Promise((resolve) => setImmediate(resolve))
  return settled
}

describe('ChangeFeed', () => {
  it('wakes who watches the topic, and nobody else', async () => {
    const feed = new ChangeFeed()
    const watcher = feed.watch('a', 'b')
    const other = feed.watch('c')
    const waits = [watcher.changed(), other.changed()]
    feed.notify('b')
    await waits[0]
    expect(await isSettled(waits[1]!)).toBe(false)
  })

  it('keeps a change that came before it was waited for, and makes many changes one', async () => {
    const feed = new ChangeFeed()
    const watcher = feed.watch('a')
    feed.notify('a')
    feed.notify('a')
    await watcher.changed()
    expect(await isSettled(watcher.changed())).toBe(false)
  })

  it('wakes who wants the end of a run by that, and by what nobody knows, but not while the run goes on', async () => {
    const feed = new ChangeFeed()
    const watcher = feed.watchEnd('run_1')
    const wait = watcher.changed()
    feed.notify('run_1', queuedRun('run_1', { status: 'EXECUTING' }))
    expect(await isSettled(wait)).toBe(false)
    feed.notify('run_1')
    await wait
    expect(watcher.ended).toBeUndefined()
    const ended = queuedRun('run_1', { status: 'COMPLETED' })
    feed.notify('run_1', ended)
    // What comes late of a time before changes nothing.
    feed.notify('run_1', queuedRun('run_1', { status: 'WAITING' }))
    await watcher.changed()
    expect(watcher.ended).toBe(ended)
  })

  it('says once which topics changed', () => {
    const feed = new ChangeFeed()
    const watcher = feed.watch('a', 'b')
    feed.notify('a')
    expect([watcher.woke('a'), watcher.woke('a'), watcher.woke('b')]).toEqual([true, false, false])
  })

  it('wakes several who watch, and one who waits twice', async () => {
    const feed = new ChangeFeed()
    const [one, other] = [feed.watch('a'), feed.watch('a')]
    const waits = [one.changed(), one.changed(), other.changed()]
    feed.notify('a')
    await Promise.all(waits)
  })

  it('forgets a watcher that was closed', async () => {
    const feed = new ChangeFeed()
    const watcher = feed.watch('a', 'b')
    const other = feed.watch('a')
    expect(feed.size).toBe(2)
    const wait = watcher.changed()
    watcher.close()
    watcher.close()
    feed.notify('a')
    feed.notify('b')
    expect(await isSettled(wait)).toBe(false)
    expect(feed.size).toBe(1)
    expect(feed.topics).toBe(1)
    other.close()
    expect([feed.size, feed.topics]).toEqual([0, 0])
  })

  it('closes: whoever waits, or will, is told', async () => {
    const feed = new ChangeFeed()
    const waiting = feed.watch('a')
    const idle = feed.watch('a')
    const wait = rejection(waiting.changed())
    const error = new Error('closed')
    feed.close(() => error)
    expect(await wait).toBe(error)
    expect(await rejection(idle.changed())).toBe(error)
    expect(await rejection(feed.watch('b').changed())).toBe(error)
  })

  it('a failed watcher stays failed, for its first reason', async () => {
    const watcher = new ChangeFeed().watch('a')
    watcher.fail(new Error('first'))
    watcher.fail(new Error('second'))
    expect(await rejection(watcher.changed())).toEqual(new Error('first'))
    expect(await rejection(watcher.changed())).toEqual(new Error('first'))
  })
})
