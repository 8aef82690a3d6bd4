import { describe, expect, it } from 'vitest'
import { createHandler, type Handler } from 'waitpoint/http'
import { accessToken, ask, stillEngine } from './requests.ts'

interface Bench {
  readonly handler: Handler
  readonly tokenId: string
  readonly now: () => number
  readonly advance: (ms: number) => Promise<void>
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine()
  const { id } = await t.engine.wait.createToken({ timeout: '30d' })
  const handler = createHandler(t.engine)
  await body({ handler, tokenId: id, now: () => t.clock.now(), advance: (ms) => t.clock.advance(ms) })
}

const SIGN = 'POST /api/v1/auth/public-tokens'

describe('signing access tokens', () => {
  it('tells the published client what to sign', () =>
    onBench(async ({ handler }) => {
      const { status, body } = await ask(handler, 'POST /api/v1/auth/jwt/claims')
      expect([status, body]).toEqual([200, { sub: 'waitpoint', pub: true }])
    }))

  it.each<[expirationTime: unknown, lifeMs: number]>([
    [undefined, 900_000],
    ['1h', 3_600_000],
    ['24hr', 86_400_000],
    [946_684_860, 60_000],
  ])('signs one that lasts until then: %j', (expirationTime, lifeMs) =>
    onBench(async ({ handler, tokenId, advance }) => {
      const body = { scopes: [`read:waitpoints:${tokenId}`], expirationTime }
      const { token: credential } = (await ask(handler, SIGN, { body })).body as { readonly token: string }
      const get = async (id: string): Promise<number> =>
        (await ask(handler, `GET /api/v1/waitpoints/tokens/${id}`, { credential })).status
      expect([await get(tokenId), await get('waitpoint_other')]).toEqual([200, 403])
      await advance(lifeMs - 1)
      expect(await get(tokenId)).toBe(200)
      await advance(1)
      expect(await get(tokenId)).toBe(401)
    }),
  )

  it.each([
    [{}, '"scopes"'],
    [{ scopes: [] }, '"scopes"'],
    [{ scopes: 'admin' }, '"scopes"'],
    [{ scopes: ['read:runs', 5] }, '"scopes"'],
    [{ scopes: ['read:runs', ''] }, '"scopes"'],
    [{ scopes: ['read:runs'], expirationTime: 'soon' }, 'expirationTime "soon"'],
    [{ scopes: ['read:runs'], expirationTime: 946_684_800 }, 'expirationTime 946684800'],
    [{ scopes: ['read:runs'], expirationTime: 1e300 }, 'expirationTime'],
    [{ scopes: ['read:runs'], expirationTime: '0s' }, 'expirationTime "0s"'],
    [{ scopes: ['read:runs'], expirationTime: null }, 'expirationTime'],
  ])('refuses what cannot be signed: %j', (body, error) =>
    onBench(async ({ handler }) => {
      expect(await ask(handler, SIGN, { body })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining(error) as string },
      })
    }),
  )

  it('is for secret keys: an access token that signs others would never end', () =>
    onBench(async ({ handler, now }) => {
      const credential = await accessToken(['admin'], now())
      for (const path of [SIGN, 'POST /api/v1/auth/jwt/claims'])
        expect((await ask(handler, path, { credential, body: { scopes: ['admin'] } })).status).toBe(403)
    }))
})

describe('what belongs to workers', () => {
  it.each([
    '/engine/v1/runs/run_1/waitpoints/tokens/waitpoint_1/wait',
    '/engine/v1/runs/run_1/wait/duration',
    '/api/v1/runs/run_1/input-streams/wait',
  ])('is 404, and says why: %s', (path) =>
    onBench(async ({ handler }) => {
      expect(await ask(handler, `POST ${path}`)).toMatchObject({
        status: 404,
        body: { error: expect.stringContaining('Workers are not supported') as string },
      })
      expect((await ask(handler, `POST ${path}`, { credential: null })).status).toBe(401)
    }),
  )
})
