import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CreatedToken, Engine } from 'waitpoint'
import { createHandler } from 'waitpoint/http'
import { cases } from '../support/cases.ts'
import { countText } from '../support/text-count.ts'
import { accessToken, chunked, OTHER_SECRET, SECRET, stillEngine } from './requests.ts'

const LIMIT = 512

/** What a generated request may be made of: two tokens of the engine, and what was given out for them. */
interface World {
  readonly tokens: readonly CreatedToken[]
  readonly jwts: Readonly<Record<Jwt, string>>
}

type Jwt = 'expired' | 'forged' | 'everything' | 'nothing'
type Target =
  | { readonly kind: 'complete'; readonly id: Id }
  | { readonly kind: 'callback'; readonly id: Id; readonly hash: Hash }
  | { readonly kind: 'path'; readonly path: string }
type Id = 0 | 1 | 'unknown' | 'encoded' | { readonly text: string }
type Hash =
  | { readonly of: 'same' | 0 | 1; readonly change: 'none' | 'upper' | 'short' | 'long' }
  | { readonly text: string }
type Credential = { readonly own: 0 | 1 } | { readonly jwt: Jwt } | { readonly text: string }

interface Draft {
  readonly method: string
  readonly target: Target
  /** More than one: the header is sent more than once. */
  readonly credentials: readonly Credential[]
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: Uint8Array
  /** Where the body is cut into chunks; undefined: it comes in one piece. */
  readonly cuts: readonly number[] | undefined
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const which = fc.constantFrom<0 | 1>(0, 1)
const junk = fc.string({ unit: 'binary', maxLength: 20 }).map(encodeURIComponentOr('%'))
const id: fc.Arbitrary<Id> = fc.oneof(
  { weight: 6, arbitrary: which },
  { weight: 1, arbitrary: fc.constantFrom<Id>('unknown', 'encoded') },
  { weight: 1, arbitrary: junk.map((text) => ({ text })) },
)
const hash: fc.Arbitrary<Hash> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      of: fc.constantFrom<'same' | 0 | 1>('same', 'same', 0, 1),
      change: fc.constantFrom('none', 'none', 'none', 'none', 'upper', 'short', 'long'),
    }),
  },
  { weight: 1, arbitrary: junk.map((text) => ({ text })) },
)
const target: fc.Arbitrary<Target> = fc.oneof(
  { weight: 5, arbitrary: id.map((each) => ({ kind: 'complete' as const, id: each })) },
  { weight: 5, arbitrary: fc.record({ kind: fc.constant('callback' as const), id, hash }) },
  { weight: 1, arbitrary: fc.webPath().map((path) => ({ kind: 'path' as const, path })) },
)
const credential: fc.Arbitrary<Credential> = fc.oneof(
  fc
    .constantFrom(
      `Bearer ${SECRET}`,
      `Bearer ${OTHER_SECRET}`,
      `bearer  ${SECRET}`,
      `Bearer ${SECRET}x`,
      `Basic ${SECRET}`,
      SECRET,
      'Bearer',
      'Bearer ..',
      'Bearer a.b.c',
      'Bearer eyJhbGciOiJub25lIn0.eyJwdWIiOnRydWUsInN1YiI6IngiLCJzY29wZXMiOlsiYWRtaW4iXX0.',
    )
    .map((text) => ({ text })),
  which.map((own) => ({ own })),
  fc.constantFrom<Jwt>('expired', 'forged', 'everything', 'nothing').map((jwt) => ({ jwt })),
)
const header = fc.oneof(
  fc.tuple(
    fc.constant('content-type'),
    fc.constantFrom(
      'application/json',
      'application/json; charset=utf-16',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'multipart/form-data',
      'text/plain',
      ';',
      '',
    ),
  ),
  fc.tuple(fc.constant('content-length'), fc.constantFrom('0', '1', '513', '-1', '1e9', 'many', '')),
  fc.tuple(
    fc.constantFrom('trigger-version', 'origin', 'expect', 'transfer-encoding', 'x'),
    fc.constantFrom('', 'a, b'),
  ),
)
const jsonBody = fc.oneof(
  fc.record({ output: fc.jsonValue() }, { requiredKeys: [] }),
  fc.record({ data: fc.jsonValue() }),
  fc.record({ output: fc.jsonValue(), data: fc.jsonValue() }),
  fc.jsonValue(),
)
const body = fc.oneof(
  { weight: 4, arbitrary: jsonBody.map((value) => bytes(JSON.stringify(value))) },
  // Truncated.
  {
    weight: 2,
    arbitrary: fc
      .tuple(jsonBody, fc.nat(30))
      .map(([value, cut]) => bytes(JSON.stringify(value).slice(0, -cut))),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('', '{"__proto__":{"output":1}}', '{"output":1e999}', 'a=1&a=2').map(bytes),
  },
  {
    weight: 1,
    arbitrary: fc.constant(
      bytes('--x\r\ncontent-disposition: form-data; name="__proto__"\r\n\r\n1\r\n--x--\r\n'),
    ),
  },
  // Around the limit and beyond it.
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: LIMIT - 20, max: 3 * LIMIT })
      .map((size) => bytes(`{"output":"${'x'.repeat(size)}"}`)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: LIMIT }).map((depth) => bytes('['.repeat(depth))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }) },
)
const draft: fc.Arbitrary<Draft> = fc.record({
  method: fc.oneof(
    { weight: 8, arbitrary: fc.constant('POST') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'post', 'QUERY'),
    },
  ),
  target,
  credentials: fc.oneof(
    { weight: 4, arbitrary: fc.array(credential, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(credential, { maxLength: 2 }) },
  ),
  headers: fc.array(header, { maxLength: 3 }),
  body,
  cuts: fc.option(fc.array(fc.nat(2 * LIMIT), { maxLength: 5 }), { nil: undefined }),
})

