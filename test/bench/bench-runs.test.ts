import { describe, expect, it } from 'vitest'
import { benchRuns } from '../../bench/bench-runs.ts'

describe('the number of runs of a figure', () => {
  it('is the usual one, or what was asked for', () => {
    expect(benchRuns(10, '')).toBe(10)
    expect(benchRuns(10, '1000000')).toBe(1_000_000)
  })

  it.each(['many', '0', '-1', '1.5', '1_000'])('is not "%s"', (asked) => {
    expect(() => benchRuns(10, asked)).toThrow(
      new RangeError(`Cannot measure "${asked}" runs: set WAITPOINT_BENCH_RUNS to a whole number above 0`),
    )
  })
})
