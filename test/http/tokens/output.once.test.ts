import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { callbackOutput as outputOf } from '../../../src/http/tokens/output.ts'
import { jsonValue } from '../../support/json-value.ts'

const callbackOutput = (body: Uint8Array, contentType?: string): Promise<unknown> =>
  outputOf(body, contentType, { next: () => undefined })
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

  it.each([
    [String.raw`text/plain; a="; charset=latin1"`, 'ä'],
    [String.raw`text/plain; a="\"; charset=latin1"; charset=utf-8`, 'ä'],
    ['text/plain; a="; charset=latin1', 'ä'],
    ['text/plain; "; charset=latin1"', 'ä'],
    ['text/plain; charset=""', 'ä'],
    ['text/plain; xcharset=latin1; b', 'ä'],
    ['text/plain; a="; charset=utf-8" ; Charset = "latin1"; charset=utf-8', 'Ã¤'],
    [String.raw`text/plain; charset="lat\in1"`, 'Ã¤'],
  ])('finds the charset of %s, not what quotes have in them', async (type, text) => {
    expect(await read('ä', type)).toBe(text)
  })

  it('finds the boundary behind quotes that have another one in them', async () => {
    const type = 'multipart/form-data; a="; boundary=y"; boundary=x'
    const body = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--x--'
    expect(await read(body, type)).toEqual({ a: '1' })
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
    expect(await read('a=%e4%zz&=1', `${FORM}; charset=latin1`)).toEqual({ a: 'ä%zz', '': '1' })
  })

  it('reads any text as a form encodes it', async () => {
    const text = fc.string({ unit: 'binary' })
    await fc.assert(
      fc.asyncProperty(text, text, async (one, other) => {
        const body = new URLSearchParams({ one, other }).toString()
        expect(await read(body, FORM)).toEqual({ one, other })
      }),
    )
  })

  it('takes the JSON that curl -d calls a form for what it is', async () => {
    expect(await read('{"approved":true}', FORM)).toEqual({ approved: true })
    expect(await read(' [1]', FORM)).toEqual([1])
    expect(await read('{"a":"b=c"}', FORM)).toEqual({ a: 'b=c' })
    expect(await read('{oops', FORM)).toBe('{oops')
    expect(await read('{oops=1', FORM)).toEqual({ '{oops': '1' })
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
    ['base64', 415],
    ['quoted-printable', 415],
    ['8bit', 200],
  ])('takes a part that is encoded as %s: %i', async (encoding, status) => {
    const part = `content-disposition: form-data; name="a"\r\ncontent-transfer-encoding: ${encoding}\r\n\r\nMQ==`
    const reading = read(`--x\r\n${part}\r\n--x--\r\n`, 'multipart/form-data; boundary=x')
    if (status === 200) expect(await reading).toEqual({ a: 'MQ==' })
    else
      await expect(reading).rejects.toMatchObject({
        status,
        message: expect.stringContaining(encoding) as string,
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

  describe('of a form in parts', () => {
    const NAMED = 'Content-Disposition: form-data; name="a"'
    const part = (head: string, value = '1'): string => `--x\r\n${head}\r\n\r\n${value}\r\n`
    const whole = part(NAMED)
    const readParts = (body: string, type = 'multipart/form-data; boundary=x'): Promise<unknown> =>
      callbackOutput(new Uint8Array(Buffer.from(body, 'latin1')), type)

    it.each<[name: string, body: string, output?: unknown]>([
      ['a line break before its first boundary', `\r\n${whole}--x--\r\n`],
      ['several of them', `\r\n\r\n${whole}--x--\r\n`],
      ['a preamble', `For old readers:\r\n--y\r\n\r\n${whole}--x--\r\n`],
      ['an epilogue', `${whole}--x--\r\nThe end\r\n${part(NAMED, '2')}`],
      ['a last boundary without a line break', `${whole}--x--`],
      ['spaces behind its boundaries', `${whole.replace('--x', '--x \t')}--x-- \r\n`],
      ['a name without quotes', `${part('Content-Disposition: form-data; name=a')}--x--\r\n`],
      ['no space before the name', `${part('Content-Disposition:form-data;name=a')}--x--\r\n`],
      ['upper case', `${part('CONTENT-DISPOSITION: FORM-DATA; NAME="a"')}--x--\r\n`],
      ['another parameter', `${part(`${NAMED}; size=1; note="; name=b"`)}--x--\r\n`],
      ['other headers', `${part(`X-A: form-data; name=b\r\n${NAMED}\r\nX-B: 1`)}--x--\r\n`],
      [
        'a value with a boundary in a line',
        `${part(NAMED, '- --x\r\n -- --x--')}--x--`,
        '- --x\r\n -- --x--',
      ],
      ['an empty value', `${part(NAMED, '')}--x--`, ''],
      ['a value in lines', `${part(NAMED, '\r\n\r\n1\n')}--x--`, '\r\n\r\n1\n'],
    ])('takes one with %s', async (_name, body, output = '1') => {
      expect(await readParts(body)).toEqual({ a: output })
    })

    it('takes one without parts, and its boundary in quotes', async () => {
      expect(await readParts('--x--\r\n')).toEqual({})
      const type = 'Multipart/Form-Data; charset=utf-8; Boundary="x y"'
      expect(await readParts(whole.replace('--x', '--x y').concat('--x y--'), type)).toEqual({ a: '1' })
    })

    it('reads names as browsers write them', async () => {
      const body = part('Content-Disposition: form-data; name="%22a%0D%0a%41%25"')
      expect(await readParts(`${body}--x--`)).toEqual({ '"a\r\n%41%25': '1' })
      expect(await readParts(`${part('Content-Disposition: form-data; name=__proto__')}--x--`)).toEqual(
        Object.fromEntries([['__proto__', '1']]),
      )
    })

    it.each(['', '\r\n', 'A preamble\r\n', 'Content-Type: text/plain; charset=utf-8\r\n\r\n'])(
      'reads each part in its own charset behind %j',
      async (preamble) => {
        const latin = part(`${NAMED}\r\nContent-Type: text/plain; charset=iso-8859-1`, '\xe9')
        const plain = part(NAMED.replace('"a"', 'b'), '\xc3\xa9')
        expect(await readParts(`${preamble}${latin}${plain}--x--`)).toEqual({ a: 'é', b: 'é' })
        const encoded = part(`${NAMED}\r\nContent-Transfer-Encoding: base64`, 'MQ==')
        await expect(readParts(`${preamble}${encoded}--x--`)).rejects.toMatchObject({ status: 415 })
      },
    )

    it.each<[name: string, body: string]>([
      ['no last boundary', whole],
      ['a last boundary that was cut', `${whole}--x-`],
      ['a value that was cut', '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1'],
      ['a head that was cut', '--x\r\nContent-Disposition: form-data; name="a"\r\n--x--'],
      ['more behind the last boundary', `${whole}--x--y\r\n`],
      ['another boundary that begins alike', `${whole}--xy\r\n${NAMED}\r\n\r\n1\r\n--x--`],
      ['its first boundary within a line', `For old readers: ${whole}--x--\r\n`],
      ['a boundary in its preamble', `--x--\n\r\n${whole}--x--`],
      ['lines that end with \\n', `${whole}--x--\r\n`.replaceAll('\r', '')],
      ['a preamble and lines that end with \\n', `\n${whole.replaceAll('\r', '')}\r\n--x--`],
      ['no boundary', 'a=1'],
      ['a preamble alone', 'For old readers'],
      ['a part without a head', '--x\r\n\r\n1\r\n--x--'],
      ['a part that is empty', '--x\r\n\r\n--x--'],
      ['a part without a disposition', `${part('Content-Type: text/plain')}--x--`],
      ['a part without a name', `${part('Content-Disposition: form-data')}--x--`],
      ['an empty name without quotes', `${part('Content-Disposition: form-data; name=')}--x--`],
      ['a name that goes on', `${part('Content-Disposition: form-data; name=a b')}--x--`],
      ['a name that is not closed', `${part('Content-Disposition: form-data; name="a')}--x--`],
      ['a quote in a name', `${part('Content-Disposition: form-data; name="a\\"b"')}--x--`],
      ['two names', `${part(`${NAMED}; name="b"`)}--x--`],
      ['two dispositions', `${part(`${NAMED}\r\n${NAMED}`)}--x--`],
      ['a disposition in two lines', `${part('Content-Disposition: form-data;\r\n name="a"')}--x--`],
      ['a head line that ends with \\n', `${part(`X-A: 1\n${NAMED}`)}--x--`],
      ['an attachment', `${part('Content-Disposition: attachment; name="a"')}--x--`],
      ['a file before its name', `${part('Content-Disposition: form-data; filename=f; name=a')}--x--`],
      ['a file in another charset', `${part(`${NAMED}; filename*=utf-8''f`)}--x--`],
      [
        'many parameters',
        `${part(`${NAMED}${Array.from('bcdefghijkl', (one) => `; ${one}=1`).join('')}`)}--x--`,
      ],
    ])('refuses one with %s', async (_name, body) => {
      await expect(readParts(body)).rejects.toMatchObject({ status: 400 })
    })

    it('takes a name of some length, and refuses the header that is longer than one of a request', async () => {
      const named = (count: number): string =>
        `${part(`Content-Disposition: form-data; name="${'%22'.repeat(count)}"`)}--x--`
      expect(await readParts(named(5_000))).toEqual({ ['"'.repeat(5_000)]: '1' })
      await expect(readParts(named(6_000))).rejects.toMatchObject({ status: 413 })
    })

    it('takes no boundary that the type does not name', async () => {
      const body = whole.replace('--x', '--undefined') + '--undefined--'
      await expect(readParts(body, 'multipart/form-data')).rejects.toMatchObject({ status: 400 })
    })

    it('counts lines that may be parts in a preamble, too', async () => {
      const lines = (count: number): string => '--y\r\n'.repeat(count)
      expect(await readParts(`${lines(999)}${whole}--x--`)).toEqual({ a: '1' })
      await expect(readParts(`${lines(1_001)}${whole}--x--`)).rejects.toMatchObject({ status: 413 })
    })
  })

  it.each([undefined, 'application/json', 'text/plain', FORM])(
    'refuses bytes of type %s that are not UTF-8',
    async (type) => {
      const latin1 = Uint8Array.of(0x22, 0xe4, 0x22)
      await expect(callbackOutput(latin1, type)).rejects.toMatchObject({ status: 400 })
    },
  )

  it.each([
    ['yes', 'yes'],
    ['42', 42],
    ['true', true],
    ['null', null],
    ['"x"', 'x'],
    ['"a=b"', 'a=b'],
    ['a&b+c', 'a&b+c'],
    ['{"a":1}', { a: 1 }],
  ])('takes %s that curl -d sends for a value, not for a field', async (text, value) => {
    expect(await read(text, FORM)).toEqual(value)
  })

  describe('in a charset that is named', () => {
    const words: readonly (readonly [charset: string, text: string, bytes: readonly number[]])[] = [
      ['windows-1252', 'René €', [0x52, 0x65, 0x6e, 0xe9, 0x20, 0x80]],
      ['ISO-8859-1', 'café', [0x63, 0x61, 0x66, 0xe9]],
      ['Shift_JIS', '日本', [0x93, 0xfa, 0x96, 0x7b]],
      ['gb18030', '中', [0xd6, 0xd0]],
      ['koi8-r', 'да', [0xc4, 0xc1]],
      ['utf-8', 'ä', [0xc3, 0xa4]],
    ]
    const raw = (letters: readonly number[]): string => String.fromCharCode(...letters)
    const escaped = (letters: readonly number[]): string =>
      letters.map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
    const part = (name: string, value: string, type = ''): string =>
      `--X\r\nContent-Disposition: form-data; name="${name}"\r\n${type}\r\n${value}\r\n`
    const MULTIPART = 'multipart/form-data; boundary=X'
    const places: Record<string, (charset: string, letters: readonly number[]) => [string, string]> = {
      'the header, escaped': (charset, letters) => [`n=${escaped(letters)}`, `${FORM}; charset=${charset}`],
      'the header, as bytes': (charset, letters) => [`n=${raw(letters)}`, `${FORM};Charset="${charset}"`],
      'a field': (charset, letters) => [`n=${escaped(letters)}&charset=${charset}`, FORM],
      'the field of browsers': (charset, letters) => [`_charset_=${charset}&n=${raw(letters)}`, FORM],
      'a part': (charset, letters) => [
        `${part('a', '1')}${part('n', raw(letters), `Content-Type: text/plain; charset=${charset}\r\n`)}--X--\r\n`,
        MULTIPART,
      ],
      'the field of a form in parts': (charset, letters) => [
        `${part('_charset_', charset)}${part('n', raw(letters))}--X--\r\n`,
        MULTIPART,
      ],
      'the header of JSON': (charset, letters) => [
        `{"n":"${raw(letters)}"}`,
        `application/json; charset=${charset}`,
      ],
      'the header of text': (charset, letters) => [raw(letters), `text/plain; charset=${charset}`],
    }

    for (const [place, write] of Object.entries(places)) {
      const readIn = (charset: string, letters: readonly number[]): Promise<unknown> => {
        const [body, type] = write(charset, letters)
        return callbackOutput(new Uint8Array(Buffer.from(body, 'latin1')), type)
      }

      it.each(words)(`reads %s by ${place}`, async (charset, text, letters) => {
        const output = await readIn(charset, letters)
        expect(typeof output === 'string' ? output : (output as { n: unknown }).n).toBe(text)
      })

      it(`refuses what is not text by ${place}`, async () => {
        await expect(readIn('utf-8', [0xe9, 0x20])).rejects.toMatchObject({ status: 400 })
        await expect(readIn('shift_jis', [0x81])).rejects.toMatchObject({ status: 400 })
        await expect(readIn('unheard-of', [0xe9, 0x20])).rejects.toMatchObject({ status: 400 })
      })
    }

    it('takes a field that only looks like one for what it is', async () => {
      expect(await read('charset=a+hat&n=%c3%a4', FORM)).toEqual({ charset: 'a hat', n: 'ä' })
    })
  })
})