describe('a handler that is sent anything', () => {
  it('never fails, and settles a token only for a caller that may settle it', async () => {
    await using t = await stillEngine()
    const handler = createHandler(t.engine, { limits: { completeBytes: LIMIT } })
    const jwts = await makeJwts(t.clock.now())
    let settled = 0

    const sendOne = async (each: Draft): Promise<void> => {
      const world = { jwts, tokens: [await t.engine.wait.createToken(), await t.engine.wait.createToken()] }
      const before = await snapshot(t.engine, world)
      using work = countText()
      const response = await handler(toRequest(each, world))
      const text = await response.text()
      // Text is made and parsed in proportion to what was sent, which the limit bounds.
      expect(work.characters).toBeLessThan(10 * Math.min(each.body.length, 3 * LIMIT) + 5_000)
      const after = await snapshot(t.engine, world)

      expect(response.status).toBeLessThan(500)
      if (response.status >= 400 && each.method !== 'HEAD') {
        expect(JSON.parse(text)).toMatchObject({ error: expect.any(String) as string })
      }
      const changed = [0, 1].filter((index) => before[index] !== after[index])
      expect(after.at(-1)).toBe(before.at(-1))
      const won = /"success":true/.test(text)
      expect(changed).toHaveLength(won ? 1 : 0)
      for (const index of changed) expect(maySettle(each, index)).toBe(true)
      if (maySettle(each, 0) || maySettle(each, 1))
        expect([401, 403, 404, 405]).not.toContain(response.status)
      settled += changed.length
    }

    await fc.assert(fc.asyncProperty(draft, sendOne), { numRuns: cases(4_000) })
    // It would prove nothing if nothing ever got through.
    expect(settled).toBeGreaterThan(cases(4_000) / 40)
  })
})

