import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isFarAway } from '../support/abandon.ts'
import { cases } from '../support/cases.ts'
import {
  type Credential,
  CREDENTIALS,
  expected,
  filled,
  makeWorld,
  ROUTES,
  type RouteRow,
  type World,
} from './route-table.ts'
import { undocumented } from './documented.ts'
import { chunked, request, textOf } from './requests.ts'
import { digestOf } from './storage-digest.ts'

/** Requests to one engine, one after the other: enough for what one does to matter to the next. */
const LONGEST_SEQUENCE = 40
const SEQUENCES = cases(400)
/** How many requests these are at least: of few sequences the length varies more. */
const FEWEST_REQUESTS = SEQUENCES * (isFarAway() ? 10 : 18)

interface Draft {
  readonly row: RouteRow
  readonly credential: Credential
  /** Undefined: the method of the route. */
  readonly method: string | undefined
  /** Undefined: the path of the route. Else one part of it is replaced. */
  readonly odd: { readonly part: number; readonly text: string } | undefined
  readonly query: string
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Undefined: the body of the route. */
  readonly body: Uint8Array | undefined
  readonly isChunked: boolean
  /** How often it is sent at once. */
  readonly copies: number
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)
const NAMES = [
  'output',
  'tags',
  'timeout',
  'idempotencyKey',
  'payload',
  'options',
  'payloadType',
  'delay',
  'ttl',
  'metadata',
  'operations',
  'type',
  'key',
  'value',
  'scopes',
  'expirationTime',
  '__proto__',
]

