import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createTestEngine } from 'waitpoint/testing'
import { serve } from 'waitpoint/http'
import { collect, numbers } from '../support/streams.ts'
import { client, SECRET, served } from './published-client.ts'

const { wait } = client

/** All of it is over loopback; only a request that is sent again after an error takes longer than a second. */
const TEST_MS = 300_000

describe('the published client’s wait', { timeout: TEST_MS }, () => {
  it('creates a token, and gets the same one for the same idempotency key', async () => {
    await using app = await served()
    const first = await wait.createToken({ idempotencyKey: 'k1', timeout: '1h', tags: ['review'] })
    expect(first).toMatchObject({ id: expect.stringMatching(/^waitpoint_/) as string, isCached: false })
    expect(first.url).toContain(`${app.server.url}/api/v1/waitpoints/tokens/${first.id}/callback/`)
    expect(await wait.createToken({ idempotencyKey: 'k1' })).toMatchObject({
      id: first.id,
      url: first.url,
      isCached: true,
    })
    expect((await wait.createToken()).id).not.toBe(first.id)
  })

  it('retrieves a token with its instants', async () => {
    await using _app = await served()
    const timeoutAt = new Date('2100-01-01T00:00:00Z')
    const before = Date.now()
    const { id, url } = await wait.createToken({
      timeout: timeoutAt,
      idempotencyKey: 'k1',
      idempotencyKeyTTL: '1d',
      tags: ['b', 'a'],
    })
    const token = await wait.retrieveToken(id)
    expect(token).toMatchObject({ id, url, status: 'WAITING', timeoutAt, idempotencyKey: 'k1' })
    expect([...token.tags].sort()).toEqual(['a', 'b'])
    expect(token.createdAt.getTime()).toBeGreaterThanOrEqual(before)
    const { createdAt, idempotencyKeyExpiresAt, ...rest } = token
    expect(idempotencyKeyExpiresAt).toEqual(new Date(createdAt.getTime() + 86_400_000))
    expect([rest['completedAt'], rest.output, rest.error]).toEqual([undefined, undefined, undefined])
  })

  it('completes a token with any JSON value, and retrieves the same', async () => {
    await using app = await served()
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), async (value) => {
        // What JSON makes of it: it has no negative zero.
        const output: unknown = JSON.parse(JSON.stringify(value))
        const { id } = await wait.createToken()
        expect(await wait.completeToken(id, value)).toEqual({ success: true })
        expect((await wait.retrieveToken(id)).output).toEqual(output)
        expect((await app.engine.wait.retrieveToken(id)).output).toEqual(output)
      }),
      { numRuns: 50, interruptAfterTimeLimit: TEST_MS / 2 },
    )
  })

  it('completes a token once: the second time succeeds too, but changes nothing', async () => {
    await using _app = await served()
    const token = await wait.createToken()
    expect(await wait.completeToken(token, { approved: true })).toEqual({ success: true })
    const { completedAt } = await wait.retrieveToken(token)
    expect(await wait.completeToken(token, { approved: false })).toEqual({ success: true })
    expect(await wait.retrieveToken(token)).toMatchObject({
      status: 'COMPLETED',
      output: { approved: true },
      completedAt,
    })
  })

  it('completes a token with nothing', async () => {
    await using _app = await served()
    const token = await wait.createToken()
    expect(await wait.completeToken(token, undefined)).toEqual({ success: true })
    const { status, output } = await wait.retrieveToken(token)
    expect([status, output]).toEqual(['COMPLETED', undefined])
  })

  it('walks all tokens over several pages, newest first', async () => {
    await using _app = await served()
    const ids: string[] = []
    for (const _ of numbers(7)) ids.unshift((await wait.createToken()).id)
    const all = await collect(wait.listTokens({ limit: 3 }))
    expect(all.map(({ id }) => id)).toEqual(ids)
    expect(all[0]).not.toHaveProperty('output')

    const first = await wait.listTokens({ limit: 3 })
    const second = await first.getNextPage()
    const third = await second.getNextPage()
    expect([first, second, third].map((page) => page.data.map(({ id }) => id))).toEqual([
      ids.slice(0, 3),
      ids.slice(3, 6),
      ids.slice(6),
    ])
    expect([first.hasPreviousPage(), third.hasNextPage()]).toEqual([false, false])
    expect((await third.getPreviousPage()).data).toEqual(second.data)
  })

  it('lists the tokens of a status, tag, key or time', async () => {
    await using _app = await served()
    const done = await wait.createToken({ tags: ['a'] })
    const open = await wait.createToken({ tags: ['b', 'c'], idempotencyKey: 'k1' })
    await wait.completeToken(done, null)
    const listed = async (params: Readonly<Record<string, unknown>>): Promise<string[]> =>
      (await collect(wait.listTokens(params))).map(({ id }) => id)
    expect(await listed({ status: 'COMPLETED' })).toEqual([done.id])
    expect(await listed({ status: ['WAITING', 'TIMED_OUT'] })).toEqual([open.id])
    expect(await listed({ tags: ['a', 'c'] })).toEqual([open.id, done.id])
    expect(await listed({ tags: 'b' })).toEqual([open.id])
    expect(await listed({ idempotencyKey: 'k1' })).toEqual([open.id])
    expect(await listed({ period: '1h' })).toEqual([open.id, done.id])
    expect(await listed({ from: new Date(Date.now() + 60_000) })).toEqual([])
    expect(await listed({ to: Date.now() + 60_000 })).toEqual([open.id, done.id])
  })

  it('tells of a token that timed out by its error', async () => {
    await using t = await createTestEngine({ secretKey: SECRET, clock: { mode: 'manual' } })
    await using server = await serve(t.engine)
    client.configure({ baseURL: server.url, accessToken: SECRET })
    const token = await wait.createToken({ timeout: '10m' })
    await t.clock.advance('10m')
    expect(await wait.completeToken(token, 'late')).toEqual({ success: true })
    const { status, output, error, timeoutAt, completedAt } = await wait.retrieveToken(token)
    expect([status, output, completedAt]).toEqual(['TIMED_OUT', undefined, timeoutAt])
    expect(error?.name).toBe('WaitpointTimeoutError')
    expect(error?.message).toContain('timed out')
  })

  it('reads and completes a token that has a question, of which it is told nothing', async () => {
    await using app = await served()
    const { id } = await app.engine.wait.createToken({
      message: 'Refund?',
      choices: ['yes', 'no'],
      data: { order: 1 },
      onTimeoutText: 'No refund.',
    })
    const listed = await collect(wait.listTokens())
    for (const token of [await wait.retrieveToken(id), ...listed]) {
      expect(token).toMatchObject({ id, status: 'WAITING' })
      for (const name of ['question', 'answeredBy', 'message', 'link']) expect(token).not.toHaveProperty(name)
    }
    await expect(wait.completeToken(id, 'maybe')).rejects.toThrow('does not fit')
    expect((await wait.retrieveToken(id)).status).toBe('WAITING')
    expect(await wait.completeToken(id, 'yes')).toEqual({ success: true })
    expect(await wait.completeToken(id, 'no')).toEqual({ success: true })
    const { status, output, answeredBy } = (await wait.retrieveToken(id)) as {
      readonly [name: string]: unknown
    }
    expect([status, output, answeredBy]).toEqual(['COMPLETED', 'yes', undefined])
    expect((await app.engine.wait.retrieveToken(id)).answeredBy).toEqual({ via: 'http' })
  })

  it('waits for a token only inside a task of its own service', async () => {
    await using _app = await served()
    const token = await wait.createToken()
    await expect(wait.forToken(token)).rejects.toThrow(
      'wait.forToken can only be used from inside a task.run()',
    )
  })
})
