import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { WaitpointError } from 'waitpoint'
import { fromJson, toJson } from '../../src/api/serialize.ts'
import { jsonValue } from '../support/json-value.ts'

describe('toJson', () => {
  it('gives back every JSON value', () => {
    fc.assert(
      fc.property(jsonValue(), (value) => {
        expect(fromJson(toJson(value, 'a value'))).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it('has nothing to store for undefined', () => {
    expect(toJson(undefined, 'a value')).toBeUndefined()
    expect(fromJson(undefined)).toBeUndefined()
  })

  it('says what it could not store, where, and why', () => {
    const thrown = (): unknown => toJson({ list: [{}, { at: new Map() }] }, 'the output of task "t"')
    expect(thrown).toThrow(WaitpointError)
    expect(thrown).toThrow('Cannot store the output of task "t": $.list[1].at is not JSON: of type Map')
  })

  it.each([[() => 1], [Symbol('s')], [1n], [Number.NaN], [-Infinity], [new Set()], [new Date(Number.NaN)]])(
    'refuses %s',
    (value) => {
      for (const place of [value, [value], { value }]) {
        expect(() => toJson(place, 'a value')).toThrow(
          expect.objectContaining({ code: 'ERR_NOT_SERIALIZABLE' }) as Error,
        )
      }
    },
  )

  it('does not run into the ground for something deep or something that throws', () => {
    let deep: unknown = null
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    expect(() => toJson(deep, 'a value')).toThrow(/ERR_NOT_SERIALIZABLE|nested deeper/)
    const trap = {
      get boom(): never {
        throw new Error('trap')
      },
    }
    expect(() => toJson(trap, 'a value')).toThrow('$.boom is not JSON: throws "trap"')
  })
})
