import { describe, expect, it } from 'vitest'
import { type FleetCost, growthOf, inCrowd, inFleet, inFlow } from '../../bench/worker-model.ts'

const cost: FleetCost = {
  server: { baseMs: 2, perWorkerMs: 0.03 },
  workers: { baseMs: 1, perWorkerMs: 0.01 },
  lockMs: 0.1,
  waitMs: 280,
}

const run = { serverMs: 0.4, workersMs: 0.1, othersMs: 0.1, workMs: 0, slotMs: 0 }

describe('inFlow', () => {
  it('is limited by the CPUs when there are many runs, and by the waiting when there are few', () => {
    expect(inFlow(run, { cpus: 2, runs: 1_000 })).toBeCloseTo(0.3, 3)
    expect(inFlow({ ...run, workMs: 250, slotMs: 49.4 }, { cpus: 2, runs: 4 })).toBeCloseTo(300 / 4, 1)
  })
})

describe('inCrowd', () => {
  it('is a half with the work, then one without', () => {
    expect(inCrowd(run, { cpus: 2, runs: 1_000 })).toBeCloseTo(0.3, 3)
    const far = { serverMs: 8, workersMs: 2, othersMs: 2, workMs: 250, slotMs: 28 }
    expect(inCrowd(far, { cpus: 2, runs: 1 })).toBeCloseTo(264 + 6 + 14 + 6, 9)
    // There is room for the work of 40 runs at once, but not for what comes after it.
    expect(inCrowd(far, { cpus: 2, runs: 40 })).toBeGreaterThan(270 / 40 + 6 / 2)
    expect(inFlow(far, { cpus: 2, runs: 40 })).toBeLessThan(270 / 40 + 6 / 2)
  })
})

describe('inFleet', () => {
  it('is limited by slots, then by the CPUs of the server, which more workers burden', () => {
    const few = inFleet(cost, { workers: 4, slots: 4, serverCpus: 2 })
    expect(few.perSecond).toBeCloseTo(16 / 0.28336, 0)
    const many = inFleet(cost, { workers: 64, slots: 4, serverCpus: 2 })
    expect(many.busiest).toBe('CPUs of the server')
    expect(many.perSecond).toBeCloseTo(2_000 / (2 + 64 * 0.03), 0)
    expect(inFleet(cost, { workers: 256, slots: 4, serverCpus: 2 }).perSecond).toBeLessThan(many.perSecond)
  })

  it('is limited by what is one for all, whatever the server', () => {
    const locked = inFleet({ ...cost, lockMs: 5 }, { workers: 64, slots: 4, serverCpus: 1_000 })
    expect(locked.busiest).toBe('lock of NOTIFY')
    expect(locked.perSecond).toBeCloseTo(200, 0)
  })

  it('shares the work of workers, but for what each of them does for each run', () => {
    const heard = { ...cost, workers: { baseMs: 1, perWorkerMs: 2 } }
    const fleet = inFleet(heard, { workers: 100, slots: 100, serverCpus: 1_000 })
    expect(fleet.busiest).toBe('CPUs of the workers')
    expect(fleet.perSecond / (1_000 / (2 + 1 / 100))).toBeCloseTo(0.99, 2)
  })
})

describe('growthOf', () => {
  it('is the line through points, and never falls', () => {
    const rising = growthOf([1, 4, 16].map((workers) => ({ workers, ms: 2 + workers / 4 })))
    expect(rising.baseMs).toBeCloseTo(2, 9)
    expect(rising.perWorkerMs).toBeCloseTo(0.25, 9)
    const falling = growthOf([1, 3].map((workers) => ({ workers, ms: 10 - workers })))
    expect(falling).toEqual({ baseMs: 8, perWorkerMs: 0 })
  })
})
