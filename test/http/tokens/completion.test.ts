import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { readCompletion } from '../../../src/http/tokens/output.ts'
import { jsonValue } from '../../support/json-value.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('readCompletion', () => {
  it('gives back any JSON value, under either name', () => {
    fc.assert(
      fc.property(jsonValue(), fc.constantFrom('output', 'data'), (value, name) => {
        const body = JSON.stringify({ [name]: value })
        expect(readCompletion(bytes(body)).output).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it.each([
    ['{}', undefined],
    ['\uFEFF{"output":1}', 1],
    ['{"output":null}', null],
    ['{"output":false,"note":1}', false],
    ['{"output":1,"output":2}', 2],
  ])('reads %s', (body, output) => {
    expect(readCompletion(bytes(body)).output).toEqual(output)
  })

  it.each([
    ['', 'Request body is empty'],
    ['null', 'Invalid JSON'],
    ['0', 'Invalid JSON'],
    ['""', 'Invalid JSON'],
    ['false', 'Invalid JSON'],
    ['{"output":', 'Invalid JSON'],
    ['undefined', 'Invalid JSON'],
    ['{"output":NaN}', 'Invalid JSON'],
    ['7', 'must be an object'],
    ['"output"', 'must be an object'],
    ['true', 'must be an object'],
    ['[{"output":1}]', 'must be an object'],
    ['{"output":1,"data":1}', '"output" or "data", not both'],
    ['{"outpt":1}', 'neither "output" nor "data"'],
    ['{"__proto__":{"output":1}}', 'neither "output" nor "data"'],
  ])('refuses %s', (body, message) => {
    expect(() => readCompletion(bytes(body))).toThrow(message)
  })

  it('refuses what is not UTF-8', () => {
    expect(() => readCompletion(Uint8Array.of(0x22, 0xff, 0x22))).toThrow('not UTF-8')
  })
})
