import { describe, expect, it } from 'vitest'
import { createHandler } from 'waitpoint/http'
import { createClient, type Client } from 'waitpoint/client'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { SECRET } from '../requests.ts'
import { rejection } from '../../support/body-task.ts'

const QUESTION = { message: 'Refund?', choices: ['yes', 'no'], approvers: ['ann'] }

async function onPage(
  body: (page: {
    readonly t: TestEngine
    readonly client: (accessToken?: string) => Client
  }) => Promise<void>,
): Promise<void> {
  await using t = await createTestEngine({ secretKey: SECRET, clock: { mode: 'manual' } })
  const fetch = createHandler(t.engine)
  const baseUrl = 'http://engine.test'
  await body({
    t,
    client: (accessToken = SECRET) => createClient({ baseUrl, accessToken, fetch, clock: t.clock }),
  })
}

describe('a token that a page follows', () => {
  it('shows its question, each change, and last who answered', () =>
    onPage(async ({ t, client }) => {
      const { id } = await t.engine.wait.createToken({ ...QUESTION, timeout: '1h' })
      const reader = client(await t.engine.createAccessToken({ read: { tokens: id } }))
      const states = reader.wait.subscribeToToken<string>(id)[Symbol.asyncIterator]()
      expect((await states.next()).value).toMatchObject({ id, status: 'WAITING', question: QUESTION })
      const reassigned = states.next()
      await t.engine.wait.reassignToken(id, ['bob'])
      expect((await reassigned).value).toMatchObject({ question: { ...QUESTION, approvers: ['bob'] } })
      const answered = states.next()
      const by = { id: 'bob', name: 'Bob' }
      await t.engine.wait.completeToken(id, 'yes', { by })
      expect((await answered).value).toMatchObject({
        status: 'COMPLETED',
        output: 'yes',
        answeredBy: { ...by, via: 'call' },
      })
      expect((await states.next()).done).toBe(true)
    }))

  it('says that it was withdrawn, by whom and why', () =>
    onPage(async ({ t, client }) => {
      const { id } = await t.engine.wait.createToken(QUESTION)
      const states = client().wait.subscribeToToken(id)[Symbol.asyncIterator]()
      await states.next()
      const ended = states.next()
      await t.engine.wait.withdrawToken(id, { reason: 'Paid', by: { id: 'ann' } })
      expect((await ended).value).toMatchObject({
        status: 'TIMED_OUT',
        withdrawn: { id: 'ann', reason: 'Paid' },
      })
      await states.return?.()
    }))

  it('is refused to one who may not read it, and for one that does not exist', () =>
    onPage(async ({ t, client }) => {
      const [{ id }, other] = [await t.engine.wait.createToken(), await t.engine.wait.createToken()]
      const reader = client(await t.engine.createAccessToken({ read: { tokens: other.id } }))
      const followed = (each: Client, token: string): Promise<unknown> =>
        rejection(each.wait.subscribeToToken(token)[Symbol.asyncIterator]().next())
      expect(await followed(reader, id)).toMatchObject({ status: 403 })
      expect(await followed(client(), 'waitpoint_none')).toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
    }))

  it('leaves nothing behind when its page goes away', () =>
    onPage(async ({ t, client }) => {
      const { id } = await t.engine.wait.createToken()
      const controller = new AbortController()
      const states = client().wait.subscribeToToken(id, { signal: controller.signal })[Symbol.asyncIterator]()
      await states.next()
      const next = states.next()
      controller.abort(new Error('gone'))
      expect(await rejection(next)).toMatchObject({ message: 'gone' })
    }))
})
