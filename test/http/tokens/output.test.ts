import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callbackOutput } from '../../../src/http/tokens/output.ts'
import { jsonValue } from '../../support/json-value.ts'

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const read = (text: string, contentType?: string): Promise<unknown> =>
  callbackOutput(bytes(text), contentType)

const FORM = 'application/x-www-form-urlencoded'

async function multipart(form: FormData): Promise<[body: Uint8Array, contentType: string]> {
  const response = new Response(form)
  return [new Uint8Array(await response.arrayBuffer()), response.headers.get('content-type') ?? '']
}

describe('callbackOutput', () => {
  it('gives back any JSON value', async () => {
    await fc.assert(
      fc.asyncProperty(jsonValue(), async (value) => {
        const text = JSON.stringify(value)
        expect(JSON.stringify(await read(text, 'application/json'))).toBe(text)
      }),
    )
  })

  it.each([undefined, 'application/json', FORM, 'multipart/form-data; boundary=x', 'text/plain'])(
    'makes {} of an empty body of type %s',
    async (type) => {
      expect(await read('', type)).toEqual({})
    },
  )

  it.each([
    'application/json',
    'Application/JSON ; charset=utf-8',
    'text/json',
    'application/problem+json',
    'application/vnd.github.v3+json; q=1',
    'application/json, application/json',
  ])('takes %s for JSON, and refuses it broken', async (type) => {
    expect(await read('{"approved":true}', type)).toEqual({ approved: true })
    await expect(read('{"approved":', type)).rejects.toMatchObject({ status: 400, message: 'Invalid JSON' })
    await expect(read(' ', type)).rejects.toMatchObject({ status: 400 })
  })

  it.each(['text/plain', 'text/html', 'application/octet-stream', 'application/jsonl', 'application/xml'])(
    'takes %s for text',
    async (type) => {
      expect(await read('{"a":1}', type)).toBe('{"a":1}')
    },
  )

  it('takes a body of no type for JSON if it is, else for text', async () => {
    expect(await read('[1]')).toEqual([1])
    expect(await read('null')).toBeNull()
    expect(await read('approved')).toBe('approved')
  })

  it('makes an object of form fields, an array of a repeated one', async () => {
    expect(await read('a=1&b=x+y%21&a=2&c', FORM)).toEqual({ a: ['1', '2'], b: 'x y!', c: '' })
    expect(await read('a=%ff%zz&=1', FORM)).toEqual({ a: '\uFFFD%zz', '': '1' })
  })

  it('takes the JSON that curl -d calls a form for what it is', async () => {
    expect(await read('{"approved":true}', FORM)).toEqual({ approved: true })
    expect(await read(' [1]', FORM)).toEqual([1])
    expect(await read('{oops', FORM)).toEqual({ '{oops': '' })
    expect(await read('7', FORM)).toEqual({ '7': '' })
  })

  it('keeps fields named like members of every object', async () => {
    const output = await read('__proto__=a&constructor=b&toString=c&__proto__=d', FORM)
    expect(JSON.stringify(output)).toBe('{"__proto__":["a","d"],"constructor":"b","toString":"c"}')
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype)
    const json = await read('{"__proto__":{"polluted":true}}', 'application/json')
    expect(JSON.stringify(json)).toBe('{"__proto__":{"polluted":true}}')
    expect({}).not.toHaveProperty('polluted')
  })

  it('reads the text fields of a multipart form', async () => {
    const form = new FormData()
    form.append('approved', 'yes')
    form.append('tag', 'ä')
    form.append('tag', 'b')
    expect(await callbackOutput(...(await multipart(form)))).toEqual({ approved: 'yes', tag: ['ä', 'b'] })
  })

  it('refuses a file, naming the field', async () => {
    const form = new FormData()
    form.append('scan', new Blob(['...']), 'scan.pdf')
    await expect(callbackOutput(...(await multipart(form)))).rejects.toMatchObject({
      status: 400,
      message: 'Cannot take the file in field "scan": only text can be an output',
    })
  })

  it.each([
    'multipart/form-data',
    'multipart/form-data; boundary=other',
    'multipart/form-data; boundary=\u0001',
  ])('refuses %s that cannot be read', async (type) => {
    await expect(
      read('--x\r\ncontent-disposition: form-data; name="a"\r\n\r\n1', type),
    ).rejects.toMatchObject({
      status: 400,
    })
  })

  it.each([undefined, 'application/json', 'text/plain', FORM])(
    'refuses bytes of type %s that are not UTF-8',
    async (type) => {
      const latin1 = Uint8Array.of(0x22, 0xe4, 0x22)
      await expect(callbackOutput(latin1, type)).rejects.toMatchObject({ status: 400 })
    },
  )
})
