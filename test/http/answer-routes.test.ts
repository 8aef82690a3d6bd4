import { describe, expect, it } from 'vitest'
import type { Engine, LinkedToken } from 'waitpoint'
import { createHandler, type Handler, type HandlerOptions } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { withOperations } from '../../src/testing/storages/wrapped.ts'
import { projectStorage } from '../support/abandon.ts'
import { json, request, stillEngine } from './requests.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const QUESTION = {
  message: 'Refund <b>€ 184</b>?',
  schema: {
    type: 'object',
    required: ['note'],
    properties: { note: { type: 'string', maxLength: 5 } },
  },
  data: { order: '4-8213' },
  timeout: '2d',
  onTimeoutText: 'The refund is rejected.',
}
const ANN = { id: 'ann', name: 'Ann', roles: ['role:lead'] }

interface Bench {
  readonly engine: Engine
  readonly handler: Handler
  readonly t: TestEngine
}

async function onBench(body: (bench: Bench) => Promise<void>, options?: HandlerOptions): Promise<void> {
  await using t = await stillEngine({ baseUrl: 'http://engine.test' })
  await body({ t, engine: t.engine, handler: createHandler(t.engine, options) })
}

async function page(response: Promise<Response>): Promise<[status: number, text: string]> {
  const { status } = await response
  return [status, await (await response).text()]
}

function posted(link: string, fields: Readonly<Record<string, string>>): Request {
  return request(link, { headers: FORM, body: new URLSearchParams({ form: '1', ...fields }).toString() })
}

/** The fields of an answer to the question above. */
const note = (text: string): Readonly<Record<string, string>> => ({ 'answer.0': text })

