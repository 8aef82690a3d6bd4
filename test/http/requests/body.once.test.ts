import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Turns } from '../../../src/core/inside.ts'
import { checkAnnouncedLength, parseJson, readBody } from '../../../src/http/requests/body.ts'
import { readJsonObject } from '../../../src/http/requests/json-body.ts'
import { callbackOutput, readCompletion } from '../../../src/http/tokens/output.ts'
import { countText } from '../../support/text-count.ts'
import { chunked, request } from '../requests.ts'

const URL = 'http://engine.test/'
const LIMIT = 16

describe('readBody', () => {
  it('gives back every body of up to the limit, however it is cut, and refuses every other', async () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 8 }), { maxLength: 6 })
    await fc.assert(
      fc.asyncProperty(parts, async (body) => {
        const whole = Buffer.concat(body)
        const reading = readBody(request(URL, { body: chunked(body) }), LIMIT)
        if (whole.length <= LIMIT) expect(Buffer.from(await reading)).toEqual(whole)
        else await expect(reading).rejects.toMatchObject({ status: 413, message: 'Request body too large' })
      }),
    )
  })

  it('refuses every body that is not as long as its content-length says', async () => {
    const lengths = fc.nat({ max: LIMIT + 4 })
    await fc.assert(
      fc.asyncProperty(lengths, lengths, async (promised, length) => {
        const headers = { 'content-length': `${promised}` }
        const reading = readBody(request(URL, { headers, body: 'x'.repeat(length) }), LIMIT)
        if (length > LIMIT) await expect(reading).rejects.toMatchObject({ status: 413 })
        else if (length !== promised) await expect(reading).rejects.toMatchObject({ status: 400 })
        else expect(await reading).toHaveLength(length)
      }),
    )
  })

  it.each(['gzip', 'chunked, gzip', 'x'])('refuses the encoding %s, in either header', async (coding) => {
    for (const name of ['content-encoding', 'transfer-encoding'])
      await expect(
        readBody(request(URL, { headers: { [name]: coding }, body: 'x' }), LIMIT),
      ).rejects.toMatchObject({
        status: 415,
        message: expect.stringContaining(coding.split(', ').at(-1) ?? '') as string,
      })
  })

  it('stops reading beyond the limit, also from a source that never stops', async () => {
    let pulls = 0
    let isCanceled = false
    const endless = new ReadableStream({
      pull(controller) {
        pulls += 1
        controller.enqueue(new Uint8Array(8))
      },
      cancel() {
        isCanceled = true
        return new Promise(() => undefined)
      },
    })
    await expect(readBody(request(URL, { body: endless }), LIMIT)).rejects.toMatchObject({ status: 413 })
    expect(pulls).toBeLessThanOrEqual(4)
    expect(isCanceled).toBe(true)
  })

  it('refuses a body that breaks off, is not made of bytes, or was read before', async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error('reset')) })
    await expect(readBody(request(URL, { body: broken }), LIMIT)).rejects.toMatchObject({
      status: 400,
      message: 'Cannot read the request body: it broke off',
    })
    const text = new ReadableStream({ start: (controller) => controller.enqueue('text') })
    await expect(readBody(request(URL, { body: text }), LIMIT)).rejects.toMatchObject({
      status: 400,
      message: 'Cannot read the request body: it does not consist of bytes',
    })
    const locked = request(URL, { body: 'x' })
    locked.body?.getReader()
    await expect(readBody(locked, LIMIT)).rejects.toMatchObject({ status: 400 })
  })

  it('reads nothing where there is no body', async () => {
    expect(await readBody(request(URL), LIMIT)).toHaveLength(0)
  })
})

describe('checkAnnouncedLength', () => {
  it.each(['17', '99999999999999999999', '1e3'])('refuses %s', (length) => {
    const announced = request(URL, { headers: { 'content-length': length } })
    expect(() => checkAnnouncedLength(announced, LIMIT)).toThrow('Request body too large')
  })

  it.each(['16', '0', '', '-1', 'many', '17, 17'])('leaves "%s" to the reading', (length) => {
    const announced = request(URL, { headers: { 'content-length': length } })
    expect(() => checkAnnouncedLength(announced, LIMIT)).not.toThrow()
  })
})

describe('parseJson', () => {
  const lists = (count: number): string => `[${Array.from({ length: count }, () => '{}').join()}]`

  it('refuses a text with too many parts before it parses it', () => {
    expect(parseJson(lists(90_000))).toHaveLength(90_000)
    using counted = countText()
    expect(() => parseJson(lists(100_000))).toThrow(expect.objectContaining({ status: 413 }))
    expect(counted.characters).toBe(0)
  })
})

describe('a large JSON body', () => {
  const FORM = 'application/x-www-form-urlencoded'
  const numbers = (count: number): Uint8Array<ArrayBuffer> =>
    new TextEncoder().encode(`{"output":[${'1,'.repeat(count)}1]}`)

  it.each<[name: string, read: (body: Uint8Array<ArrayBuffer>, turns: Turns) => Promise<unknown>]>([
    ['of a change', (body, turns) => readJsonObject(request(URL, { body }), body.length, turns)],
    ['of a completion', (body, turns) => readCompletion(body, undefined, turns)],
    ['of a callback', (body, turns) => callbackOutput(body, 'application/json', turns)],
    ['of a callback without a type', (body, turns) => callbackOutput(body, undefined, turns)],
    ['of a callback that curl calls a form', (body, turns) => callbackOutput(body, FORM, turns)],
  ])('%s is parsed in a later turn than its parts are counted', async (_name, read) => {
    using counted = countText()
    let turns = 0
    const next = (): undefined => {
      if (counted.characters === 0) turns += 1
    }
    await expect(read(numbers(1_100_000), { next })).rejects.toMatchObject({ status: 413 })
    const before = turns
    turns = 0
    await read(numbers(50_000), { next })
    expect(turns).toBe(before + 1)
  })
})
