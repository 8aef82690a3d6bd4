import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { countText } from '../support/text-count.ts'
import { WorkCount } from '../support/work-count.ts'

const work = await WorkCount.start()
// Loaded now: the turns of its loops are to be counted.
const { filled, makeWorld, ROUTES } = await import('./route-table.ts')
const { request, SECRET, textOf } = await import('./requests.ts')

type RouteRow = (typeof ROUTES)[number]

/** How much of one thing a request has. Quadratic work on the most of it is far beyond the limits. */
const COUNTS = { min: 500, max: 2_000 }
/** The work of a request that says nothing, and of each byte of one that says much. */
const LEAST = { times: 5_000, characters: 30_000 }
const MOST_TIMES_A_BYTE = 3
const MOST_CHARACTERS_A_BYTE = 12

const list = <T>(count: number, item: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => item(index))
const members = (count: number): object => Object.fromEntries(list(count, (index) => [`k${index}`, index]))
/** Under every name that a route reads something large from. */
const everywhere = (value: unknown): string =>
  JSON.stringify({
    output: value,
    payload: value,
    metadata: { k: value },
    options: { metadata: { k: value } },
  })
const operations = (count: number, one: (index: number) => object): string =>
  JSON.stringify({ operations: list(count, one) })

/** Bodies that are small, and much work for code that goes through all of it for each part. */
const BODIES: Readonly<Record<string, (count: number) => string>> = {
  members: (count) => JSON.stringify({ metadata: members(count), options: { metadata: members(count) } }),
  values: (count) => everywhere(members(count)),
  arrays: (count) => everywhere(list(count, () => [[]])),
  'a deep array': (count) => `{"output":${'['.repeat(count)}${']'.repeat(count)}}`,
  escapes: (count) => everywhere('"\\\u0000'.repeat(count)),
  tags: (count) => JSON.stringify({ tags: list(count, String), options: { tags: list(count, String) } }),
  scopes: (count) => JSON.stringify({ scopes: list(count, (index) => `read:runs:run_${index}`) }),
  'new keys': (count) => operations(count, (index) => ({ type: 'set', key: `k${index}`, value: index })),
  'one list': (count) => operations(count, (index) => ({ type: 'append', key: 'list', value: index })),
  removals: (count) => operations(count, (index) => ({ type: 'remove', key: 'list', value: index })),
  paths: (count) => operations(count, (index) => ({ type: 'set', key: `$.a.b${index}.c`, value: index })),
  'a deep path': (count) =>
    operations(20, () => ({ type: 'set', key: `$${'.a'.repeat(count / 20)}`, value: 1 })),
  items: (count) =>
    list(count, (index) => JSON.stringify({ index: index % 2, task: 'echo', payload: index })).join('\n'),
  chunks: (count) => list(count, String).join('\n'),
}
const LISTED = ['filter[status]', 'filter[tags]', 'filter[taskIdentifier]', 'tags', 'columns', 'skipColumns']

interface Draft {
  readonly asked: { readonly row: RouteRow; readonly body: string }
  /** What is read afterwards. */
  readonly reads: readonly RouteRow[]
  readonly param: string
  readonly count: number
}

const bodied = ROUTES.filter(({ body }) => body !== undefined)
const reading = ROUTES.filter(({ route }) => route.startsWith('GET '))
/** What most can be done with in one request. */
const changing = bodied.filter(({ path }) => path.endsWith('/metadata'))
const OF_METADATA = ['members', 'new keys', 'one list', 'removals', 'paths', 'a deep path']
const asked = fc.oneof(
  fc.record({ row: fc.constantFrom(...bodied), body: fc.constantFrom(...Object.keys(BODIES)) }),
  fc.record({ row: fc.constantFrom(...changing), body: fc.constantFrom(...OF_METADATA) }),
)
const draft: fc.Arbitrary<Draft> = fc.record({
  asked,
  reads: fc.array(fc.constantFrom(...reading), { minLength: 1, maxLength: 3 }),
  param: fc.constantFrom(...LISTED),
  count: fc.integer(COUNTS),
})

describe('a request of any route', () => {
  afterAll(() => work.stop())

  it('is work in proportion to its length and that of its answer', async () => {
    let through = 0

    const law = fc.asyncProperty(draft, async ({ asked: { row, body }, reads, param, count }) => {
      await using world = await makeWorld({})
      const send = async (
        to: RouteRow,
        { text, more }: { text?: string; more?: string },
      ): Promise<number> => {
        const [method = ''] = to.route.split(' ')
        const path = filled(to.path, world.names)
        const query = more === undefined ? '' : `${path.includes('?') ? '&' : '?'}${param}=${more}`
        const position = more?.replaceAll(',', '=1&')
        const headers = { authorization: `Bearer ${SECRET}`, ...(position && { 'last-event-id': position }) }
        await work.busiest()
        using made = countText()
        const response = await world.handler(
          request(`http://engine.test${path}${query}`, { method, headers, ...(text && { body: text }) }),
        )
        const answer = await textOf(response)
        await world.t.clock.settle()
        const bytes = (text ?? '').length + query.length + (position ?? '').length + answer.length
        const { times, where } = await work.busiest()
        const about = `${to.route} ${body} ${count}: ${bytes} bytes, ${response.status}`
        expect(times, `${about}; ${where}`).toBeLessThan(LEAST.times + MOST_TIMES_A_BYTE * bytes)
        expect(made.characters, about).toBeLessThan(LEAST.characters + MOST_CHARACTERS_A_BYTE * bytes)
        if (response.ok && text !== undefined) through += 1
        return bytes
      }
      await send(row, { text: BODIES[body]?.(count) ?? '' })
      for (const read of reads) await send(read, { more: list(count / 4, (index) => `k${index}`).join(',') })
      for (const read of reads) await send(read, {})
    })
    await fc.assert(law, { numRuns: 40 })
    // It would prove nothing if nothing ever got through.
    expect(through).toBeGreaterThan(0)
  })
})
