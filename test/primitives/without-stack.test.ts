import { describe, expect, it } from 'vitest'
import { withoutStack } from '../../src/primitives/without-stack.ts'

describe('withoutStack', () => {
  it('makes an error whose stack is its name and message', () => {
    const error = withoutStack(() => new RangeError('Cannot go on: it is late'))
    expect(error).toBeInstanceOf(RangeError)
    expect(error.stack).toBe('RangeError: Cannot go on: it is late')
  })

  it('leaves the stacks of other errors as they were', () => {
    const depth = Error.stackTraceLimit
    withoutStack(() => new Error('late'))
    expect(Error.stackTraceLimit).toBe(depth)
    expect(new Error('here').stack).toContain('without-stack.test.ts')
  })

  it('leaves them so when no error comes of it', () => {
    const depth = Error.stackTraceLimit
    const make = (): Error => {
      throw new TypeError('broken')
    }
    expect(() => withoutStack(make)).toThrow('broken')
    expect(Error.stackTraceLimit).toBe(depth)
  })
})
