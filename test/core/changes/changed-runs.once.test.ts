import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ChangedRuns } from '../../../src/core/changes/watchers.ts'

const MOST = 5

describe('ChangedRuns', () => {
  it('names every run that changed since a reader asked, or says that it does not know', () => {
    const step = fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom('a', 'b', 'c') },
      { weight: 1, arbitrary: fc.constant('lost' as const) },
    )
    fc.assert(
      fc.property(fc.array(step), fc.array(step), (before, after) => {
        const changes = new ChangedRuns(MOST)
        const tell = (steps: readonly string[]): void =>
          steps.forEach((id) => (id === 'lost' ? changes.lose() : changes.add(id)))
        tell(before)
        const { place } = changes
        tell(after)
        const isKnown = !after.includes('lost') && after.length <= MOST
        expect(changes.since(place)).toEqual(isKnown ? new Set(after) : undefined)
        expect(changes.since(changes.place)).toEqual(new Set())
      }),
    )
  })

  it('keeps nothing until a reader asks for the place', () => {
    const changes = new ChangedRuns()
    changes.add('a')
    expect(changes.place).toBe(0)
    changes.add('b')
    expect(changes.place).toBe(1)
  })
})
