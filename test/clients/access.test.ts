import { describe, expect, it } from 'vitest'
import { metadata, task } from 'waitpoint'
import { collect, sourceOf } from '../support/streams.ts'
import { client, readUntil, SECRET, served, withAccess } from './published-client.ts'

const { auth, runs, streams, tasks, wait } = client

/** All of it is over loopback; only a request that is sent again after an error takes longer than a second. */
const TEST_MS = 300_000
const poll = { pollIntervalMs: 20 }

const echo = task({ id: 'echo', run: async (payload: unknown) => ({ echoed: payload ?? null }) })
const draft = task({
  id: 'draft',
  run: async () => {
    await metadata.stream('words', sourceOf('Dear', 'Ada'))
  },
})

describe('an access token in the published client', { timeout: TEST_MS }, () => {
  it('that came with a wait token completes that one and no other, and reads nothing', async () => {
    await using app = await served()
    const [mine, other] = [await wait.createToken(), await wait.createToken()]
    await withAccess(app, mine.publicAccessToken, async () => {
      await expect(wait.completeToken(other, 1)).rejects.toBeInstanceOf(client.PermissionDeniedError)
      await expect(wait.createToken()).rejects.toBeInstanceOf(client.ApiError)
      expect(await wait.completeToken(mine, 1)).toEqual({ success: true })
    })
    expect((await wait.retrieveToken(other)).status).toBe('WAITING')
    expect((await wait.retrieveToken(mine)).output).toBe(1)
  })

  it('that came with a triggered run reads that run and its streams, and no other', async () => {
    await using app = await served([draft])
    const [mine, other] = [await tasks.trigger('draft'), await tasks.trigger('draft')]
    for (const { id } of [mine, other]) await runs.poll(id, poll)
    await withAccess(app, mine.publicAccessToken, async () => {
      expect((await runs.retrieve(mine.id)).status).toBe('COMPLETED')
      expect(await collect(await streams.read(mine.id, 'words'))).toEqual(['Dear', 'Ada'])
      const subscription = runs.subscribeToRun(mine.id)
      expect(await readUntil(subscription, subscription, () => true)).toMatchObject([
        { id: mine.id, status: 'COMPLETED' },
      ])
      await expect(runs.retrieve(other.id)).rejects.toBeInstanceOf(client.PermissionDeniedError)
      await expect(runs.cancel(mine.id)).rejects.toBeInstanceOf(client.ApiError)
      await expect(tasks.trigger('draft')).rejects.toBeInstanceOf(client.PermissionDeniedError)
    })
  })

  it('of auth.createPublicToken does what it was created for', async () => {
    await using app = await served([echo])
    const [mine, other] = [await tasks.trigger('echo', 1), await tasks.trigger('echo', 2)]
    const [token, otherToken] = [await wait.createToken(), await wait.createToken()]
    const access = await auth.createPublicToken({
      scopes: { read: { runs: [mine.id] }, write: { waitpoints: token.id }, trigger: { tasks: 'echo' } },
      expirationTime: '1h',
    })
    await withAccess(app, access, async () => {
      expect((await runs.retrieve(mine.id)).id).toBe(mine.id)
      await expect(runs.retrieve(other.id)).rejects.toBeInstanceOf(client.PermissionDeniedError)
      expect(await wait.completeToken(token, 1)).toEqual({ success: true })
      await expect(wait.completeToken(otherToken, 1)).rejects.toBeInstanceOf(client.PermissionDeniedError)
      expect((await tasks.trigger('echo', 3)).id).toMatch(/^run_/)
    })
  })

  it('of auth.createTriggerPublicToken triggers its task once, and no other', async () => {
    await using app = await served([echo, draft])
    const access = await auth.createTriggerPublicToken('echo')
    await withAccess(app, access, async () => {
      await expect(tasks.trigger('draft')).rejects.toBeInstanceOf(client.PermissionDeniedError)
      expect((await tasks.trigger('echo', 1)).id).toMatch(/^run_/)
      await expect(tasks.trigger('echo', 2)).rejects.toBeInstanceOf(client.AuthenticationError)
    })
  })

  it('of auth.createPublicToken ends at its time', async () => {
    await using app = await served([echo])
    const { id } = await tasks.trigger('echo', 1)
    const access = await auth.createPublicToken({
      scopes: { read: { runs: id } },
      expirationTime: new Date(Date.now() - 60_000),
    })
    await withAccess(app, access, async () => {
      await expect(runs.retrieve(id)).rejects.toBeInstanceOf(client.AuthenticationError)
    })
  })
})

