import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Deviation, formatTrace, parseTrace } from 'waitpoint/testing'

const labels = fc.oneof(
  fc.string({ minLength: 1 }),
  fc.constantFrom('review/tokens.await#1', 'time/deadline of token a|b>c@d#2', "it's 100 % `$HOME`\n"),
)
const deviations: fc.Arbitrary<Deviation> = fc.record({
  kind: fc.constantFrom('next', 'fault', 'crash'),
  at: labels,
  take: labels,
})

describe('formatTrace', () => {
  it('makes one line that is read again as what it was, and that can stand between quotes', () => {
    fc.assert(
      fc.property(fc.array(deviations), (trace) => {
        const line = formatTrace(trace)
        expect(parseTrace(line)).toEqual(trace)
        expect(line).not.toMatch(/['"`$\\\n]/)
      }),
    )
  })

  it('is readable', () => {
    const trace: Deviation[] = [
      { kind: 'next', at: 'review/tokens.await#1', take: 'body/tokens.settle#1' },
      { kind: 'crash', at: 'review/runs.update#1', take: 'after' },
    ]
    expect(formatTrace(trace)).toBe(
      'v1|next@review/tokens.await#1>body/tokens.settle#1|crash@review/runs.update#1>after',
    )
    expect(formatTrace([])).toBe('v1')
  })
})

describe('parseTrace', () => {
  it.each(['', 'v2|next@a>b', 'v1|next', 'v1|never@a>b', 'v1|next@a>b|'])('refuses %o', (line) => {
    expect(() => parseTrace(line)).toThrow(RangeError)
  })
})
