import { describe, expect, it } from 'vitest'
import type { Measurement } from '../../bench/measurement.ts'
import { exponentOf, isMet, ratioOf, spreadOf } from '../../bench/measurement.ts'
import { renderReport, spellValue } from '../../bench/report.ts'

const occasion = {
  at: new Date('2000-01-02T03:04:05Z'),
  node: 'v20.0.0',
  platform: 'linux x64',
  cpus: 2,
  model: 'a CPU',
  load: 0.25,
  peers: ['a-peer 1.2.3'],
}

const append: Measurement = {
  what: 'append',
  unit: 'ns',
  count: 1_000,
  ours: { values: [30, 20, 40], cpu: [30, 30, 30] },
  bare: { values: [10, 10, 10], cpu: [10, 10, 10] },
  goal: { kind: 'ratio', most: 2 },
}

describe('renderReport', () => {
  it('prints ours beside the bare limit, with ratios, goal, repetitions and spread', () => {
    const lines = renderReport(occasion, [{ name: 'streams', measurements: [append] }]).split('\n')
    expect(lines[0]).toBe(
      'waitpoint, 2000-01-02 03:04 UTC, Node v20.0.0, linux x64, 2 CPUs (a CPU), load 0.3',
    )
    expect(lines[1]).toBe('beside a-peer 1.2.3')
    expect(lines.at(-2)).toBe('streams')
    expect(lines.at(-1)?.trim().split(/ {2,}/)).toEqual([
      'append',
      '30 ns',
      '10 ns',
      '3.00×',
      '30 ns',
      '3.00×',
      '≤ 2×',
      'MISSED',
      '1,000 × 3',
      '25 ns–35 ns',
      '10 ns–10 ns',
    ])
  })

  it('says what could not be measured', () => {
    const report = renderReport(occasion, [{ name: 'parked', error: new Error('out of memory') }])
    expect(report).toContain('not measured: Error: out of memory')
  })
})

describe('renderReport of a peer', () => {
  it('spells a ratio that is small as a fraction, and what is left out with its reason', () => {
    const fast = {
      ...append,
      bare: { values: [3_000, 2_000, 4_000] },
      goal: { kind: 'ratio', most: 1 / 40 },
    } as const
    const missing = { what: 'a peer', why: 'it is not installed' }
    const report = renderReport(occasion, [{ name: 'peers', measurements: [fast, missing] }])
    expect(report).toMatch(/ 1\/100 .* ≤ 1\/40 +met /)
    expect(report).toContain('  a peer: not measured, it is not installed')
  })
})

describe('spellValue', () => {
  it('keeps three digits in the unit that makes them readable', () => {
    const spelled = [0, 0.1234, 12.34, 999.4, 999.6, 1_234, 15_000_000].map((ns) => spellValue(ns, 'ns'))
    expect(spelled).toEqual(['0 ns', '0.123 ns', '12.3 ns', '999 ns', '1 µs', '1.23 µs', '15 ms'])
    expect(spellValue(3e9, 'bytes')).toBe('3 GB')
    expect(spellValue(12_345, 'count')).toBe('12345')
  })
})

describe('spreadOf', () => {
  it('interpolates between neighbours', () => {
    expect(spreadOf([4, 1, 3, 2])).toEqual({ low: 1.75, median: 2.5, high: 3.25 })
  })
})

describe('ratioOf', () => {
  it('compares what was measured at the same time', () => {
    expect(ratioOf([10, 100, 20], [5, 50, 10])).toBe(2)
  })
})

describe('exponentOf', () => {
  it.each([0, 1, 1.5, 2])('finds the power %d again', (power) => {
    const points = [10, 100, 1_000].map((size) => ({ size, cost: 7 * size ** power }))
    expect(exponentOf(points)).toBeCloseTo(power)
  })
})

describe('isMet', () => {
  it('takes a goal as a ratio, a value, or a distance from the bare limit', () => {
    const verdicts = ([most, kind]: readonly [number, 'ratio' | 'value' | 'over']): unknown =>
      isMet({ ...append, goal: { kind, most } })
    expect(
      (
        [
          [3, 'ratio'],
          [30, 'value'],
          [20, 'over'],
        ] as const
      ).map(verdicts),
    ).toEqual([true, true, true])
    expect(
      (
        [
          [2, 'ratio'],
          [29, 'value'],
          [19, 'over'],
        ] as const
      ).map(verdicts),
    ).toEqual([false, false, false])
  })

  it('has nothing to say without a goal', () => {
    const { goal: _, ...rest } = append
    expect(isMet(rest)).toBeUndefined()
  })
})