describe('what the published client throws', { timeout: TEST_MS }, () => {
  /** The class and the text, as a user of the client meets them. */
  async function thrown(work: Promise<unknown>): Promise<readonly [unknown, string]> {
    const error: unknown = await work.then(
      () => new Error('Nothing was thrown'),
      (reason: unknown) => reason,
    )
    const { constructor, message } = error as Error
    return [constructor, message]
  }

  it('for a key that is not the engine’s', async () => {
    await using app = await served()
    for (const key of ['tr_dev_yyyyyyyy', `${SECRET} `.repeat(2).trim()]) {
      const work = withAccess(app, key, () => wait.createToken())
      expect(await thrown(work)).toEqual([client.AuthenticationError, 'Invalid API key'])
    }
    const work = withAccess(app, 'a.b.c', () => wait.createToken())
    expect(await thrown(work)).toEqual([client.AuthenticationError, 'Public Access Token is invalid'])
  })

  it('for an access token that does not allow it', async () => {
    await using app = await served([echo])
    const { publicAccessToken } = await wait.createToken()
    const work = withAccess(app, publicAccessToken, () => tasks.trigger('echo', 1))
    expect(await thrown(work)).toEqual([client.PermissionDeniedError, 'Unauthorized'])
  })

  it('for what there is not', async () => {
    await using _app = await served()
    const { NotFoundError } = client
    expect(await thrown(wait.retrieveToken('waitpoint_unknown'))).toEqual([
      NotFoundError,
      'Waitpoint not found',
    ])
    expect(await thrown(wait.completeToken('waitpoint_unknown', 1))).toEqual([
      NotFoundError,
      'Waitpoint not found',
    ])
    expect(await thrown(runs.retrieve('run_unknown'))).toEqual([NotFoundError, 'Run not found'])
    expect(await thrown(runs.cancel('run_unknown'))).toEqual([NotFoundError, 'Run not found'])
    expect(await thrown(runs.replay('run_unknown'))).toEqual([NotFoundError, 'Run not found'])
    expect(await thrown(tasks.trigger('unknown'))).toEqual([NotFoundError, 'Task not found'])
  })

  it('for input that cannot be used, naming the value', async () => {
    await using _app = await served()
    const tags = Array.from({ length: 11 }, (_, index) => `t${index}`)
    const [tooMany, manyText] = await thrown(wait.createToken({ tags }))
    expect(tooMany).toBe(client.UnprocessableEntityError)
    expect(manyText).toContain('10 tags')
    for (const options of [{ timeout: 'soon' }, { timeout: '-5m' }, { timeout: new Date(0) }]) {
      const [error, text] = await thrown(wait.createToken(options))
      expect(error).toBe(client.BadRequestError)
      expect(text).toContain(options.timeout instanceof Date ? '1970' : options.timeout)
    }
    expect((await thrown(collect(wait.listTokens({ limit: 1_000 }))))[0]).toBe(client.BadRequestError)
  })
})

describe('what the published client sends that is too large', { timeout: TEST_MS }, () => {
  it('is refused with 413, at once', async () => {
    await using _app = await served()
    const tooLarge = { status: 413, message: 'Request body too large' }
    await expect(wait.createToken({ idempotencyKey: 'k'.repeat(11_000) })).rejects.toMatchObject(tooLarge)
    const token = await wait.createToken()
    await expect(wait.completeToken(token, 'x'.repeat(3_200_000))).rejects.toMatchObject(tooLarge)
    expect((await wait.retrieveToken(token)).status).toBe('WAITING')
  })
})

describe('a second secret key', { timeout: TEST_MS }, () => {
  it('is as good as the first, in which access tokens are signed', async () => {
    await using app = await served([echo], { secretKey: ['tr_dev_new', SECRET] })
    const { id } = await tasks.trigger('echo', 1)
    const token = await wait.createToken()
    await withAccess(app, 'tr_dev_new', async () => {
      expect((await runs.retrieve(id)).id).toBe(id)
    })
    await withAccess(app, token.publicAccessToken, async () => {
      expect(await wait.completeToken(token, 1)).toEqual({ success: true })
    })
  })
})

describe('a page in a browser', { timeout: TEST_MS }, () => {
  const ORIGIN = { origin: 'https://app.example' }

  it('asks first, and completes a token with its access token', async () => {
    await using app = await served()
    const token = await wait.createToken()
    const url = `${app.server.url}/api/v1/waitpoints/tokens/${token.id}/complete`
    const asked = await fetch(url, {
      method: 'OPTIONS',
      headers: {
        ...ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'authorization,content-type,trigger-version,x-trigger-client',
      },
    })
    expect(asked.ok).toBe(true)
    expect(asked.headers.get('access-control-allow-origin')).toBe('*')
    expect(asked.headers.get('access-control-allow-methods')).toContain('POST')
    expect(asked.headers.get('access-control-allow-headers')).toMatch(/\*|authorization/i)
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        ...ORIGIN,
        authorization: `Bearer ${token.publicAccessToken}`,
        'content-type': 'application/json',
      },
      body: '{"data":{"approved":true}}',
    })
    expect(answer.headers.get('access-control-allow-origin')).toBe('*')
    expect(await answer.json()).toMatchObject({ success: true })
    expect((await wait.retrieveToken(token)).output).toEqual({ approved: true })
  })

  it('is told why it may not', async () => {
    await using app = await served()
    const url = `${app.server.url}/api/v1/waitpoints/tokens/waitpoint_x/complete`
    const answer = await fetch(url, { method: 'POST', headers: ORIGIN, body: '{}' })
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([401, '*'])
  })
})
