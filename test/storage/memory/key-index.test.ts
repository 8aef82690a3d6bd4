import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { KeyRecord } from '../../../src/contract/records.ts'
import { KeyIndex } from '../../../src/storage/memory/entry-table.ts'

function entry(key: KeyRecord): { readonly record: { readonly key: KeyRecord } } {
  return { record: { key } }
}

describe('KeyIndex', () => {
  it('is a list in the order of storing, whatever is dropped and when', () => {
    const key = { scope: 'tokens', value: 'k' }
    // A number is who is dropped, by place; otherwise another one takes the key.
    const steps = fc.array(fc.oneof(fc.constant('take' as const), fc.nat(30)), { maxLength: 60 })
    fc.assert(
      fc.property(steps, (all) => {
        const index = new KeyIndex()
        const model: ReturnType<typeof entry>[] = []
        for (const step of all) {
          if (step === 'take') {
            const one = entry({ ...key, expiresAt: model.length })
            model.push(one)
            index.add(one, key)
          } else {
            const [dropped] = model.splice(step, 1)
            if (dropped !== undefined) index.drop(dropped, key)
          }
          expect(index.all(key)).toEqual(model)
          expect(index.holder(key, -1)).toBe(model.at(-1))
        }
      }),
    )
  })

  it('forgets two hundred thousand holders of one key as fast as those of many', () => {
    const index = new KeyIndex()
    const key = { scope: 'tokens', value: 'k' }
    const entries = Array.from({ length: 200_000 }, (_, expiresAt) => entry({ ...key, expiresAt }))
    for (const one of entries) index.add(one, key)
    for (const one of entries) index.drop(one, key)
    expect(index.all(key)).toEqual([])
  })

  it('answers the last one that took a key, until it expires', () => {
    const index = new KeyIndex()
    const key = { scope: 'tokens', value: 'k' }
    const first = entry({ ...key, expiresAt: 10 })
    const second = entry({ ...key, expiresAt: 20 })
    index.add(first, key)
    index.add(second, key)
    expect(index.holder(key, 19)).toBe(second)
    expect(index.holder(key, 20)).toBeUndefined()
    expect(index.all(key)).toEqual([first, second])
  })

  it('tells scopes and values apart, however they are cut', () => {
    const index = new KeyIndex()
    const one = entry({ scope: 'ab', value: 'c' })
    index.add(one, { scope: 'ab', value: 'c' })
    expect(index.holder({ scope: 'a', value: 'bc' }, 0)).toBeUndefined()
    expect(index.holder({ scope: 'ab', value: 'c' }, 0)).toBe(one)
  })

  it('forgets what is dropped, and only that', () => {
    const index = new KeyIndex()
    const key = { scope: 'tokens', value: 'k' }
    const entries = [1, 2, 3].map((expiresAt) => entry({ ...key, expiresAt }))
    for (const one of entries) index.add(one, key)
    for (const one of entries) {
      index.drop(one, key)
      expect(index.all(key)).toEqual(entries.slice(entries.indexOf(one) + 1))
    }
    index.drop(entry(key), key)
    expect(index.all(key)).toEqual([])
  })
})
