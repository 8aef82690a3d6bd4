import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Completion, readCompletion } from '../../../src/http/tokens/output.ts'
import { jsonValue } from '../../support/json-value.ts'

const read = (body: Uint8Array): Promise<Completion> =>
  readCompletion(body, undefined, { next: () => undefined })
const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

describe('readCompletion', () => {
  it('gives back any JSON value, under either name', async () => {
    await fc.assert(
      fc.asyncProperty(jsonValue(), fc.constantFrom('output', 'data'), async (value, name) => {
        const body = JSON.stringify({ [name]: value })
        expect((await read(bytes(body))).output).toEqual(JSON.parse(JSON.stringify(value)))
      }),
    )
  })

  it.each([
    ['{}', undefined],
    ['\uFEFF{"output":1}', 1],
    ['{"output":null}', null],
    ['{"output":false,"note":1}', false],
    ['{"output":1,"output":2}', 2],
  ])('reads %s', async (body, output) => {
    expect((await read(bytes(body))).output).toEqual(output)
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
  ])('refuses %s', async (body, message) => {
    await expect(read(bytes(body))).rejects.toThrow(message)
  })

  it('refuses what is not UTF-8', async () => {
    await expect(read(Uint8Array.of(0x22, 0xff, 0x22))).rejects.toThrow('not UTF-8')
  })
})
