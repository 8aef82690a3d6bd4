import { describe, expect, it } from 'vitest'
import { indentedJson } from '../../src/primitives/indented-json.ts'

const nested = (depth: number): unknown => JSON.parse(`${'['.repeat(depth)}1${']'.repeat(depth)}`)

describe('the text of a value for people', () => {
  it('is its JSON over several lines', () => {
    expect(indentedJson({ a: [1, { b: null }] })).toBe(
      '{\n  "a": [\n    1,\n    {\n      "b": null\n    }\n  ]\n}',
    )
  })

  it('is on one line if it is nested so deep that most of it would be spaces', () => {
    expect(indentedJson(nested(20))).toContain('\n')
    expect(indentedJson(nested(21))).toBe(JSON.stringify(nested(21)))
    expect(indentedJson({ wide: 1, deep: nested(3_000) }).length).toBeLessThan(7_000)
  })
})
