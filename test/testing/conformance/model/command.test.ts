import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../../../src/clock/seeded-random.ts'
import { drawProgram } from '../../../../src/testing/conformance/model/command.ts'

describe('drawProgram', () => {
  it('draws the same program for the same seed, and another one for another', () => {
    const program = drawProgram(seededRandom(1), 50)
    expect(drawProgram(seededRandom(1), 50)).toEqual(program)
    expect(drawProgram(seededRandom(2), 50)).not.toEqual(program)
  })

  it('draws every command sooner or later', () => {
    const programs = [1, 2, 3, 4].map((seed) => drawProgram(seededRandom(seed), 1_000))
    const sizes = programs.map((program) => new Set(program.map(({ name }) => name)).size)
    expect(new Set(sizes)).toEqual(new Set([19, 25]))
  })
})
