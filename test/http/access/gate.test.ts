import { describe, expect, it } from 'vitest'
import { inside } from '../../../src/core/inside.ts'
import { Gate } from '../../../src/http/access/gate.ts'
import { type HandlerLimits, readLimits } from '../../../src/http/limits.ts'
import { readBody } from '../../../src/http/requests/body.ts'
import { turn } from '../../support/turn.ts'
import { accessToken, type ClaimParts, OTHER_SECRET, request, SECRET, stillEngine } from '../requests.ts'

interface Bench {
  readonly gate: Gate
  readonly now: () => number
  readonly advance: (ms: number) => Promise<void>
}

async function onBench(limits: HandlerLimits, body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine()
  const gate = new Gate(inside(t.engine), readLimits(limits))
  await body({ gate, now: () => t.clock.now(), advance: (ms) => t.clock.advance(ms) })
}

function asking(credential: string): Request {
  return request('http://engine.test/', { headers: { authorization: `Bearer ${credential}` } })
}

/** Begins to send a body of 20,000 bytes; says why it is refused, if it is. */
async function upload(
  credential: string,
  enter: (sent: Request) => Promise<unknown>,
): Promise<{ readonly refusal: unknown; end(): Promise<unknown> }> {
  const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>()
  const headers = { authorization: `Bearer ${credential}`, 'content-length': '20000' }
  const sent = request('http://engine.test/', { headers, body: readable })
  await enter(sent)
  const received = readBody(sent, 30_000).then(
    () => undefined,
    (error: unknown) => error,
  )
  const end = (): Promise<unknown> => Promise.all([writable.getWriter().close(), received])
  return { refusal: await Promise.race([received, turn()]), end }
}

const run = { action: 'read', type: 'runs', id: 'run_1' }
const refused = (status: number): unknown => expect.objectContaining({ status })

describe('Gate', () => {
  it('knows callers apart by their credential, and keeps none of the secret', () =>
    onBench({}, async ({ gate, now }) => {
      const jwts = [
        await accessToken(['read:runs:run_1'], now()),
        await accessToken(['read:runs:run_2'], now()),
        await accessToken(['read:runs:run_1'], now(), { key: OTHER_SECRET, claims: { sub: 'env_2' } }),
      ]
      const names: string[] = []
      for (const credential of [SECRET, OTHER_SECRET, ...jwts]) {
        const { credential: name } = await gate.enter(asking(credential))
        expect((await gate.enter(asking(credential))).credential).toBe(name)
        expect(name).not.toContain(credential.split('.').at(-1))
        names.push(name)
      }
      expect(new Set(names).size).toBe(5)
    }))

  it('lets a secret key do everything, and an access token what one of its scopes says', () =>
    onBench({}, async ({ gate, now }) => {
      const secret = await gate.enter(asking(SECRET))
      secret.require(run)
      secret.requireSecretKey()
      const token = await gate.enter(asking(await accessToken(['read:runs:run_1', 'read:tags:a'], now())))
      token.require(run)
      token.require({ ...run, id: 'run_2' }, { action: 'read', type: 'tags', id: 'a' })
      expect(() => token.require({ ...run, id: 'run_2' })).toThrow(refused(403))
      expect(() => token.require({ ...run, action: 'write' })).toThrow(refused(403))
      expect(() => token.require()).toThrow(refused(403))
    }))

  it('takes no access token for a secret key, not even an almighty one', () =>
    onBench({}, async ({ gate, now }) => {
      const caller = await gate.enter(asking(await accessToken(['admin'], now())))
      caller.require(run)
      expect(() => caller.requireSecretKey()).toThrow(refused(403))
    }))

  it('counts every credential on its own, and by the clock of the engine', () =>
    onBench({ rate: { requests: 1, per: '1s' } }, async ({ gate, now, advance }) => {
      const jwt = await accessToken(['admin'], now())
      for (const credential of [SECRET, OTHER_SECRET, jwt]) {
        await gate.enter(asking(credential))
        await expect(gate.enter(asking(credential))).rejects.toThrow(refused(429))
      }
      await advance(1_000)
      await gate.enter(asking(SECRET))
    }))

  it('says of an access token that it has expired, and of no other fault', () =>
    onBench({}, async ({ gate, now }) => {
      const past = { exp: Math.floor(now() / 1_000) }
      const messageFor = async (parts: ClaimParts): Promise<string> =>
        gate.enter(asking(await accessToken(['admin'], now(), parts))).then(
          () => 'entered',
          (error: unknown) => (error as Error).message,
        )
      expect(await messageFor({})).toBe('entered')
      expect(await messageFor({ claims: past })).toBe('Public Access Token has expired')
      for (const parts of [
        { claims: past, key: 'sk_third' },
        { claims: { ...past, iss: 'https://example.com' } },
        { claims: { exp: undefined } },
      ])
        expect(await messageFor(parts)).toBe('Public Access Token is invalid')
    }))

  it('does not count what proves nothing', () =>
    onBench({ rate: { requests: 1, per: '1s' } }, async ({ gate }) => {
      for (const wrong of ['x', 'a.b.c']) {
        await expect(gate.enter(asking(wrong))).rejects.toThrow(refused(401))
        await expect(gate.enter(asking(wrong))).rejects.toThrow(refused(401))
      }
      const wrong = (): never => {
        throw new RangeError('wrong')
      }
      await expect(gate.enterBy(asking('x'), 'token x', wrong)).rejects.toThrow(RangeError)
      await expect(gate.enterBy(asking('x'), 'token x', () => undefined)).resolves.toBeUndefined()
      await expect(gate.enterBy(asking('x'), 'token x', () => undefined)).rejects.toThrow(refused(429))
    }))

  it('receives as many bytes at once as an access token or a URL may send, and any number with a secret key', () =>
    onBench({ uploadBytes: 50_000 }, async ({ gate, now }) => {
      const jwt = await accessToken(['read:runs:run_1'], now())
      const byUrl = (sent: Request): Promise<void> => gate.enterBy(sent, 'token x', () => undefined)
      const byCredential = (sent: Request): Promise<unknown> => gate.enter(sent)
      for (const [credential, enter, isBounded] of [
        ['none', byUrl, true],
        [jwt, byCredential, true],
        [SECRET, byCredential, false],
      ] as const) {
        const uploads = [await upload(credential, enter), await upload(credential, enter)]
        expect(uploads.map(({ refusal }) => refusal)).toEqual([undefined, undefined])
        const third = await upload(credential, enter)
        expect(third.refusal).toEqual(isBounded ? refused(429) : undefined)
        await uploads[0]?.end()
        expect((await upload(credential, enter)).refusal).toBeUndefined()
      }
    }))

  it('counts subscriptions by their limit', () =>
    onBench({ subscriptions: 1 }, async ({ gate }) => {
      const { credential } = await gate.enter(asking(SECRET))
      const close = gate.subscriptions.open(credential)
      expect(() => gate.subscriptions.open(credential)).toThrow(refused(429))
      close()
      gate.subscriptions.open(credential)
    }))
})
