import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inNextTurn } from '../../src/clock/macrotask-turn.ts'
import { testClock } from 'waitpoint/testing'
import { countTurnWork } from '../support/turn-work.ts'
import { turnsByTheQuestion } from '../support/turns-by-the-question.ts'
import { request, SECRET, textOf } from './requests.ts'
import { filled, makeWorld, ROUTES, type World } from './route-table.ts'

/**
 * Steps of {@link countTurnWork} between two turns. A body that is as large as it may be has a million, for its parts alone; a task
 * that gives back its payload has it twice.
 */
const MOST_STEPS = 2_200_000
const BYTES = 3_000_000

const outOfOrder = (at: number): string => `{"b":${at},"a":1}`
/** Many of one thing, as JSON. Each takes few bytes, so that many go into a request. */
const JSON_SHAPES: Readonly<Record<string, (at: number) => string>> = {
  numbers: () => '1',
  'short strings': () => '"w"',
  'different strings': (at) => `"${at.toString(36)}"`,
  'long strings': (at) => `"a string of some length ${at}"`,
  escapes: () => '"\\\\u0000\\\\n"',
  objects: () => '{}',
  arrays: () => '[[]]',
  'deep arrays': () => '['.repeat(500) + ']'.repeat(500),
  'deep objects': () => '{"a":'.repeat(500) + '1' + '}'.repeat(500),
  'rows with equal keys': (at) => `{"id":${at},"name":"n"}`,
  'rows with different keys': (at) => `{"${at.toString(36)}":1}`,
  operations: (at) => `{"type":"set","key":"k${at}","value":1}`,
  removals: (at) => `{"type":"remove","key":"a","value":{"b":${at}}}`,
  'rows out of order': outOfOrder,
}

interface Sent {
  readonly type: string
  readonly body: string
}

const JSON_TYPE = 'application/json'
const list = (size: number, item: (at: number) => string, between = ','): string => {
  const items: string[] = []
  for (let left = size; left > 0; left -= (items.at(-1)?.length ?? 0) + between.length)
    items.push(item(items.length))
  return items.join(between)
}
const members = (size: number): string => `{${list(size, (at) => `"${at.toString(36)}x":1`)}}`

/** Where a route may read it from. */
const AROUND: readonly ((value: string) => Sent)[] = [
  (value) => ({ type: JSON_TYPE, body: value }),
  (value) => ({ type: 'text/plain', body: value }),
  (value) => ({ type: '', body: value }),
  (value) => ({ type: JSON_TYPE, body: `{"output":${value}}` }),
  (value) => ({ type: JSON_TYPE, body: `{"payload":${value}}` }),
  (value) => ({
    type: JSON_TYPE,
    body: JSON.stringify({ payload: value, options: { payloadType: JSON_TYPE } }),
  }),
  (value) => ({
    type: JSON_TYPE,
    body: JSON.stringify({
      payload: `{"json":${value}}`,
      options: { payloadType: 'application/super+json' },
    }),
  }),
  (value) => ({
    type: JSON_TYPE,
    body: `{"payload":1,"options":{"metadata":{"m":${value}},"tags":${value}}}`,
  }),
  (value) => ({ type: JSON_TYPE, body: `{"metadata":{"m":${value}}}` }),
  (value) => ({ type: JSON_TYPE, body: `{"metadata":${value}}` }),
  (value) => ({ type: JSON_TYPE, body: `{"operations":${value}}` }),
  removal,
  (value) => ({ type: JSON_TYPE, body: `{"operations":[{"type":"append","key":"a","value":${value}}]}` }),
  (value) => ({ type: JSON_TYPE, body: `{"index":0,"task":"echo","payload":${value}}` }),
  (value) => ({ type: JSON_TYPE, body: `{"tags":${value},"scopes":${value}}` }),
]
/** Many of one thing that is no JSON value. */
const OTHERS: Readonly<Record<string, (size: number) => Sent>> = {
  fields: (size) => form(list(size, (at) => `${at}=b`, '&')),
  'equal fields': (size) => form(list(size, () => 'a=b', '&')),
  'fields without a name': (size) => form(list(size, () => '', '&') + '=&'.repeat(size / 2)),
  'escapes of a field': escapes,
  'letters of a charset': letters,
  parts: (size) => ({
    type: 'multipart/form-data; boundary=x',
    body: `${list(size, (at) => `--x\r\ncontent-disposition: form-data; name="${at}"\r\n\r\nv`, '\r\n')}\r\n--x--\r\n`,
  }),
  lines: (size) => ({ type: JSON_TYPE, body: list(size, () => '1', '\n') }),
  'lines with spaces': (size) => ({ type: JSON_TYPE, body: list(size, () => ' []', '\r\n') }),
  'empty lines': (size) => ({ type: JSON_TYPE, body: `${'\n'.repeat(size)}1` }),
  items: (size) => ({
    type: JSON_TYPE,
    body: list(size, (at) => `{"index":${at % 2},"task":"echo"}`, '\n'),
  }),
}

function removal(value: string): Sent {
  return {
    type: JSON_TYPE,
    body: `{"metadata":{"m":${value}},"operations":[{"type":"remove","key":"m","value":{"a":1,"b":1}}]}`,
  }
}

function escapes(size: number): Sent {
  return form(`a=${'%2c'.repeat(size / 3 - 1)}`)
}