const leaf = fc.oneof(
  fc.constantFrom(
    '',
    '1h',
    '-1',
    'application/json',
    'application/store',
    'set',
    'append',
    'increment',
    'update',
  ),
  fc.string({ unit: 'binary', maxLength: 8 }),
  fc.double(),
  fc.integer(),
  fc.constantFrom(null, true, false, {}, []),
)
/** Objects with the members that are asked for, and whatever in them. */
const { value: json } = fc.letrec<{ readonly value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    leaf,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('value'), { maxKeys: 5 }),
  ),
}))
const body = fc.oneof(
  { weight: 6, arbitrary: json.map((value) => bytes(JSON.stringify(value))) },
  {
    weight: 1,
    arbitrary: fc.tuple(json, fc.nat(20)).map(([value, cut]) => bytes(JSON.stringify(value).slice(0, -cut))),
  },
  {
    weight: 1,
    arbitrary: fc.integer({ min: 480, max: 2_000 }).map((size) => bytes(`{"tags":["${'x'.repeat(size)}"]}`)),
  },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 500 }).map((depth) => bytes('['.repeat(depth))) },
  { weight: 1, arbitrary: fc.uint8Array({ maxLength: 40 }) },
)
const param = fc.constantFrom(
  'filter[status]',
  'filter[tags]',
  'filter[tag]',
  'filter[taskIdentifier]',
  'filter[root]',
  'filter[createdAt][from]',
  'filter[createdAt][period]',
  'filter[x]',
  'page[size]',
  'page[after]',
  'page[before]',
)
const argument = fc.oneof(
  fc.constantFrom(
    '',
    '0',
    '1',
    '100',
    '1e3',
    'WAITING',
    'WAITING,COMPLETED',
    'DEQUEUED',
    'a',
    '1h',
    '2000-01-01',
  ),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const query = fc
  .array(fc.tuple(param, argument), { maxLength: 3 })
  .map((pairs) =>
    new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString(),
  )
const header = fc.tuple(
  fc.constantFrom(
    'content-type',
    'content-length',
    'trigger-version',
    'x-trigger-request-idempotency-key',
    'origin',
  ),
  fc.constantFrom('', 'application/json', 'application/super+json', 'text/plain', '0', '513', 'a, b'),
)
const odd = fc.record({
  part: fc.nat(9),
  text: fc.oneof(
    fc.constantFrom(
      '%',
      '%00',
      '..',
      '%2F',
      'run_1',
      'waitpoint_1',
      'run:run_1',
      '$run',
      '$token',
      'x'.repeat(100),
    ),
    fc.string({ unit: 'grapheme', maxLength: 8 }).map(encodeURIComponent),
  ),
})
const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary })
const draft: fc.Arbitrary<Draft> = fc.record({
  row: fc.constantFrom(...ROUTES),
  credential: fc.oneof(
    fc.constantFrom(...CREDENTIALS),
    fc.constantFrom<Credential>('first key', 'second key'),
  ),
  method: rarely(fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS')),
  odd: rarely(odd),
  query: fc.oneof(fc.constant(''), query),
  headers: fc.array(header, { maxLength: 2 }),
  body: fc.option(body, { nil: undefined }),
  isChunked: fc.boolean(),
  copies: fc.constantFrom(1, 1, 1, 2),
})

describe('all routes, sent anything', () => {
  it('never fail, answer as documented, and change nothing for a caller that may not', async () => {
    let count = 0
    let through = 0

    const send = async (each: Draft, world: World): Promise<void> => {
      const before = await digestOf(world.t.engine)
      const requests = Array.from({ length: each.copies }, () => toRequest(each, world))
      const responses = await Promise.all(requests.map((one) => world.handler(one)))
      const isAllowed = mayChange(each, responses)
      if (isAllowed) await world.t.clock.settle()
      else expect(await digestOf(world.t.engine)).toBe(before)
      for (const response of responses) {
        await checkAnswer(each, response, world)
        count += 1
        if (response.ok) through += 1
      }
    }

    const sequence = fc.array(draft, { minLength: 1, maxLength: LONGEST_SEQUENCE, size: 'max' })
    const law = fc.asyncProperty(sequence, async (drafts) => {
      await using world = await makeWorld()
      for (const each of drafts) await send(each, world)
    })
    await fc.assert(law, { numRuns: SEQUENCES })
    expect(count).toBeGreaterThan(FEWEST_REQUESTS)
    // It would prove nothing if nothing ever got through.
    expect(through).toBeGreaterThan(count / 10)
  })
})

async function checkAnswer(each: Draft, response: Response, world: World): Promise<void> {
  const text = await textOf(response)
  expect([response.status, text]).toEqual([expect.toSatisfy((status: number) => status < 500), text])
  const isHead = each.method === 'HEAD'
  const isPage = response.headers.get('content-type')?.startsWith('text/html') === true
  if (response.status >= 400 && !isHead && !isPage)
    expect(JSON.parse(text)).toMatchObject({ error: expect.any(String) as string })
  // Whatever else is asked of the route as it is, the credential is looked at first, and the answer is as documented.
  const asked = expected(each.row, each.credential)
  if (each.method === undefined && each.odd === undefined) {
    const { status, headers } = response
    expect(undocumented(each.row.route, { status, headers, text })).toBeUndefined()
    if (asked === 401) expect(response.status).toBe(401)
    else if (asked !== 'through') expect(response.ok).toBe(false)
    else if (status === 403) expect(await hasApprovers(world)).toBe(true)
  }
}

/** A token that was given approvers refuses an answer of others, whatever their credential. */
async function hasApprovers({ t, names }: World): Promise<boolean> {
  const { question } = await t.engine.wait.retrieveToken(names['token'] ?? '')
  return question?.approvers !== undefined
}

/** Who may change anything at all. */
const CHANGERS: ReadonlySet<Credential> = new Set(
  ROUTES.filter(({ changes, may }) => changes === true && may !== 'address').flatMap((row) =>
    CREDENTIALS.filter((credential) => expected(row, credential) === 'through'),
  ),
)

/** The law: every change was requested by a caller with access, on a route that makes changes. */
function mayChange({ row, credential, odd: change, method }: Draft, responses: readonly Response[]): boolean {
  if (!responses.some(({ ok }) => ok)) return false
  // Another path or method may be another route: what that one lets through is the matrix' business.
  if (change !== undefined || method !== undefined) return row.may === 'address' || CHANGERS.has(credential)
  return row.changes === true && expected(row, credential) === 'through'
}

function toRequest(each: Draft, { names, credentials }: World): Request {
  const {
    row,
    odd: change,
    body: sent = bytes(row.body === undefined ? '' : JSON.stringify(row.body)),
  } = each
  const [method = ''] = row.route.split(' ')
  const parts = row.path.split('/')
  const place = change === undefined ? 0 : 1 + (change.part % (parts.length - 1))
  const path = parts
    .map((part, index) => (index === place && change !== undefined ? change.text : part))
    .join('/')
  const headers = Object.fromEntries(each.headers)
  const credential = credentials[each.credential]
  const withQuery = path.includes('?') ? `${path}&${each.query}` : `${path}?${each.query}`
  const used = each.method ?? method
  const isBodyless = used === 'GET' || used === 'HEAD' || (sent.length === 0 && !each.isChunked)
  return request(`http://engine.test${filled(withQuery, names)}`, {
    method: used,
    headers: credential === null ? headers : { ...headers, authorization: `Bearer ${credential}` },
    ...(isBodyless ? {} : { body: each.isChunked ? chunked([sent]) : new Uint8Array(sent) }),
  })
}
