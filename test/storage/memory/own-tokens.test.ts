import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TokenRecord } from '../../../src/contract/records.ts'
import {
  isOwnKey,
  listOwn,
  ownToken,
  type OwnTokens,
  withOwn,
  withoutOwn,
} from '../../../src/storage/memory/own-tokens.ts'

interface Entry {
  readonly record: TokenRecord
}

function entry(id: string, key?: TokenRecord['key']): Entry {
  return { record: { id, kind: 'SLEEP', status: 'WAITING', tags: [], key, runId: 'run_1', createdAt: 0 } }
}

describe('OwnTokens', () => {
  it('finds, lists and forgets as a map by name does, whatever comes and goes', () => {
    const name = fc.integer({ min: 0, max: 4 }).map((place) => `1/for/${place}`)
    const step = fc.record({ name, isAdded: fc.boolean() })
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const model = new Map<string, Entry>()
        let own: OwnTokens<Entry> = undefined
        for (const [index, { name: value, isAdded }] of steps.entries()) {
          const known = model.get(value)
          if (isAdded && known === undefined) {
            const added = entry(`sleep_${index}`, { scope: 'run_1', value })
            model.set(value, added)
            own = withOwn(own, added)
          } else if (!isAdded && known !== undefined) {
            model.delete(value)
            own = withoutOwn(own, known)
          }
          expect(ownToken(own, value)).toBe(model.get(value))
          expect(listOwn(own)).toEqual([...model.values()])
        }
      }),
    )
  })

  it('knows a token without a key of the run by its id, and leaves a stranger where it is', () => {
    const plain = entry('waitpoint_1')
    const keyed = entry('waitpoint_2', { scope: 'tokens', value: 'k', expiresAt: 5 })
    const own = withOwn(withOwn(undefined, plain), keyed)
    expect(ownToken(own, 'waitpoint_1')).toBe(plain)
    expect(ownToken(own, 'k')).toBeUndefined()
    expect(listOwn(withoutOwn(plain, keyed))).toEqual([plain])
  })
})

describe('isOwnKey', () => {
  it('is a key whose scope is the run, and that lasts as long', () => {
    expect(isOwnKey({ scope: 'run_1', value: 'v' }, 'run_1')).toBe(true)
    expect(isOwnKey({ scope: 'run_1', value: 'v' }, 'run_2')).toBe(false)
    expect(isOwnKey({ scope: 'run_1', value: 'v', expiresAt: 1 }, 'run_1')).toBe(false)
    expect(isOwnKey(undefined, undefined)).toBe(false)
  })
})