function letters(size: number): Sent {
  return { type: 'text/plain; charset=latin1', body: '€'.repeat(size / 3) }
}

function form(body: string): Sent {
  return { type: 'application/x-www-form-urlencoded', body }
}

const value = fc
  .tuple(fc.constantFrom('members', ...Object.keys(JSON_SHAPES)), fc.nat({ max: AROUND.length - 1 }))
  .map(([shape, around]) => {
    const item = JSON_SHAPES[shape]
    const make = (size: number): string => (item === undefined ? members(size) : `[${list(size, item)}]`)
    return [`${shape} ${around}`, (size: number) => AROUND[around]?.(make(size))] as const
  })
const other = fc.constantFrom(...Object.entries(OTHERS))
const bodied = ROUTES.filter(({ body }) => body !== undefined)
const large = bodied.filter(({ path }) => /trigger|metadata|complete|callback|items|self/.test(path))
const draft = fc.record({
  row: fc.oneof(fc.constantFrom(...large), fc.constantFrom(...bodied)),
  shape: fc.oneof(value, other),
  size: fc.constantFrom<number[]>(60_000, 600_000, BYTES),
})

/** A removal looks at each item, whatever the order of its keys. */
const ofRemoval: [string, (size: number) => Sent] = [
  'rows out of order',
  (size) => removal(`[${list(size, outOfOrder)}]`),
]
const REMOVALS = bodied
  .filter(({ path }) => path.endsWith('/metadata'))
  .map((row): [{ row: typeof row; shape: typeof ofRemoval; size: number }] => [
    { row, shape: ofRemoval, size: 900_000 },
  ])

const DECODED = ['escapes of a field', 'letters of a charset'].flatMap((name) =>
  bodied
    .filter(({ route }) => route.includes('/callback/'))
    .map((row): [{ row: typeof row; shape: [string, (size: number) => Sent]; size: number }] => [
      { row, shape: [name, OTHERS[name]!], size: BYTES },
    ]),
)

describe('a request of any route, made of many of anything', () => {
  let world: World
  beforeAll(async () => {
    world = await makeWorld(
      {},
      Object.assign(testClock({ mode: 'manual', maxSteps: 1_000_000 }), { isTurnDue: turnsByTheQuestion() }),
    )
  })
  afterAll(() => world[Symbol.asyncDispose]())

  it('does bounded work between two turns of the event loop', async () => {
    let through = 0
    const law = fc.asyncProperty(draft, async ({ row, shape: [name, make], size }) => {
      const sent = make(size)
      const [method = ''] = row.route.split(' ')
      const headers = { authorization: `Bearer ${SECRET}`, 'content-type': sent?.type ?? '' }
      // One that is settled is answered without its body.
      const { id, url: tokenUrl } = await world.t.engine.wait.createToken({ timeout: '1d' })
      const names = { ...world.names, token: id, hash: tokenUrl.slice(-64) }
      const url = `http://engine.test${filled(row.path, names)}`
      using work = countTurnWork()
      const answering = world.handler(request(url, { method, headers, body: sent?.body ?? '' }))
      const status = await turning(world, answering)
      expect(work.most(), `${row.route}: ${name} ${size}, ${status}`).toBeLessThan(MOST_STEPS)
      if (status < 300) through += 1
    })
    await fc.assert(law, { numRuns: 90, examples: [...REMOVALS, ...DECODED] })
    expect(through).toBeGreaterThan(5)
  })
})

/** Of metadata with as many keys as there may be: their text is made or read once, and their entries are looked at once. */
const MOST_STEPS_A_CHANGE = 1_500_000

describe('a change of metadata with 19,000 keys', () => {
  it.each([
    ['that its attempt has', {}],
    ['of a run that is delayed', { delay: '1d' }],
  ] as const)('%s is a few looks at them, with turns between', async (_what, options) => {
    await using world = await makeWorld(
      {},
      Object.assign(testClock({ mode: 'manual', maxSteps: 1_000_000 }), { isTurnDue: turnsByTheQuestion() }),
    )
    const { id } = await world.t.engine.tasks.trigger('waits', world.names['token'], options)
    await world.t.clock.settle()
    const put = async (body: string): Promise<number> => {
      const headers = { authorization: `Bearer ${SECRET}`, 'content-type': JSON_TYPE }
      const url = `http://engine.test/api/v1/runs/${id}/metadata`
      return turning(world, world.handler(request(url, { method: 'PUT', headers, body })))
    }
    const keys = Array.from({ length: 19_000 }, (_, at) => `"k${at}":1`).join(',')
    using work = countTurnWork()
    expect(await put(`{"metadata":{${keys}}}`)).toBe(200)
    work.most()
    expect(await put('{"operations":[{"type":"set","key":"z","value":1}]}')).toBe(200)
    expect(work.most()).toBeLessThan(MOST_STEPS_A_CHANGE)
  })
})

/** Goes on turn by turn until a request is answered. */
async function turning({ t }: World, answering: Promise<Response>): Promise<number> {
  const progress = { isOver: false }
  const status = answering
    .then(async (response) => {
      await textOf(response)
      return response.status
    })
    .finally(() => (progress.isOver = true))
  while (!progress.isOver) {
    await new Promise<void>(inNextTurn)
    await t.clock.settle()
  }
  return status
}
