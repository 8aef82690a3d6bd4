import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ListQuery } from '../../../src/http/requests/list-query.ts'
import { Refusal } from '../../../src/http/refusal.ts'

function query(pairs: readonly (readonly [name: string, value: string])[]): ListQuery {
  const params = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value]))
  return new ListQuery(new Request(`http://engine.test/?${params.toString()}`), ['status'])
}

describe('ListQuery', () => {
  it('reads what can be used, and refuses everything else with 400', () => {
    const names = [
      'filter[status]',
      'filter[createdAt][from]',
      'filter[createdAt][to]',
      'page[size]',
      'page[after]',
    ]
    const pair = fc.tuple(
      fc.constantFrom(...names, 'filter[x]', 'x'),
      fc.string({ unit: 'grapheme', maxLength: 6 }),
    )
    fc.assert(
      fc.property(fc.array(pair, { maxLength: 4 }), (pairs) => {
        try {
          const asked = query(pairs)
          const { limit = 1, after = 'a' } = asked.page(100)
          expect(limit >= 1 && limit <= 100 && Number.isInteger(limit)).toBe(true)
          expect(after).toMatch(/^\w+$/)
          for (const at of Object.values(asked.created()))
            expect(new Date(at as number).getTime()).not.toBeNaN()
          expect(pairs.some(([name]) => name === 'filter[x]')).toBe(false)
        } catch (error) {
          expect(error).toBeInstanceOf(Refusal)
          expect(error).toMatchObject({
            status: 400,
            message: expect.stringContaining('Query Error: ') as string,
          })
        }
      }),
    )
  })

  it('takes several with commas or one by one, and none for an empty one', () => {
    const several = query([
      ['filter[status]', 'a,b'],
      ['filter[status]', 'c'],
    ])
    expect(several.list('status')).toEqual(['a', 'b', 'c'])
    expect(query([['filter[status]', ',']]).list('status')).toBeUndefined()
    expect(query([]).list('status')).toBeUndefined()
  })
})
