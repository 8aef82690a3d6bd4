import { AsyncLocalStorage } from 'node:async_hooks'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { replaceGlobals, type TaskWorld } from '../../../src/clock/virtual/task-globals.ts'
import { bareTestClock } from '../../../src/clock/test.ts'

/** As it is when nothing was replaced. */
const RealDate = Date
const worlds = new AsyncLocalStorage<TaskWorld>()

function worldAt(now: number): TaskWorld {
  return { now: () => now, random: () => 0.5, sleep: () => new Promise(() => undefined) }
}

describe('replaceGlobals', () => {
  it('gives task code its own world and all other code the real one, at any instant', () =>
    fc.assert(
      fc.property(fc.date({ noInvalidDate: true }), (date) => {
        const putBack = replaceGlobals(() => worlds.getStore())
        try {
          const read = (): unknown[] => [Date.now(), new Date().getTime(), Math.random()]
          expect(worlds.run(worldAt(date.getTime()), read)).toEqual([date.getTime(), date.getTime(), 0.5])
          expect(worlds.run(worldAt(0), () => new Date(date.getTime()).getTime())).toBe(date.getTime())
          expect(worlds.run(worldAt(date.getTime()), () => Date())).toBe(date.toString())
          expect(new Date()).toBeInstanceOf(Date)
          const before = RealDate.now()
          expect(Date.now()).toBeGreaterThanOrEqual(before)
          expect(Date.now()).toBeLessThanOrEqual(RealDate.now())
        } finally {
          putBack()
        }
      }),
    ))

  it('puts back exactly what was there, in whatever order it is asked to', () => {
    const before = [Date, Math.random, globalThis.setTimeout, clearTimeout]
    const first = replaceGlobals(() => undefined)
    const second = replaceGlobals(() => undefined)
    second()
    first()
    expect(
      [Date, Math.random, globalThis.setTimeout, clearTimeout].every((now, at) => now === before[at]),
    ).toBe(true)
  })

  it('leaves replacements that other code has made since', () => {
    const real = Math.random
    const putBack = replaceGlobals(() => undefined)
    const theirs = (): number => 0.25
    Math.random = theirs
    putBack()
    expect(Math.random).toBe(theirs)
    Math.random = real
  })

  it('clears the timeouts of both worlds', async () => {
    const clock = bareTestClock()
    const fired: string[] = []
    const world: TaskWorld = {
      now: () => clock.now(),
      random: () => 0,
      sleep: (ms, signal) => clock.sleep(ms, { signal }),
    }
    const putBack = replaceGlobals(() => worlds.getStore())
    try {
      const virtual = worlds.run(world, () => globalThis.setTimeout(() => fired.push('virtual'), 5))
      const real = globalThis.setTimeout(() => fired.push('real'), 2 ** 30)
      clearTimeout(virtual)
      clearTimeout(real)
      clearTimeout(undefined)
      await clock.advance('1m')
    } finally {
      putBack()
    }
    expect(fired).toEqual([])
    expect(clock.pending()).toEqual([])
  })
})
