import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nextStartAt, withStart } from '../../src/contract/queue-rates.ts'
import type { QueueRate, QueueStart } from '../../src/contract/storage.ts'

/** Starts as many runs as the rate lets start, whenever a claim looks; answers the true instants of the starts. */
function started(rate: QueueRate, looks: readonly Look[]): { instants: readonly number[]; entries: number } {
  const instants: number[] = []
  let starts: readonly QueueStart[] = []
  let [now, entries] = [0, 0]
  for (const { afterMs, wanted } of looks) {
    now += afterMs
    for (let count = 0; count < wanted && nextStartAt(starts, rate, now) <= now; count += 1) {
      starts = withStart(starts, rate, now)
      instants.push(now)
    }
    entries = Math.max(entries, starts.length)
  }
  return { instants, entries }
}

interface Look {
  readonly afterMs: number
  readonly wanted: number
}

/** At each instant that may start a run, the one that was started `limit` starts before is over. */
function areFarApart(instants: readonly number[], { limit, perMs }: QueueRate): boolean {
  return instants.every((at, index) => index < limit || at - (instants[index - limit] ?? 0) >= perMs)
}

const look = fc.record({ afterMs: fc.integer({ min: 0, max: 700 }), wanted: fc.integer({ min: 0, max: 60 }) })
const rates = fc.record({
  limit: fc.integer({ min: 1, max: 300 }),
  perMs: fc.integer({ min: 1_000, max: 5_000 }),
})

describe('nextStartAt and withStart', () => {
  it('let no more runs start in any period than the rate says', () => {
    fc.assert(
      fc.property(rates, fc.array(look, { maxLength: 200 }), (rate, looks) => {
        expect(areFarApart(started(rate, looks).instants, rate)).toBe(true)
      }),
    )
  })

  it('let a run start as soon as the rate allows it, or a hundredth of the period later if its limit is above 100', () => {
    fc.assert(
      fc.property(rates, fc.array(look, { minLength: 1, maxLength: 200 }), (rate, looks) => {
        const { limit, perMs } = rate
        const { instants } = started(rate, looks)
        const last = instants.at(-limit)
        const now = looks.reduce((sum, { afterMs }) => sum + afterMs, 0)
        let starts: readonly QueueStart[] = []
        for (const at of instants) starts = withStart(starts, rate, at)
        const allowedAt = Math.max(now, last === undefined ? now : last + perMs)
        const late = nextStartAt(starts, rate, now) - allowedAt
        expect(late).toBeGreaterThanOrEqual(0)
        expect(late).toBeLessThanOrEqual(limit > 100 ? perMs / 100 : 0)
      }),
    )
  })

  it('keep some hundreds of entries, however many runs start', () => {
    const rate = { limit: 1_000_000, perMs: 10_000 }
    const looks = Array.from({ length: 20_000 }, () => ({ afterMs: 1, wanted: 2 }))
    expect(started(rate, looks).entries).toBeLessThan(210)
  })

  it('make no room when a clock goes back', () => {
    const rate = { limit: 2, perMs: 100 }
    const starts = withStart(withStart([], rate, 1_000), rate, 500)
    expect(starts).toEqual([{ at: 1_000, count: 2 }])
    expect(nextStartAt(starts, rate, 0)).toBe(1_100)
  })

  it('count what has started under a higher rate', () => {
    let starts: readonly QueueStart[] = []
    for (const at of [0, 10, 20, 30]) starts = withStart(starts, { limit: 9, perMs: 100 }, at)
    expect(nextStartAt(starts, { limit: 2, perMs: 100 }, 40)).toBe(120)
  })
})
