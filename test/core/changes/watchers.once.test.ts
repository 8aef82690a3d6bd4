import { describe, expect, it } from 'vitest'
import { Watchers } from '../../../src/core/changes/watchers.ts'
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

describe('Watchers', () => {
  it('wakes the watchers of the topic, and no others', async () => {
    const watchers = new Watchers()
    const watcher = watchers.watch('a', 'b')
    const other = watchers.watch('c')
    const waits = [watcher.changed(), other.changed()]
    watchers.wake('b')
    await waits[0]
    expect(await isSettled(waits[1]!)).toBe(false)
  })

  it('keeps a change that came before it was waited for, and makes many changes one', async () => {
    const watchers = new Watchers()
    const watcher = watchers.watch('a')
    watchers.wake('a')
    watchers.wake('a')
    await watcher.changed()
    expect(await isSettled(watcher.changed())).toBe(false)
  })

  it('wakes a watcher of the end by the end, and by a change without a record, but not while the run goes on', async () => {
    const watchers = new Watchers()
    const watcher = watchers.watchEnd('run_1')
    const wait = watcher.changed()
    watchers.wake('run_1', queuedRun('run_1', { status: 'EXECUTING' }))
    expect(await isSettled(wait)).toBe(false)
    watchers.wake('run_1')
    await wait
    expect(watcher.ended).toBeUndefined()
    const ended = queuedRun('run_1', { status: 'COMPLETED' })
    watchers.wake('run_1', ended)
    // What comes late of a time before changes nothing.
    watchers.wake('run_1', queuedRun('run_1', { status: 'WAITING' }))
    await watcher.changed()
    expect(watcher.ended).toBe(ended)
  })

  it('says once which topics changed', () => {
    const watchers = new Watchers()
    const watcher = watchers.watch('a', 'b')
    watchers.wake('a')
    expect([watcher.woke('a'), watcher.woke('a'), watcher.woke('b')]).toEqual([true, false, false])
  })

  it('wakes several watchers, and one that waits twice', async () => {
    const watchers = new Watchers()
    const [one, other] = [watchers.watch('a'), watchers.watch('a')]
    const waits = [one.changed(), one.changed(), other.changed()]
    watchers.wake('a')
    await Promise.all(waits)
  })

  it('forgets a watcher that was closed', async () => {
    const watchers = new Watchers()
    const watcher = watchers.watch('a', 'b')
    const other = watchers.watch('a')
    expect(watchers.size).toBe(2)
    const wait = watcher.changed()
    watcher.close()
    watcher.close()
    watchers.wake('a')
    watchers.wake('b')
    expect(await isSettled(wait)).toBe(false)
    expect(watchers.size).toBe(1)
    expect(watchers.topics).toBe(1)
    other.close()
    expect([watchers.size, watchers.topics]).toEqual([0, 0])
  })

  it('closes: watchers that wait, or will, reject, and those that are open are waited for', async () => {
    const watchers = new Watchers()
    const waiting = watchers.watch('a')
    const idle = watchers.watch('a')
    const wait = rejection(waiting.changed())
    const error = new Error('closed')
    let areLeft = false
    const left = watchers.close(() => error).then(() => (areLeft = true))
    expect(await wait).toBe(error)
    expect(await rejection(idle.changed())).toBe(error)
    waiting.close()
    expect(areLeft).toBe(false)
    idle.close()
    await left
    expect(await rejection(watchers.watch('b').changed())).toBe(error)
  })

  it('a failed watcher stays failed, for its first reason', async () => {
    const watcher = new Watchers().watch('a')
    watcher.fail(new Error('first'))
    watcher.fail(new Error('second'))
    expect(await rejection(watcher.changed())).toEqual(new Error('first'))
    expect(await rejection(watcher.changed())).toEqual(new Error('first'))
  })
})
