/* eslint-disable no-restricted-properties -- the globals are what this clock stands on: here they are its input */
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { systemClock } from '../../src/clock/system.ts'
import { runInChild } from './child-process.ts'
import { clockLaws } from './clock-laws.ts'

const DAY_MS = 86_400_000

describe('systemClock', () => {
  it('says that a turn of the event loop is due, until one has passed', async () => {
    let now = 1_000
    const time = vi.spyOn(performance, 'now').mockImplementation(() => now)
    try {
      const clock = systemClock()
      expect(clock.isTurnDue?.()).toBe(false)
      now += 4
      expect(clock.isTurnDue?.()).toBe(false)
      now += 1
      expect([clock.isTurnDue?.(), clock.isTurnDue?.()]).toEqual([true, true])
      await new Promise((resolve) => setImmediate(resolve))
      expect(clock.isTurnDue?.()).toBe(false)
    } finally {
      time.mockRestore()
    }
  })

  describe('under fake globals', () => {
    beforeEach(() => void vi.useFakeTimers())
    afterEach(() => void vi.useRealTimers())

    clockLaws(() => ({
      clock: systemClock(),
      elapse: async (durationMs) => {
        await vi.advanceTimersByTimeAsync(durationMs)
      },
    }))

    it('answers the wall clock', () => {
      vi.setSystemTime(1_234_567)
      expect(systemClock().now()).toBe(1_234_567)
    })

    it('has one OS timer for any number of timers', () => {
      const clock = systemClock()
      for (let inMs = 100; inMs > 0; inMs--) clock.setTimer(clock.now() + inMs, () => undefined)
      expect(vi.getTimerCount()).toBe(1)
    })

    it('leaves no OS timer once everything is canceled and released', () => {
      const clock = systemClock()
      const release = clock.hold?.({ kind: 'executing', id: 'run_1' })
      clock.setTimer(clock.now() + 1_000, () => undefined)()
      expect(vi.getTimerCount()).toBe(1)
      release?.()
      vi.advanceTimersByTime(0)
      expect(vi.getTimerCount()).toBe(0)
      clock.setTimer(clock.now() + 1_000, () => undefined)()
      vi.advanceTimersByTime(0)
      expect(vi.getTimerCount()).toBe(0)
    })

    it('fires a timer days ahead at its instant', () => {
      const clock = systemClock()
      const at = clock.now() + 3 * DAY_MS
      let firedAt: number | undefined
      clock.setTimer(at, () => (firedAt = clock.now()))
      vi.advanceTimersByTime(3 * DAY_MS - 1)
      expect(firedAt).toBeUndefined()
      vi.advanceTimersByTime(1)
      expect(firedAt).toBe(at)
    })

    it('is never early, though the OS timer is or the wall clock is set back', () => {
      const steps = fc.array(fc.record({ inMs: fc.nat(50), stepMs: fc.integer({ min: -100, max: 0 }) }))
      fc.assert(
        fc.property(fc.array(fc.nat(200), { minLength: 1 }), steps, (offsets, stepsBack) => {
          const clock = systemClock()
          const late: number[] = []
          for (const offset of offsets) {
            const at = clock.now() + offset
            clock.setTimer(at, () => late.push(clock.now() - at))
          }
          for (const { inMs, stepMs } of stepsBack) {
            vi.advanceTimersByTime(inMs)
            vi.setSystemTime(Date.now() + stepMs)
          }
          vi.advanceTimersByTime(200 + 100 * stepsBack.length)
          expect(late).toHaveLength(offsets.length)
          expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
        }),
      )
    })

    it('notices with the next timer that the wall clock was set forward', () => {
      const clock = systemClock()
      let hasFired = false
      clock.setTimer(clock.now() + DAY_MS, () => (hasFired = true))
      vi.setSystemTime(Date.now() + DAY_MS)
      clock.setTimer(clock.now() + 1_000, () => undefined)
      vi.advanceTimersByTime(0)
      expect(hasFired).toBe(true)
    })

    it('sets an OS timer anew when the wall clock has overtaken the one there is', () => {
      const clock = systemClock()
      const fired: string[] = []
      clock.setTimer(clock.now() + 60_000, () => fired.push('overtaken'))
      vi.setSystemTime(Date.now() + 120_000)
      clock.setTimer(clock.now() + 50, () => fired.push('next'))
      vi.advanceTimersByTime(50)
      expect(fired).toEqual(['overtaken', 'next'])
    })

    it('notices within ten seconds that the wall clock was set forward, while nothing else happens', () => {
      const clock = systemClock()
      const at = clock.now() + DAY_MS
      let lateMs: number | undefined
      clock.setTimer(at, () => (lateMs = clock.now() - at))
      vi.advanceTimersByTime(3_000)
      vi.setSystemTime(at)
      vi.advanceTimersByTime(10_000)
      expect(lateMs).toBeLessThanOrEqual(10_000)
    })

    it('goes by the time it was set to: what is due by it fires, and the rest at its instant', async () => {
      const clock = systemClock()
      const start = clock.now()
      const fired: number[] = []
      for (const inMs of [3_000, 8_000]) clock.setTimer(start + inMs, () => fired.push(clock.now() - start))
      clock.adjust?.(5_000)
      await vi.advanceTimersByTimeAsync(0)
      expect(fired).toEqual([5_000])
      clock.adjust?.(-6_000)
      await vi.advanceTimersByTimeAsync(8_999)
      expect(fired).toEqual([5_000])
      await vi.advanceTimersByTimeAsync(1)
      expect(fired).toEqual([5_000, 8_000])
    })

    it('shares nothing with another one', () => {
      const [one, other] = [systemClock(), systemClock()]
      const fired: string[] = []
      const cancel = one.setTimer(one.now() + 1, () => fired.push('one'))
      other.setTimer(other.now() + 1, () => fired.push('other'))
      cancel()
      vi.advanceTimersByTime(1)
      expect(fired).toEqual(['other'])
    })
  })

  it('fires under real globals', async () => {
    const clock = systemClock()
    const at = clock.now() + 3
    const firedAt = await new Promise<number>((resolve) => clock.setTimer(at, () => resolve(clock.now())))
    expect(firedAt).toBeGreaterThanOrEqual(at)
  })

  describe('in a process of its own', () => {
    const start = `
      import { systemClock } from './src/clock/system.ts'
      const clock = systemClock()
    `

    it('does not keep it alive for a timer, though one that is due still fires', async () => {
      const printed = await runInChild(`${start}
        clock.setTimer(clock.now() + 600_000, () => console.log('never'))
        clock.setTimer(clock.now(), () => console.log('due'))
        console.log('end of program')
      `)
      expect(printed).toBe('end of program\ndue\n')
    })

    it('fires what is due at once while nothing else happens', async () => {
      const printed = await runInChild(`${start}
        const release = clock.hold({ kind: 'executing', id: 'run_1' })
        const countDown = (left) => {
          if (left > 0) clock.setTimer(clock.now(), () => countDown(left - 1))
          else release(console.log('counted'))
        }
        countDown(1_000)
      `)
      expect(printed).toBe('counted\n')
    })

    it('keeps it alive while it is held, and lets it end with the last release', async () => {
      const printed = await runInChild(`${start}
        const releases = ['run_1', 'run_2'].map((id) => clock.hold({ kind: 'executing', id }))
        clock.setTimer(clock.now() + 600_000, () => console.log('never'))
        clock.setTimer(clock.now() + 2, () => {
          releases[0]()
          clock.setTimer(clock.now() + 2, () => {
            console.log('held by run_2')
            releases[1]()
          })
        })
      `)
      expect(printed).toBe('held by run_2\n')
    })

    it('keeps it alive while it is held even without a timer', async () => {
      const printed = await runInChild(`${start}
        const release = clock.hold({ kind: 'awaited', id: 'run_1' })
        setTimeout(() => {
          console.log('still alive')
          release()
        }, 2).unref()
      `)
      expect(printed).toBe('still alive\n')
    })

    it('reports what a callback throws as uncaught, after the others that are due', async () => {
      const printed = await runInChild(`${start}
        process.on('uncaughtException', (error) => console.log('uncaught', error.message))
        const release = clock.hold({ kind: 'executing', id: 'run_1' })
        const at = clock.now() + 2
        clock.setTimer(at, () => { throw new Error('one') })
        clock.setTimer(at, () => console.log('two'))
        clock.setTimer(at + 1, () => release())
      `)
      expect(printed).toBe('two\nuncaught one\n')
    })
  })
})
