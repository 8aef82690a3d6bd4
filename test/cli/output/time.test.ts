import { describe, expect, it } from 'vitest'
import { lengthText, momentText, relativeText } from '../../../src/cli/output/time.ts'

describe('lengthText', () => {
  it.each([
    [0, '0ms'],
    [999, '999ms'],
    [1_500, '1s'],
    [65_000, '1m'],
    [3_600_000, '1h'],
    [5_460_000, '1h 31m'],
    [86_400_000 * 2 + 3_600_000 * 3, '2d 3h'],
    [86_400_000 * 30, '30d'],
  ])('%i ms are %s', (ms, text) => expect(lengthText(ms)).toBe(text))
})

describe('momentText', () => {
  it('says how far an instant is, and when it is', () => {
    const now = Date.UTC(2030, 0, 2)
    expect(momentText(now - 60_000, now)).toBe('1m ago (2030-01-01T23:59:00Z)')
    expect(momentText(new Date(now + 7_200_000), now)).toBe('in 2h (2030-01-02T02:00:00Z)')
    expect(relativeText(now, now)).toBe('now')
    expect(momentText(undefined, now)).toBe('–')
  })
})
