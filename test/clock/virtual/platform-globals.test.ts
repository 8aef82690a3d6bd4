import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { type PlatformWorld, replacePlatform } from '../../../src/clock/virtual/platform-globals.ts'
import { seededRandom } from '../../../src/clock/seeded-random.ts'

const START = Date.UTC(2000, 0, 1)
const UUID_4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const worlds = new AsyncLocalStorage<PlatformWorld>()
const format = new Intl.DateTimeFormat('en', { timeZone: 'UTC' })

function worldAfter(passedMs: number): PlatformWorld {
  const random = seededRandom(1)
  return {
    startedAt: START,
    now: () => START + passedMs,
    bytes: (length) => random.bytes(length),
    timeout: (ms) => AbortSignal.abort(`after ${ms} ms`),
  }
}

/** What code reads of the platform. */
const read = (): Record<string, unknown> => ({
  now: performance.now(),
  origin: performance.timeOrigin,
  day: format.format(),
  year: format.formatToParts().find(({ type }) => type === 'year')?.value,
  uuid: crypto.randomUUID(),
  values: [...crypto.getRandomValues(new Uint16Array(3))],
})

describe('replacePlatform', () => {
  it('gives task code its own time and chance, and all other code the real ones', () => {
    const putBack = replacePlatform(() => worlds.getStore())
    try {
      const inTask = worlds.run(worldAfter(86_400_000), read)
      expect(inTask).toMatchObject({ now: 86_400_000, origin: START, day: '1/2/2000', year: '2000' })
      expect(inTask['uuid']).toMatch(UUID_4)
      expect(worlds.run(worldAfter(86_400_000), read)).toEqual(inTask)
      expect(worlds.run(worldAfter(0), () => format.format(new Date(0)))).toBe('1/1/1970')
      expect(worlds.run(worldAfter(0), () => AbortSignal.timeout(5)).reason).toBe('after 5 ms')

      const outside = read()
      expect(outside['uuid']).toMatch(UUID_4)
      expect(outside['uuid']).not.toBe(inTask['uuid'])
      expect(outside['origin']).toBeGreaterThan(Date.UTC(2020))
      expect(outside['day']).not.toMatch(/2000$/)
      expect(performance.now()).toBeGreaterThanOrEqual(Number(outside['now']))
    } finally {
      putBack()
    }
  })

  it('refuses what the originals refuse', () => {
    const putBack = replacePlatform(() => worldAfter(0))
    try {
      expect(() => AbortSignal.timeout(-1)).toThrow(RangeError)
      expect(() => crypto.getRandomValues(new Uint8Array(65_537))).toThrow()
    } finally {
      putBack()
    }
  })

  it('puts back exactly what was there', () => {
    const present = (): unknown[] => [
      Object.getOwnPropertyDescriptors(performance),
      Object.getOwnPropertyDescriptors(crypto),
      Object.getOwnPropertyDescriptor(AbortSignal, 'timeout'),
      Object.getOwnPropertyDescriptors(Intl.DateTimeFormat.prototype),
    ]
    const before = present()
    const first = replacePlatform(() => undefined)
    const second = replacePlatform(() => undefined)
    second()
    first()
    expect(present()).toEqual(before)
  })
})
