import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { question, streams, type TokenLinks } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { countSignatures } from '../../support/signatures.ts'
import { collect } from '../../support/streams.ts'

const MANY_ROLES = Array.from({ length: 51 }, (_, at) => `role:${at}`)
const ANN = { id: 'ann', name: 'Ann' }
const DAY_SECONDS = 86_400
const START_SECONDS = Date.UTC(2000, 0, 1) / 1_000

function claimsOf(jwt: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString()) as Record<string, unknown>
}

describe('the address and the access token of a token', () => {
  it('cost nothing until they are read: no signature for 1,000 tokens', async () => {
    using signatures = countSignatures()
    await using t = await createTestEngine({ clock: { mode: 'manual' } })
    const { wait } = t.engine
    const tokens = await Promise.all(Array.from({ length: 1_000 }, () => wait.createToken()))
    const listed = await collect(wait.listTokens({ limit: 100 }))
    await Promise.all(listed.map((token) => wait.completeToken(token)))
    await wait.retrieveToken(tokens[0]!)
    t.engine.on('token', () => undefined)
    await wait.createToken()
    expect(signatures.count).toBe(0)
    expect(tokens[0]!.url).not.toBe(tokens[1]!.url)
    expect(signatures.count).toBe(2)
    expect(tokens[0]!.url).toBe(tokens[0]!.url)
    expect(signatures.count).toBe(2)
    expect(tokens[0]!.publicAccessToken).toBe(tokens[0]!.publicAccessToken)
    expect(signatures.count).toBe(3)
  })

  it('are enumerable: they survive a spread and JSON', async () => {
    await using t = await createTestEngine()
    const token = await t.engine.wait.createToken()
    const { url, publicAccessToken, link } = token
    expect(url).toMatch(
      /^http:\/\/waitpoint\.invalid\/api\/v1\/waitpoints\/tokens\/waitpoint_\w+\/callback\/[0-9a-f]{64}$/,
    )
    expect({ ...token }).toEqual({ id: token.id, isCached: false, url, publicAccessToken, link })
    expect(JSON.parse(JSON.stringify(token))).toEqual({
      id: token.id,
      isCached: false,
      url,
      publicAccessToken,
      link,
    })
    expect(Object.keys(token)).toEqual(expect.arrayContaining(['url', 'publicAccessToken', 'link']))
    expect({ ...(await t.engine.wait.retrieveToken(token)) }).toMatchObject({ url })
  })

  it('are equal on every read: retrieved, listed, cached, in events, by any engine of the storage, after a restart', async () => {
    const storage = projectStorage()
    const clock = testClock()
    const settings = { storage, clock, secretKey: 'sk', baseUrl: 'https://example.com/' }
    const options = { idempotencyKey: 'k' }
    const first = await createTestEngine(settings)
    const told: string[] = []
    first.engine.on('token', ({ url }) => told.push(url))
    const token = await first.engine.wait.createToken(options)
    const { url, publicAccessToken } = token
    expect(url.startsWith(`https://example.com/api/v1/waitpoints/tokens/${token.id}/callback/`)).toBe(true)
    for (const read of [
      (await first.engine.wait.retrieveToken(token)).url,
      (await first.engine.wait.listTokens()).data[0]!.url,
      (await first.engine.wait.createToken(options)).url,
      told[0],
    ]) {
      expect(read).toBe(url)
    }
    await using beside = await createTestEngine(settings)
    expect(await beside.engine.wait.retrieveToken(token)).toMatchObject({ url })
    await first.close()
    await clock.advance('10m')
    await using second = await createTestEngine(settings)
    const again = await second.engine.wait.createToken(options)
    expect({ ...again }).toEqual({ id: token.id, isCached: true, url, publicAccessToken, link: again.link })
  })

  it('lead to its page from wherever it is shown, and from no copy of it', async () => {
    await using t = await createTestEngine({ baseUrl: 'https://example.com' })
    const told: unknown[] = []
    t.engine.on('token', (seen) => told.push((seen as typeof seen & TokenLinks).linkFor(ANN)))
    const ask = question({ id: 'token links', message: 'Refund?' })
    t.engine.makeDefault()
    const token = await ask.create()
    const read = [
      await t.engine.wait.retrieveToken(token),
      ...(await t.engine.wait.listTokens()).data,
      ...(await ask.pending()).data,
    ]
    for await (const seen of t.engine.wait.subscribeToToken(token)) {
      read.push(seen)
      break
    }
    for await (const seen of t.engine.wait.subscribeToTokens()) {
      read.push(...seen)
      break
    }
    expect(read).toHaveLength(5)
    for (const seen of read) {
      expect([seen.link, seen.linkFor(ANN)]).toEqual([token.link, token.linkFor(ANN)])
      for (const refused of [{ id: '' }, { id: 'role:lead' }, { id: 'ann', roles: MANY_ROLES }])
        expect(() => seen.linkFor(refused)).toThrow('the person of a link')
      expect(JSON.stringify(seen)).not.toContain('/answer/')
      expect(Object.keys({ ...seen })).not.toContain('link')
    }
    expect(told).toEqual([token.linkFor(ANN)])
  })

  it('differ between storages, as their secrets do', async () => {
    const urls = []
    for (const seed of [1, 2]) {
      await using t = await createTestEngine({ seed })
      const { id, url } = await t.engine.wait.createToken()
      urls.push(url.replace(id, ''))
    }
    expect(urls[0]).not.toBe(urls[1])
  })
})

