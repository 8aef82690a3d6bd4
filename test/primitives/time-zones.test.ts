import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { offsetAt } from '../../src/primitives/time-zones.ts'

describe('offsetAt', () => {
  it('is what the clocks of each time zone show', () => {
    const instant = fc.integer({ min: Date.UTC(1900, 0, 1) / 1_000, max: Date.UTC(2100, 0, 1) / 1_000 })
    for (const timeZone of Intl.supportedValuesOf('timeZone')) {
      const clocks = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'medium' })
      for (const second of fc.sample(instant, 20)) {
        const at = second * 1_000
        const shown = Date.parse(`${clocks.format(at).replace(' ', 'T')}Z`)
        expect(offsetAt(timeZone, at), `${timeZone} at ${at}`).toBe(shown - at)
      }
    }
  })
})
