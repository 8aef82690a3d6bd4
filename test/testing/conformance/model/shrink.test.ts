import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { shrinkProgram } from '../../../../src/testing/conformance/model/shrink.ts'

describe('shrink', () => {
  it('leaves exactly what is needed to fail, in order', async () => {
    const needs = fc.uniqueArray(fc.nat(79), { minLength: 1, maxLength: 5 })
    await fc.assert(
      fc.asyncProperty(needs, async (needed) => {
        const program = Array.from({ length: 80 }, (_, at) => at)
        const fails = async (shorter: readonly number[]): Promise<boolean> =>
          needed.every((command) => shorter.includes(command))
        const shortest = await shrinkProgram(program, fails)
        expect(shortest).toEqual([...needed].sort((one, other) => one - other))
      }),
    )
  })

  it('leaves a program as it is when everything in it is needed', async () => {
    const program = [1, 2, 3]
    expect(await shrinkProgram(program, async ({ length }) => length === 3)).toEqual(program)
  })
})