describe('the access token of a token', () => {
  it.each([
    ['10m', DAY_SECONDS],
    ['24h', DAY_SECONDS],
    ['48h', 2 * DAY_SECONDS],
    [2 * DAY_SECONDS * 1_000 + 1, 2 * DAY_SECONDS + 1],
  ])('is a JWT for this token alone: with a timeout of %s it is valid for %i s', async (timeout, seconds) => {
    await using t = await createTestEngine({ secretKey: ['first', 'second'] })
    const { id, publicAccessToken } = await t.engine.wait.createToken({ timeout })
    const [header, claims, signature] = publicAccessToken.split('.')
    expect(JSON.parse(Buffer.from(header!, 'base64url').toString())).toEqual({ alg: 'HS256' })
    expect(createHmac('sha256', 'first').update(`${header}.${claims}`).digest('base64url')).toBe(signature)
    expect(claimsOf(publicAccessToken)).toMatchObject({
      pub: true,
      scopes: [`write:waitpoints:${id}`],
      iat: START_SECONDS,
      exp: START_SECONDS + seconds,
    })
  })
})

describe('a token in an event', () => {
  it('is what a list shows: created, completed, timed out, without an output', async () => {
    const seen: unknown[] = []
    const only = bodyTask(() => undefined)
    await using t = await createTestEngine({ tasks: [only], clock: { mode: 'manual' } })
    t.engine.on('token', (token) => seen.push(token))
    const token = await t.engine.wait.createToken({ tags: ['a'] })
    await t.engine.wait.completeToken(token, { secret: true })
    await t.engine.wait.completeToken(token, { secret: true })
    const late = await t.engine.wait.createToken({ timeout: '1m' })
    await t.clock.advance('1m')
    await Promise.resolve()
    const listed = (await t.engine.wait.listTokens()).data
    expect(seen).toHaveLength(4)
    expect(seen).toMatchObject([
      { id: token.id, status: 'WAITING', tags: ['a'] },
      { id: token.id, status: 'COMPLETED' },
      { id: late.id, status: 'WAITING' },
      { id: late.id, status: 'TIMED_OUT' },
    ])
    expect([seen[3], seen[1]]).toEqual(listed)
  })
})

describe('the lists of a view', () => {
  it('are its own: what is done to them changes no record', async () => {
    const write = bodyTask(async () => streams.append('draft', 'a'))
    await using t = await createTestEngine({ tasks: [write] })
    const { wait, runs } = t.engine
    const token = await wait.createToken({ tags: ['a'] })
    const run = await t.engine.trigger(write, null, { tags: ['a'] })
    await run.result()
    const [readToken, readRun] = [await wait.retrieveToken(token), await runs.retrieve(run)]
    for (const list of [readToken.tags, readRun.tags, readRun.realtimeStreams]) (list as string[]).push('b')
    expect((await wait.retrieveToken(token)).tags).toEqual(['a'])
    expect(await runs.retrieve(run)).toMatchObject({ tags: ['a'], realtimeStreams: ['draft'] })
  })
})
