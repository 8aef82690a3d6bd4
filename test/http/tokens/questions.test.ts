import { describe, expect, it } from 'vitest'
import { createHandler, type Handler } from 'waitpoint/http'
import type { Engine } from 'waitpoint'
import { ask, completion, json, stillEngine } from '../requests.ts'

const QUESTION = {
  message: 'Refund?',
  schema: { type: 'object', required: ['ok'], properties: { ok: { type: 'boolean' } } },
  data: { order: 48_213 },
  approvers: ['ann', 'role:lead'],
  onTimeoutText: 'The refund is rejected.',
}
const TOKENS = '/api/v1/waitpoints/tokens'
const CHOICES = ['yes', 'no']
const HOSTED = { headers: { 'trigger-version': '4.8.3' } }

async function onBench(body: (bench: { engine: Engine; handler: Handler }) => Promise<void>): Promise<void> {
  await using t = await stillEngine()
  await body({ engine: t.engine, handler: createHandler(t.engine) })
}

async function made(handler: Handler, question: object): Promise<string> {
  const { status, body } = await ask(handler, `POST ${TOKENS}`, { body: question })
  expect(status).toBe(200)
  return (body as { readonly id: string }).id
}

describe('a question over HTTP', () => {
  it('is made, and shown by retrieve and list, and not to the published client', () =>
    onBench(async ({ handler }) => {
      const id = await made(handler, QUESTION)
      const shown = async (parts: object): Promise<unknown[]> => {
        const one = await ask(handler, `GET ${TOKENS}/${id}`, parts)
        const list = await ask(handler, `GET ${TOKENS}`, parts)
        return [one.body, ...(list.body as { readonly data: readonly unknown[] }).data]
      }
      for (const each of await shown({})) expect(each).toMatchObject({ id, question: QUESTION })
      for (const each of await shown(HOSTED)) expect(each).not.toHaveProperty('question')
    }))

  it.each<[what: string, question: object, error: RegExp]>([
    ['a message that is no text', { message: 7 }, /message/],
    ['a schema that is none', { schema: 'string' }, /schema/],
    ['a pattern that refers back', { schema: { type: 'string', pattern: '(a)\\1' } }, /schema/],
    ['choices beside a schema', { schema: {}, choices: CHOICES }, /choices/],
    ['a choice that is there twice', { choices: ['a', 'a'] }, /choices/],
    ['no approvers at all', { approvers: [] }, /approvers/],
    ['an option that there is none of', { question: 'Refund?' }, /question/],
  ])('is refused with %s', (_what, question, error) =>
    onBench(async ({ engine, handler }) => {
      const { status, body } = await ask(handler, `POST ${TOKENS}`, { body: question })
      expect([status, body]).toEqual([400, { error: expect.stringMatching(error) as string }])
      expect((await engine.wait.listTokens()).data).toEqual([])
    }),
  )

  it('takes no answer that does not fit, and says what is wrong where', () =>
    onBench(async ({ engine, handler }) => {
      const { approvers: _approvers, ...question } = QUESTION
      const id = await made(handler, question)
      const { url } = await engine.wait.retrieveToken(id)
      for (const request of [completion(id, { output: { ok: 1 } }), json(url, { ok: 1 })]) {
        const response = await handler(request)
        expect(response.status).toBe(422)
        expect(await response.json()).toEqual({
          error: expect.stringContaining('does not fit') as string,
          code: 'ERR_OUTPUT_INVALID',
          issues: [{ path: ['ok'], message: expect.any(String) as string }],
        })
      }
      expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
    }))

  it('takes no text that its pattern takes too long for, and says which', () =>
    onBench(async ({ engine, handler }) => {
      const schema = { type: 'object', properties: { note: { type: 'string', pattern: '^(a+)+$' } } }
      const id = await made(handler, { schema })
      const response = await handler(completion(id, { output: { note: 'a'.repeat(400_000) } }))
      expect(response.status).toBe(422)
      expect(await response.json()).toMatchObject({
        code: 'ERR_OUTPUT_INVALID',
        issues: [{ path: ['note'], message: 'is too large to be checked' }],
      })
      expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
      expect((await handler(completion(id, { output: { note: 'a'.repeat(4_000) } }))).status).toBe(200)
    }))

  it('with approvers takes an answer of none, and none by its URL', () =>
    onBench(async ({ engine, handler }) => {
      const id = await made(handler, QUESTION)
      const { url } = await engine.wait.retrieveToken(id)
      for (const request of [completion(id, { output: { ok: true } }), json(url, { ok: true })]) {
        const response = await handler(request)
        expect([response.status, await response.json()]).toEqual([
          403,
          { error: expect.stringContaining('not one of its approvers') as string, code: 'ERR_NOT_APPROVER' },
        ])
      }
      expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
    }))

  it('tells the loser who won, and not the published client', () =>
    onBench(async ({ engine, handler }) => {
      const { id, url } = await engine.wait.createToken({ choices: CHOICES })
      await engine.wait.completeToken(id, 'yes', { by: { id: 'ann' } })
      const lost = { success: false, status: 'COMPLETED', by: { id: 'ann', via: 'call' } }
      const large = 'no'.padEnd(20_000)
      for (const request of [completion(id, { output: 'no' }), json(url, 'no'), json(url, large)])
        expect(await (await handler(request)).json()).toEqual(lost)
      const hosted = await handler(completion(id, { output: 'no' }, HOSTED.headers))
      expect(await hosted.json()).toEqual({ success: true, status: 'COMPLETED' })
    }))

  it('takes from a secret key who answers', () =>
    onBench(async ({ engine, handler }) => {
      for (const [by, answeredBy] of [
        [
          { id: 'ann', name: 'Ann' },
          { id: 'ann', name: 'Ann', via: 'http' },
        ],
        [
          { id: 'bo', roles: ['role:lead'], via: 'slack' },
          { id: 'bo', via: 'slack' },
        ],
      ]) {
        const id = await made(handler, { choices: CHOICES, approvers: ['ann', 'role:lead'] })
        const body: unknown = await (await handler(completion(id, { output: 'yes', by }))).json()
        expect(body).toEqual({ success: true, status: 'COMPLETED', by: answeredBy })
        expect((await engine.wait.retrieveToken(id)).answeredBy).toEqual(answeredBy)
      }
    }))

  it.each([7, {}, { id: 7 }, { id: '' }, { id: 'x'.repeat(201) }, { id: 'ann', role: 'lead' }])(
    'refuses %j as the one who answers',
    (by) =>
      onBench(async ({ engine, handler }) => {
        const id = await made(handler, { choices: CHOICES })
        expect((await handler(completion(id, { output: 'yes', by }))).status).toBe(400)
        expect((await engine.wait.retrieveToken(id)).status).toBe('WAITING')
      }),
  )

  it('takes from an access token nothing but who it was made for', () =>
    onBench(async ({ engine, handler }) => {
      const id = await made(handler, { choices: CHOICES, approvers: ['role:lead'] })
      const answer = async (credential: string, body: object): Promise<unknown[]> => {
        const asked = { credential, body: { output: 'yes', ...body } }
        const { status, body: told } = await ask(handler, `POST ${TOKENS}/${id}/complete`, asked)
        return [status, told]
      }
      const bo = { id: 'bo', name: 'Bo' }
      const plain = engine.createAccessToken({ complete: id })
      const other = engine.createAccessToken({ complete: id }, { by: bo })
      const own = engine.createAccessToken({ complete: id }, { by: { ...bo, roles: ['role:lead'] } })
      for (const credential of await Promise.all([plain, other, own])) {
        const [status, told] = await answer(credential, { by: { id: 'ann', roles: ['role:lead'] } })
        expect([status, told]).toEqual([400, { error: expect.stringContaining('secret keys') as string }])
      }
      expect((await answer(await plain, {}))[0]).toBe(403)
      expect((await answer(await other, {}))[0]).toBe(403)
      expect(await answer(await own, {})).toEqual([
        200,
        { success: true, status: 'COMPLETED', by: { ...bo, via: 'http' } },
      ])
    }))

  it.each([{}, { id: '' }, { id: 'ann', via: 'slack' }, { id: 'ann', roles: 'lead' }])(
    'has no access token of %j',
    (by) =>
      onBench(async ({ engine }) => {
        const made = async (): Promise<string> =>
          engine.createAccessToken({ complete: 'waitpoint_1' }, { by: by as { id: string } })
        await expect(made()).rejects.toThrow(/Cannot|must/)
      }),
  )

  it.each([
    ['a question', { choices: CHOICES }, { via: 'url' }, { via: 'http' }],
    ['a plain token, which says nothing of it', {}, undefined, undefined],
  ])('knows of an answer by the URL and by HTTP the way alone: of %s', (_, question, byUrl, byHttp) =>
    onBench(async ({ engine, handler }) => {
      const one = await engine.wait.createToken(question)
      const two = await engine.wait.createToken(question)
      await handler(json(one.url, 'yes'))
      await handler(completion(two.id, { output: 'yes' }))
      expect((await engine.wait.retrieveToken(one)).answeredBy).toEqual(byUrl)
      expect((await engine.wait.retrieveToken(two)).answeredBy).toEqual(byHttp)
    }),
  )
})
