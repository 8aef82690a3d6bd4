import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inNextTurn } from '../../src/clock/macrotask-turn.ts'
import { testClock } from 'waitpoint/testing'
import { list, MOST_CHARACTERS, mostOf, outOfOrder, VALUES, valueOf } from '../support/many-parts.ts'
import { countTurnWork } from '../support/turn-work.ts'
import { turnsByTheQuestion } from '../support/turns-by-the-question.ts'
import { request, SECRET, textOf } from './requests.ts'
import { filled, makeWorld, ROUTES, type World } from './route-table.ts'

/**
 * Steps of {@link countTurnWork} between two turns. A body that is as large as it may be has a million, for its parts alone; a task
 * that gives back its payload has it twice.
 */
const MOST_STEPS = 2_200_000

interface Sent {
  readonly type: string
  readonly body: string
}

interface Shape {
  readonly name: string
  readonly make: (size: number) => Sent | undefined
  /** As large as it may be. */
  readonly most: () => number
}

const JSON_TYPE = 'application/json'
/** Where a route may read it from. */
const AROUND: readonly ((value: string) => Sent)[] = [
  (value) => ({ type: JSON_TYPE, body: value }),
  (value) => ({ type: 'text/plain', body: value }),
  (value) => ({ type: '', body: value }),
  (value) => ({ type: JSON_TYPE, body: `{"output":${value}}` }),
  (value) => ({ type: JSON_TYPE, body: `{"payload":${value}}` }),
  textPayload,
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
  answer,
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

function textPayload(value: string): Sent {
  return { type: JSON_TYPE, body: JSON.stringify({ payload: value, options: { payloadType: JSON_TYPE } }) }
}

function asText(size: number): Sent {
  return textPayload(`[${list(size, () => '1')}]`)
}

/** As the page of a question sends it. */
function answer(value: string): Sent {
  return form(`form=1&answer=${value}`)
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
  .tuple(fc.constantFrom(...VALUES), fc.nat({ max: AROUND.length - 1 }))
  .map(([parts, around]): Shape => ({
    name: `${parts} ${around}`,
    make: (size) => AROUND[around]?.(valueOf(parts, size)),
    most: () => mostOf(parts),
  }))
const other = fc.constantFrom(
  ...Object.entries(OTHERS).map(([name, make]): Shape => ({ name, make, most: () => MOST_CHARACTERS })),
)
const bodied = ROUTES.filter(({ body }) => body !== undefined)
const large = bodied.filter(({ path }) => /trigger|metadata|complete|callback|items|self|answer/.test(path))
const draft = fc.record({
  row: fc.oneof(fc.constantFrom(...large), fc.constantFrom(...bodied)),
  shape: fc.oneof(value, other),
  size: fc.constantFrom<(number | 'most')[]>(60_000, 600_000, 'most'),
})

type Example = [{ row: (typeof bodied)[number]; shape: Shape; size: number }]

/** A shape of a size, at the routes whose address has this in it. */
const at = (part: string, size: number, name: string, make: Shape['make']): Example[] =>
  bodied
    .filter(({ route }) => route.includes(part))
    .map((row) => [{ row, shape: { name, make, most: () => size }, size }])

const EXAMPLES: readonly Example[] = [
  // A removal looks at each item, whatever the order of its keys.
  ...at('/metadata', 900_000, 'rows out of order', (size) => removal(`[${list(size, outOfOrder)}]`)),
  ...at('/callback/', MOST_CHARACTERS, 'escapes of a field', escapes),
  ...at('/callback/', MOST_CHARACTERS, 'letters of a charset', letters),
  ...at('POST /answer/', 60_000, 'keys of an answer', (size) => answer(valueOf('members', size))),
  // The run begins in the turn of its trigger, and reads what was just read.
  ...at('/tasks/', 1_900_000, 'numbers as text', asText),
]

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
    const law = fc.asyncProperty(draft, async ({ row, shape: { name, make, most }, size }) => {
      const sent = make(size === 'most' ? most() : size)
      const [method = ''] = row.route.split(' ')
      const headers = { authorization: `Bearer ${SECRET}`, 'content-type': sent?.type ?? '' }
      // One that is settled is answered without its body.
      const { id, url: tokenUrl, link } = await world.t.engine.wait.createToken({ message: 'What?' })
      const names = { ...world.names, token: id, hash: tokenUrl.slice(-64), proof: link.slice(-43) }
      const url = `http://engine.test${filled(row.path, names)}`
      using work = countTurnWork()
      const answering = world.handler(request(url, { method, headers, body: sent?.body ?? '' }))
      const status = await turning(world, answering)
      expect(work.most(), `${row.route}: ${name} ${size}, ${status}`).toBeLessThan(MOST_STEPS)
      if (status < 300) through += 1
    })
    await fc.assert(law, { numRuns: 90, examples: [...EXAMPLES] })
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
