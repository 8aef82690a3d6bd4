import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import { ownFile } from '../../src/primitives/own-file.ts'

describe('ownFile', () => {
  const here = fileURLToPath(new URL('../../src/primitives/own-file.ts', import.meta.url))
  const { stackTraceLimit } = Error
  afterEach(() => {
    Error.stackTraceLimit = stackTraceLimit
  })

  it.each([0, 1, 50])('is the file of the code, while stacks have %i lines', (limit) => {
    Error.stackTraceLimit = limit
    const before: unknown = Reflect.get(Error, 'prepareStackTrace')
    expect(ownFile()).toBe(here)
    expect(Error.stackTraceLimit).toBe(limit)
    expect(Reflect.get(Error, 'prepareStackTrace')).toBe(before)
  })
})
