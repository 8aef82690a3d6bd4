/* eslint-disable no-restricted-properties -- the globals are what this clock stands on: here they are its input */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { plainClock } from '../../src/clock/plain.ts'

const DAY_MS = 86_400_000

describe('plainClock', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('answers the wall clock, and fires at an instant of it, however far ahead', () => {
    vi.setSystemTime(1_000)
    const clock = plainClock()
    expect(clock.now()).toBe(1_000)
    const fired: number[] = []
    for (const inMs of [0, 5, 100 * DAY_MS])
      clock.setTimer(1_000 + inMs, () => fired.push(clock.now() - 1_000))
    expect(fired).toEqual([])
    vi.advanceTimersByTime(100 * DAY_MS - 1)
    expect(fired).toEqual([0, 5])
    vi.advanceTimersByTime(1)
    expect(fired).toEqual([0, 5, 100 * DAY_MS])
  })

  it('is not early when the wall clock is set back, and fires nothing that was canceled', () => {
    vi.setSystemTime(10_000)
    const clock = plainClock()
    let firedAt: number | undefined
    clock.setTimer(11_000, () => (firedAt = clock.now()))
    clock.setTimer(11_000, () => expect.unreachable())()
    vi.setSystemTime(9_000)
    vi.advanceTimersByTime(1_999)
    expect(firedAt).toBeUndefined()
    vi.advanceTimersByTime(1)
    expect(firedAt).toBe(11_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
