import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  requireFlag,
  requireFunction,
  requireList,
  requireMethods,
  requireName,
  requireObject,
  requireOptions,
  requireSignal,
  requireWhole,
  show,
} from '../../src/primitives/require.ts'

const anything = fc.oneof(
  fc.anything({ withBigInt: true, withNullPrototype: true, withDate: true }),
  fc.constantFrom<unknown>(Symbol('s'), () => 1),
)

/** Whether a check lets a value pass; what it throws says what was wrong, and comes from nowhere deeper. */
function passes(check: () => unknown, Refusal: new () => Error = TypeError): boolean {
  try {
    check()
    return true
  } catch (error) {
    expect(error).toBeInstanceOf(Refusal)
    expect((error as Error).message).toMatch(/^Cannot use it .*: it must be /s)
    return false
  }
}

describe('what checks a value', () => {
  it.each<[string, (value: unknown) => unknown, (value: unknown) => boolean]>([
    ['requireObject', (v) => requireObject(v, 'it'), (v) => isObject(v) && !Array.isArray(v)],
    ['requireFunction', (v) => requireFunction(v, 'it'), (v) => v === undefined || typeof v === 'function'],
    ['requireList', (v) => requireList(v, 'it'), (v) => Array.isArray(v)],
    ['requireFlag', (v) => requireFlag(v, 'it'), (v) => v === undefined || typeof v === 'boolean'],
    ['requireSignal', (v) => requireSignal(v, 'it'), (v) => v === undefined || v instanceof AbortSignal],
    ['requireName', (v) => requireName(v, 'it'), (v) => typeof v === 'string' && v !== ''],
    ['requireMethods', (v) => requireMethods(v, 'it', ['open']), () => false],
  ])('lets pass what it is for, and refuses anything else by name: %s', (_name, check, isRight) => {
    const law = fc.property(anything, (value) => {
      expect(passes(() => check(value))).toBe(isRight(value))
    })
    fc.assert(law)
    fc.assert(law, { examples: [[undefined], [null], [''], ['x'], [true], [[]], [{}], [() => 1]] })
  })
})

describe('requireWhole', () => {
  it('lets pass the whole numbers of its range, and nothing else', () => {
    const law = fc.property(fc.oneof(fc.integer({ min: -5, max: 15 }), fc.double(), anything), (value) => {
      const isRight = typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 10
      expect(passes(() => requireWhole(value, 'it', { from: 1, to: 10 }), RangeError)).toBe(isRight)
    })
    fc.assert(law)
  })
})

describe('requireMethods', () => {
  it('lets pass what has all of them, inherited ones too', () => {
    class Clock {
      now(): number {
        return 0
      }
    }
    expect(() => requireMethods(new Clock(), 'clock', ['now'])).not.toThrow()
    expect(() => requireMethods(new Clock(), 'clock', ['now', 'setTimer'])).toThrow(
      'it must be an object with now and setTimer',
    )
  })
})

describe('requireOptions', () => {
  it('lets pass any of the options there are, and names one that there is not', () => {
    const law = fc.property(fc.subarray(['a', 'b', 'c', 'toString', 'constructor']), (given) => {
      const options = Object.fromEntries(given.map((name) => [name, 1]))
      const check = (): void => requireOptions(options, 'it', { a: true, b: true })
      const unknown = given.find((name) => name !== 'a' && name !== 'b')
      if (unknown === undefined) expect(check).not.toThrow()
      else expect(check).toThrow(`Cannot use it: there is no option "${unknown}"; use a, b`)
    })
    fc.assert(law)
  })
})

describe('show', () => {
  it('shows anything on one line, without failing', () => {
    fc.assert(fc.property(anything, (value) => typeof show(value) === 'string'))
    expect([show('a"b'), show(null), show(Symbol('s')), show({ a: { b: 1 } })]).toEqual([
      '"a\\"b"',
      'null',
      'Symbol(s)',
      '{ a: [Object] }',
    ])
  })

  it('says of a promise that it was not awaited', () => {
    expect(show(Promise.resolve(1))).toBe('a promise that was not awaited')
  })
})

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
