import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { solveNetwork, type Station } from '../../bench/queueing-network.ts'

/** So many customers think for `thinkMs`, then need one of `servers` for `serviceMs`: the exact throughput, by its Markov chain. */
function repairmen(customers: number, thinkMs: number, serviceMs: number, servers: number): number {
  let weight = 1
  let total = 0
  let busy = 0
  for (let present = 0; present <= customers; present++) {
    total += weight
    busy += weight * Math.min(present, servers)
    weight *= ((customers - present) * serviceMs) / (thinkMs * Math.min(present + 1, servers))
    if (weight > 1) [weight, total, busy] = [1, total / weight, busy / weight]
  }
  return (1_000 * busy) / (total * serviceMs)
}

const think = (demandMs: number): Station => ({ name: 'think', demandMs, servers: Infinity })

describe('solveNetwork', () => {
  it('answers two worked examples', () => {
    const disks = [{ name: 'CPU', demandMs: 500 }, { name: 'disk', demandMs: 1_000 }, think(1_000)]
    expect(solveNetwork(disks, 2)).toMatchObject({ busiest: 'disk', cycleMs: 3_000 })
    expect(solveNetwork(disks, 2).perSecond).toBeCloseTo(2 / 3, 9)
    expect(solveNetwork([think(1_000), { name: 'CPU', demandMs: 500 }], 3).perSecond).toBeCloseTo(30 / 19, 9)
  })

  it('is exact for equal stations, listed or as copies', () => {
    const [customers, demandMs, copies] = [7, 12, 4]
    const exact = (1_000 * customers) / (demandMs * (customers + copies - 1))
    const listed = Array.from({ length: copies }, (_, at) => ({ name: `disk ${at}`, demandMs }))
    expect(solveNetwork(listed, customers).perSecond).toBeCloseTo(exact, 9)
    const one = { name: 'disks', demandMs: demandMs * copies, copies }
    expect(solveNetwork([one], customers).perSecond).toBeCloseTo(exact, 9)
  })

  it('is exact for one server with customers that think', () => {
    for (const customers of [1, 2, 5, 20, 100]) {
      const { perSecond } = solveNetwork([think(250), { name: 'CPU', demandMs: 7 }], customers)
      expect(perSecond).toBeCloseTo(repairmen(customers, 250, 7, 1), 6)
    }
  })

  it('becomes a line with one server and arrivals at random, with very many customers that think for long', () => {
    const [customers, serviceMs, share] = [20_000, 4, 0.8]
    const thinkMs = (customers * serviceMs) / share
    const { cycleMs } = solveNetwork([think(thinkMs), { name: 'CPU', demandMs: serviceMs }], customers)
    expect(cycleMs - thinkMs).toBeCloseTo(serviceMs / (1 - share), 1)
  })

  it('is exact for several servers with one customer and with very many, and at most 8 % too slow between', () => {
    for (const servers of [2, 8, 32]) {
      const stations = [think(250), { name: 'CPUs', demandMs: 7, servers }]
      const share = (customers: number): number =>
        solveNetwork(stations, customers).perSecond / repairmen(customers, 250, 7, servers)
      expect(share(1)).toBeCloseTo(1, 9)
      expect(share(2_000)).toBeCloseTo(1, 6)
      for (let customers = 1; customers < 2_000; customers += 9) {
        expect(share(customers)).toBeLessThan(1 + 1e-9)
        expect(share(customers)).toBeGreaterThan(0.92)
      }
    }
  })

  it('stays below both bounds and comes close to them', () => {
    const stationOf = fc.record({
      name: fc.constant('a station'),
      demandMs: fc.double({ min: 0.01, max: 100, noNaN: true }),
      servers: fc.constantFrom(1, 2, 8, Infinity),
      copies: fc.integer({ min: 1, max: 5 }),
    })
    fc.assert(
      fc.property(
        fc.array(stationOf, { minLength: 1, maxLength: 5 }),
        fc.integer({ min: 1, max: 200 }),
        (stations, customers) => {
          const { perSecond, bounds, utilization } = solveNetwork(stations, customers)
          expect(perSecond).toBeLessThanOrEqual(Math.min(bounds.station, bounds.customers) * (1 + 1e-9))
          expect(utilization).toBeLessThanOrEqual(1 + 1e-9)
          expect(solveNetwork(stations, customers + 1).perSecond).toBeGreaterThanOrEqual(
            perSecond * (1 - 1e-9),
          )
          const alone = solveNetwork(stations, 1)
          expect(alone.perSecond).toBeCloseTo(alone.bounds.customers, 6)
        },
      ),
    )
    const busy = solveNetwork(
      [think(250), { name: 'CPUs', demandMs: 7, servers: 2 }, { name: 'lock', demandMs: 2 }],
      1_000,
    )
    expect(busy.busiest).toBe('CPUs')
    expect(busy.perSecond / busy.bounds.station).toBeCloseTo(1, 2)
  })
})
