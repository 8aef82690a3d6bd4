import { describe, expect, it } from 'vitest'
import { Progress } from '../../../src/testing/exploration/progress.ts'

function written(out: { readonly isTTY?: boolean }, env: Record<string, string>): string {
  let now = 0
  let text = ''
  const clock = { now: () => now }
  const write = (more: string): void => void (text += more)
  const progress = new Progress({ clock, budget: { runs: 1_000, ms: 10_000 }, out: { ...out, write }, env })
  for (let runs = 1; runs <= 500; runs++) {
    now += 2
    progress.ran(runs, 2)
  }
  progress.end()
  return text
}

describe('Progress', () => {
  it('is one line on a terminal: schedules, how fast, how deep, and what is left at most', () => {
    const lines = written({ isTTY: true }, {}).split('\r\u001b[2K')
    expect(lines.slice(1)).toEqual([
      'exploring: 100 schedules, 500/s, up to 2 deviations, at most 2 s left',
      'exploring: 200 schedules, 500/s, up to 2 deviations, at most 2 s left',
      'exploring: 300 schedules, 500/s, up to 2 deviations, at most 2 s left',
      'exploring: 400 schedules, 500/s, up to 2 deviations, at most 2 s left',
      'exploring: 500 schedules, 500/s, up to 2 deviations, at most 1 s left',
      '',
    ])
  })

  it('is nothing in CI, and when it is not a terminal that is written to', () => {
    expect(written({ isTTY: true }, { CI: '1' })).toBe('')
    expect(written({}, {})).toBe('')
  })
})
