import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createClient } from 'waitpoint/client'
import { createHandler } from 'waitpoint/http'
import { rejection } from '../support/body-task.ts'
import { reachedEngine } from './reached-engine.ts'
import { json, StubService } from './stub-service.ts'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })

describe('auth.createPublicToken', () => {
  it('gets an access token for a run that is there, for as long as it says', async () => {
    await using t = await reachedEngine({ tasks: [echo], clock: { mode: 'manual' } })
    const mine = await t.engine.trigger(echo, 1, { delay: '3h' })
    const other = await t.engine.trigger(echo, 2, { delay: '3h' })
    const accessToken = await t.client.auth.createPublicToken({
      scopes: { read: { runs: [mine.id] } },
      expirationTime: '1h',
    })
    const { clock } = t
    const page = createClient({
      baseUrl: 'http://engine.test',
      accessToken,
      fetch: createHandler(t.engine),
      clock,
    })
    expect((await page.runs.retrieve(mine)).payload).toBe(1)
    expect(await rejection(page.runs.retrieve(other))).toMatchObject({ code: 'ERR_API_UNAUTHORIZED' })
    await clock.advance('1h')
    expect(await rejection(page.runs.retrieve(mine))).toMatchObject({ code: 'ERR_API_UNAUTHORIZED' })
    for (const { id } of [mine, other]) await t.engine.runs.cancel(id)
  })

  it('sends scopes as the hosted service has them', async () => {
    const stub = new StubService([json({ token: 'a.b.c' })])
    const asked = stub.client.auth.createPublicToken({
      scopes: {
        read: { runs: true, tags: 'a', waitpoints: [] },
        write: { waitpoints: ['w1', 'w2'] },
        trigger: { tasks: 't' },
      },
      expirationTime: new Date(1_999),
      realtime: { skipColumns: ['payload'] },
    })
    expect(await asked).toBe('a.b.c')
    expect(stub.paths).toEqual(['POST /base/api/v1/auth/public-tokens'])
    expect(JSON.parse(stub.bodies[0] ?? '')).toEqual({
      scopes: ['read:runs', 'read:tags:a', 'write:waitpoints:w1', 'write:waitpoints:w2', 'trigger:tasks:t'],
      expirationTime: 1,
      realtime: { skipColumns: ['payload'] },
    })
  })

  it.each([
    [{}, 'scopes'],
    [{ scopes: {} }, 'nothing'],
    [{ scopes: { read: {} } }, 'nothing'],
    [{ scopes: { reads: { runs: 'r' } } }, '"reads"'],
    [{ scopes: { read: { run: 'r' } } }, '"run"'],
    [{ scopes: { read: { runs: '' } } }, 'read:runs'],
    [{ scopes: { read: { runs: 'r' } }, expiresIn: '1h' }, '"expiresIn"'],
    [{ scopes: { read: { runs: 'r' } }, expirationTime: 'soon' }, 'expirationTime'],
  ])('refuses what cannot be asked, without a request: %j', async (options, message) => {
    const stub = new StubService([])
    await expect(stub.client.auth.createPublicToken(options as never)).rejects.toThrow(message)
    expect(stub.asked).toEqual([])
  })
})
