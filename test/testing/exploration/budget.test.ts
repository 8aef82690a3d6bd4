import { describe, expect, it } from 'vitest'
import { Budget } from '../../../src/testing/exploration/budget.ts'

describe('Budget', () => {
  it('is spent after its schedules, or when its time is over', () => {
    let now = 0
    const clock = { now: () => now }
    const runs = new Budget({ clock, runs: 2, ms: 100 })
    runs.spend()
    expect(runs.isSpent).toBe(false)
    runs.spend()
    expect(runs.isSpent).toBe(true)
    const time = new Budget({ clock, runs: 2, ms: 100 })
    now = 100
    expect(time.isSpent).toBe(false)
    now = 101
    expect(time.isSpent).toBe(true)
  })

  it.each([
    ['what is left', { runs: 1, ms: 30 }, { runs: 7, ms: 70 }],
    ['a quarter when less is left', { runs: 8, ms: 200 }, { runs: 2, ms: 25 }],
  ])('has a rest: %s', (_what, spent, left) => {
    let now = 0
    const budget = new Budget({ clock: { now: () => now }, runs: 8, ms: 100 })
    for (let run = 0; run < spent.runs; run++) budget.spend()
    now = spent.ms
    const rest = budget.rest()
    now += left.ms
    for (let run = 1; run < left.runs; run++) rest.spend()
    expect(rest.isSpent).toBe(false)
    rest.spend()
    expect(rest.isSpent).toBe(true)
    const inTime = budget.rest()
    now += 1_000
    expect(inTime.isSpent).toBe(true)
  })

  it('without limits is never spent', () => {
    const rest = new Budget({ clock: { now: () => 1e12 }, runs: Infinity, ms: Infinity }).rest()
    rest.spend()
    expect(rest.isSpent).toBe(false)
  })
})