describe('the link of a token', () => {
  it('shows the question and a form, and changes nothing, however often it is fetched', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      for (const method of ['GET', 'HEAD', 'GET']) {
        const response = await handler(request(token.link, { method }))
        expect(response.status).toBe(200)
        expect(Object.fromEntries(response.headers)).toMatchObject({
          'content-type': 'text/html; charset=utf-8',
          'referrer-policy': 'no-referrer',
          'cache-control': 'no-store',
          'x-frame-options': 'DENY',
          'content-security-policy': expect.stringContaining(`frame-ancestors 'none'`) as string,
        })
        const text = await response.text()
        if (method === 'GET')
          for (const part of ['Refund &lt;b&gt;', '4-8213', 'The refund is rejected.', 'method="post"'])
            expect(text).toContain(part)
        else expect(text).toBe('')
      }
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }))

  it.each([
    ['is nested too deeply', '['.repeat(3_000) + ']'.repeat(3_000), 422],
    ['is too large', 'a'.repeat(200_000), 413],
  ])('tells a person on its page that an answer %s', (_what, answer, status) =>
    onBench(
      async ({ engine, handler }) => {
        const token = await engine.wait.createToken({ message: 'How many?', timeout: '2d' })
        const body = new URLSearchParams({ form: '1', answer }).toString()
        const response = await handler(request(token.link, { headers: FORM, body }))
        expect([response.status, response.headers.get('content-type')]).toEqual([
          status,
          'text/html; charset=utf-8',
        ])
        expect(await response.text()).toMatch(/How many\?[^]*Your answer is not sent yet[^]*(?:Cannot|large)/)
        expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
      },
      { limits: { otherBytes: 100_000 } },
    ),
  )

  it('takes one answer, says who won, and shows it afterwards', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      const link = token.linkFor(ANN)
      const [status, text] = await page(handler(posted(link, note('fine'))))
      expect([status, text]).toEqual([200, expect.stringContaining('Thank you') as string])
      const { output, answeredBy } = await engine.wait.retrieveToken(token)
      expect([output, answeredBy]).toEqual([{ note: 'fine' }, { id: 'ann', name: 'Ann', via: 'link' }])
      const [lost, told] = await page(handler(posted(token.link, note('no'))))
      expect([lost, told]).toEqual([200, expect.stringContaining('answered before you') as string])
      expect(told).toContain('by Ann')
      const [seen, shown] = await page(handler(request(token.link, { method: 'GET' })))
      expect([seen, shown]).toEqual([200, expect.stringContaining('This is answered') as string])
      expect(shown).toContain('fine')
      expect((await engine.wait.retrieveToken(token)).output).toEqual({ note: 'fine' })
    }))

  it('knows without a person the way alone', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      await handler(posted(token.link, note('fine')))
      expect((await engine.wait.retrieveToken(token)).answeredBy).toEqual({ via: 'link' })
    }))

  it.each<[what: string, fields: Readonly<Record<string, string>>, said: string]>([
    ['does not fit', note('too long'), 'too long'],
    ['misses something', note(''), 'Please fill this in.'],
  ])('shows the form again with an answer that %s', (_what, fields, said) =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      const [status, text] = await page(handler(posted(token.link, fields)))
      expect([status, text]).toEqual([422, expect.stringContaining('is not sent yet') as string])
      expect(text).toContain(said)
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }),
  )

  it('takes no answer that comes from no form', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      for (const sent of [json(token.link, { note: 'fine' }), request(token.link)])
        expect((await page(handler(sent)))[0]).toBe(422)
      const large = posted(token.link, note('x'.repeat(70_000)))
      expect((await handler(large)).status).toBe(413)
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }))

  it('shows after the deadline that it is over, and takes nothing', () =>
    onBench(async ({ engine, handler, t }) => {
      const token = await engine.wait.createToken(QUESTION)
      await t.clock.advance('2d')
      for (const sent of [request(token.link, { method: 'GET' }), posted(token.link, note('fine'))]) {
        const [status, text] = await page(handler(sent))
        expect([status, text]).toEqual([
          200,
          expect.stringContaining('The time to answer has ended') as string,
        ])
      }
      expect((await engine.wait.retrieveToken(token)).status).toBe('TIMED_OUT')
    }))

  it('is too late with what does not fit, too, if the wait ended while its form was arriving', () =>
    onBench(async ({ engine, handler }) => {
      for (const fields of [note('far too long'), note('fine'), { more: '0' }]) {
        const token = await engine.wait.createToken(QUESTION)
        const text = new URLSearchParams({ form: '1', ...fields }).toString()
        const { writable, readable } = new TransformStream<Uint8Array, Uint8Array>()
        const sent: RequestInit = { method: 'POST', headers: FORM, body: readable, duplex: 'half' }
        const answered = page(handler(new Request(token.link, sent)))
        const writer = writable.getWriter()
        await writer.write(new TextEncoder().encode(text.slice(0, 4)))
        await engine.wait.withdrawToken(token)
        await writer.write(new TextEncoder().encode(text.slice(4)))
        await writer.close()
        const [status, shown] = await answered
        expect([status, shown]).toEqual([200, expect.stringContaining('withdrawn') as string])
        expect(shown).not.toContain('<form')
      }
    }))

  it('lets only approvers answer', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken({ ...QUESTION, approvers: ['role:lead'] })
      for (const link of [token.link, token.linkFor({ id: 'bo' })])
        for (const sent of [request(link, { method: 'GET' }), posted(link, note('fine'))]) {
          const [status, text] = await page(handler(sent))
          expect([status, text]).toEqual([403, expect.stringContaining('You cannot answer here') as string])
          expect(text).not.toContain('<form')
        }
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
      await handler(posted(token.linkFor(ANN), note('fine')))
      expect((await engine.wait.retrieveToken(token)).answeredBy).toMatchObject({ id: 'ann' })
    }))

  it('is a page also for a reader who is no approver any more when the answer arrives', async () => {
    let isStale = false
    const project = projectStorage()
    const storage = withOperations(project, {
      'tokens.get': async (...args) => {
        const read = await project.tokens.get(...args)
        if (read === undefined || !isStale) return read
        isStale = false
        return { ...read, record: { ...read.record, questionJson: JSON.stringify({ message: 'Refund?' }) } }
      },
    })
    await using t = await stillEngine({ baseUrl: 'http://engine.test', storage })
    const handler = createHandler(t.engine)
    const token = await t.engine.wait.createToken({ ...QUESTION, approvers: ['role:lead'] })
    isStale = true
    const sent = request(token.link, { headers: FORM, body: 'form=1&answer=%22fine%22' })
    expect(await page(handler(sent))).toEqual([403, expect.stringContaining('You cannot answer here')])
    expect((await t.engine.wait.retrieveToken(token)).status).toBe('WAITING')
  })

  it('says that the question was withdrawn, by whom and why, and takes nothing', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      await engine.wait.withdrawToken(token, { reason: 'The order was <canceled>.', by: { id: 'bo' } })
      for (const sent of [request(token.link, { method: 'GET' }), posted(token.linkFor(ANN), note('fine'))]) {
        const [status, text] = await page(handler(sent))
        expect([status, text.includes('<form')]).toEqual([200, false])
        expect(text).toContain('The order was &lt;canceled&gt;.')
        expect(text).toMatch(/\bbo\b/)
      }
      expect((await engine.wait.retrieveToken(token)).output).toBeUndefined()
    }))

  it('shows the outcome for as long as the token is kept, and is unknown then', async () => {
    const retention = { maxAge: '3d' } as const
    await using t = await stillEngine({ baseUrl: 'http://engine.test', retention })
    const handler = createHandler(t.engine)
    const token = await t.engine.wait.createToken(QUESTION)
    await t.engine.wait.completeToken(token, { note: 'fine' }, { by: ANN })
    await t.clock.advance('70h')
    expect(await page(handler(request(token.link, { method: 'GET' })))).toEqual([
      200,
      expect.stringContaining('Ann'),
    ])
    await t.clock.advance('2d')
    await expect(t.engine.wait.retrieveToken(token)).rejects.toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
    for (const sent of [request(token.link, { method: 'GET' }), posted(token.link, note('late'))]) {
      const [status, text] = await page(handler(sent))
      expect([status, text.includes('Refund')]).toEqual([404, false])
    }
  })

  it('answers until another deadline, if the token was given one', () =>
    onBench(async ({ engine, handler, t }) => {
      const token = await engine.wait.createToken(QUESTION)
      await engine.wait.extendToken(token, '5d')
      await t.clock.advance('4d')
      const [status, text] = await page(handler(posted(token.linkFor(ANN), note('fine'))))
      expect([status, text]).toEqual([200, expect.stringContaining('Thank you')])
      const early = await engine.wait.createToken(QUESTION)
      await engine.wait.extendToken(early, '1h')
      await t.clock.advance('1h')
      expect((await page(handler(posted(early.link, note('fine')))))[1]).toContain('has ended')
    }))

  it('is of use to approvers alone when there are others, and shows the outcome to all', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken({ ...QUESTION, approvers: ['ann'] })
      const bo = { id: 'bo', roles: ['role:lead'] }
      await engine.wait.reassignToken(token, ['role:lead'])
      for (const link of [token.link, token.linkFor({ id: 'ann' })]) {
        expect((await page(handler(request(link, { method: 'GET' }))))[0]).toBe(403)
        expect((await page(handler(posted(link, note('fine')))))[0]).toBe(403)
      }
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
      expect((await page(handler(posted(token.linkFor(bo), note('fine')))))[1]).toContain('Thank you')
      const [status, text] = await page(handler(request(token.linkFor({ id: 'ann' }), { method: 'GET' })))
      expect([status, text]).toEqual([200, expect.stringMatching(/\bbo\b/)])
    }))

  it('is nothing with another signature, and does not say whether there is such a token', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken(QUESTION)
      const other = await engine.wait.createToken(QUESTION)
      const { link, url, id } = token
      const proof = (of: LinkedToken | string): string => (typeof of === 'string' ? of : of.link).slice(-43)
      const ann = Buffer.from(JSON.stringify(ANN)).toString('base64url')
      const wrong = [
        link.slice(0, -1),
        `${link}x`,
        link.replace(id, 'waitpoint_1'),
        `http://engine.test/answer/${id}/${proof(other)}`,
        `http://engine.test/answer/${id}/${url.slice(-64)}`,
        `http://engine.test/answer/${id}/${ann}.${proof(token)}`,
        `http://engine.test/answer/${id}/${proof(token.linkFor(ANN))}`,
        `http://engine.test/answer/${id}/.${proof(token)}`,
        `http://engine.test/answer/%00/${proof(token)}`,
      ]
      const pages = new Set<string>()
      for (const address of wrong)
        for (const sent of [request(address, { method: 'GET' }), posted(address, note('fine'))]) {
          const [status, text] = await page(handler(sent))
          expect([address, status]).toEqual([address, 404])
          pages.add(text)
        }
      expect(pages.size).toBe(1)
      const callback = json(url.replace(/callback.*/, `callback/${proof(token)}`), { note: 'fine' })
      expect((await handler(callback)).status).toBe(401)
      expect((await engine.wait.retrieveToken(token)).status).toBe('WAITING')
    }))

  it('asks for JSON where nothing says what an answer is', () =>
    onBench(async ({ engine, handler }) => {
      const token = await engine.wait.createToken()
      expect((await page(handler(request(token.link, { method: 'GET' }))))[1]).toContain('A task waits for')
      await handler(posted(token.link, { answer: '{"ok":true}' }))
      expect((await engine.wait.retrieveToken(token)).output).toEqual({ ok: true })
    }))

  it('speaks the language of the application', () =>
    onBench(
      async ({ engine, handler }) => {
        const token = await engine.wait.createToken(QUESTION)
        const [, text] = await page(handler(request(token.link, { method: 'GET' })))
        expect(text).toContain('<html lang="de"')
        expect(text).toContain('Absenden')
        expect(text).toContain('Fjord')
      },
      { answerPage: { lang: 'de', texts: { send: 'Absenden' }, brand: { name: 'Fjord' } } },
    ))

  it('shows a page of the application instead, which no other may frame', () =>
    onBench(
      async ({ engine, handler }) => {
        const token = await engine.wait.createToken(QUESTION)
        const response = await handler(request(token.linkFor(ANN), { method: 'GET' }))
        expect(response.headers.get('content-security-policy')).toContain(`frame-ancestors 'none'`)
        const text = await response.text()
        expect(text).toMatch(/^own WAITING looks Ann <form/)
        const [, won] = await page(handler(posted(token.linkFor(ANN), note('fine'))))
        expect(won).toBe('own COMPLETED won Ann none')
      },
      {
        renderQuestion: ({ token, reader, person, form = 'none' }) =>
          `own ${token.status} ${reader} ${person?.name ?? ''} ${form.replace(/^[^]*?<form/, '<form')}`,
      },
    ))

  it.each<[what: string, options: object]>([
    ['a text that is none of the page', { answerPage: { language: 'de' } }],
    ['a color that is none', { answerPage: { brand: { accent: 'red' } } }],
    ['an image from elsewhere', { answerPage: { brand: { logoUrl: 'https://example.com/a.png' } } }],
    ['a time zone that is none', { answerPage: { timeZone: 'Mars' } }],
    ['a language that is none', { answerPage: { lang: '?' } }],
    ['a page that is no function', { renderQuestion: 'page' }],
  ])('cannot be had with %s', (_what, options) =>
    onBench(({ engine }) => {
      expect(() => createHandler(engine, options)).toThrow()
      return Promise.resolve()
    }),
  )

  it.each([
    undefined,
    'ann',
    {},
    { id: '' },
    { id: 'ann', role: 'lead' },
    { id: 'ann', roles: 5 },
    { id: 'ann', roles: [5] },
    { id: 'ann', name: 5 },
    { id: 'x'.repeat(201) },
    { id: 'ann', name: 'x'.repeat(201) },
    { id: 'ann', roles: ['x'.repeat(201)] },
  ])('is not made for one who could not answer by it (%#)', (person) =>
    onBench(async ({ engine }) => {
      const token = await engine.wait.createToken(QUESTION)
      expect(() => token.linkFor(person as { id: string })).toThrow()
    }),
  )
})