async function makeJwts(now: number): Promise<World['jwts']> {
  return {
    expired: await accessToken(['admin'], now, { claims: { exp: Math.floor(now / 1_000) } }),
    forged: await accessToken(['admin'], now, { key: 'sk_third' }),
    everything: await accessToken(['write:waitpoints'], now, { key: OTHER_SECRET }),
    nothing: await accessToken(['read:waitpoints'], now),
  }
}

/** Everything a request could change: both tokens, and how many there are. */
async function snapshot(engine: Engine, { tokens }: World): Promise<readonly string[]> {
  const records = await Promise.all(tokens.map((token) => engine.wait.retrieveToken(token)))
  const { data } = await engine.wait.listTokens({ limit: 2 })
  return [...records.map((record) => JSON.stringify(record)), data.map((token) => token.id).join()]
}

/** The law: who may settle token `index`. */
function maySettle({ method, target: { kind, ...rest }, credentials }: Draft, index: number): boolean {
  if (method.toUpperCase() !== 'POST' || kind === 'path') return false
  const { id: meant, hash: shown } = rest as { readonly id: Id; readonly hash?: Hash }
  if (meant !== index && !(meant === 'encoded' && index === 0)) return false
  if (shown !== undefined)
    return 'of' in shown && shown.change === 'none' && (shown.of === 'same' || shown.of === index)
  const [only, ...more] = credentials
  if (only === undefined || more.length > 0) return false
  if ('own' in only) return only.own === index
  if ('jwt' in only) return only.jwt === 'everything'
  return new RegExp(`^bearer +(${SECRET}|${OTHER_SECRET})$`, 'i').test(only.text)
}

function toRequest(each: Draft, world: World): Request {
  const headers = new Headers(each.headers.map(([name, value]): [string, string] => [name, value]))
  for (const one of each.credentials) headers.append('authorization', credentialText(one, world))
  const url = `http://engine.test${pathOf(each.target, world)}`
  if (/^(?:GET|HEAD)$/.test(each.method)) return new Request(url, { method: each.method, headers })
  const sent = each.cuts === undefined ? new Uint8Array(each.body) : chunked(pieces(each.body, each.cuts))
  return new Request(url, { method: each.method, headers, body: sent, duplex: 'half' })
}

function pathOf(meant: Target, world: World): string {
  if (meant.kind === 'path') return meant.path
  const prefix = `/api/v1/waitpoints/tokens/${idText(meant.id, world)}`
  return meant.kind === 'complete' ? `${prefix}/complete` : `${prefix}/callback/${hashText(meant, world)}`
}

function idText(meant: Id, { tokens }: World): string {
  if (typeof meant === 'object') return meant.text
  if (meant === 'unknown') return 'waitpoint_00000000000000000000000000'
  if (meant === 'encoded') return tokens[0]!.id.replace('_', '%5F').replace('w', '%77')
  return tokens[meant]!.id
}

function hashText(
  { id: meant, hash: shown }: Extract<Target, { kind: 'callback' }>,
  { tokens }: World,
): string {
  if ('text' in shown) return shown.text
  const own = typeof meant === 'number' ? meant : 0
  const real = tokens[shown.of === 'same' ? own : shown.of]!.url.slice(-64)
  const changes = { none: real, upper: real.toUpperCase(), short: real.slice(0, -1), long: `${real}0` }
  return changes[shown.change]
}

function credentialText(meant: Credential, { tokens, jwts }: World): string {
  if ('text' in meant) return meant.text
  return `Bearer ${'own' in meant ? tokens[meant.own]!.publicAccessToken : jwts[meant.jwt]}`
}

function pieces(whole: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [0, ...[...cuts].sort((a, b) => a - b), whole.length]
  return places.slice(1).map((end, index) => whole.slice(places[index], Math.max(end, places[index] ?? 0)))
}

/** What cannot be encoded is sent as something that cannot be decoded. */
function encodeURIComponentOr(otherwise: string): (text: string) => string {
  return (text) => {
    try {
      return encodeURIComponent(text) || otherwise
    } catch {
      return otherwise
    }
  }
}
