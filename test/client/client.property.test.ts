import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CreateTokenOptions,
  type ListRunsParams,
  type ListTokensParams,
  task,
  type TriggerOptions,
} from 'waitpoint'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { SECRET } from '../http/requests.ts'
import { cases } from '../support/cases.ts'
import { collect } from '../support/streams.ts'
import { type Namespaces, reachedEngine } from './reached-engine.ts'

/** One operation of a program; tokens and runs are named by their place among those there are. */
type Operation = (names: Namespaces, made: Made, t: TestEngine) => Promise<unknown>

interface Made {
  readonly tokens: string[]
  readonly runs: string[]
}

const echo = task({
  id: 'echo',
  // Ids and jitter are drawn from one source: which comes first is a matter of turns, of which a client takes more.
  retry: { maxAttempts: 1, randomize: false },
  run: async (
    payload: { readonly value?: unknown; readonly fails?: string; readonly token?: string },
    tools,
  ) => {
    tools.metadata.set('seen', true)
    if (payload.fails !== undefined) throw new TypeError(payload.fails)
    if (payload.token !== undefined) return tools.wait.forToken(payload.token)
    return payload.value
  },
})

const TAGS = ['a', 'b', 'c d', 'é']
const KEYS = ['k1', 'k2']
const instants = fc.integer({ min: -60_000, max: 3_600_000 }).map((ms) => new Date(Date.UTC(2000) + ms))
const timeouts = fc.oneof(
  fc.constantFrom<unknown>('10m', '1.5h', '1h30m', 5_000, 1_500, 0, '2 days', '0s'),
  fc.constantFrom<unknown>('soon', '', '10', -1, NaN, null, {}, '2000-02-30', 'P1D', new Date(NaN)),
  instants,
  instants.map((date) => date.toISOString()),
)
const keyed = {
  idempotencyKey: fc.constantFrom<unknown>(...KEYS, ...KEYS, 'k'.repeat(2_048), 'k'.repeat(2_049)),
  idempotencyKeyTTL: fc.constantFrom<unknown>('1m', '1h', 30_000, 'later'),
}
const createOptions = fc.record(
  {
    timeout: timeouts,
    tags: fc.oneof(
      fc.constantFrom<unknown>(...TAGS),
      fc.subarray(TAGS),
      fc.constantFrom<unknown>('', ['a', '']),
    ),
    ...keyed,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<CreateTokenOptions>
const filters = fc.record(
  {
    status: fc.oneof(
      fc.constantFrom<unknown>('WAITING', 'COMPLETED', 'TIMED_OUT', 'DONE'),
      fc.subarray(['WAITING', 'COMPLETED', 'TIMED_OUT']),
    ),
    tags: fc.subarray(TAGS),
    idempotencyKey: fc.constantFrom(...KEYS),
    period: fc.constantFrom<unknown>('1h', '1d', 60_000, 'ever'),
    from: fc.oneof(instants, fc.constant(0)),
    to: instants,
    limit: fc.constantFrom(1, 2, 25, 100, 0, 101, 1.5),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ListTokensParams>
const runFilters = fc.record(
  {
    status: fc.oneof(
      fc.constantFrom<unknown>('COMPLETED', 'WAITING', 'DONE'),
      fc.subarray(['FAILED', 'DELAYED']),
    ),
    taskIdentifier: fc.constantFrom('echo', 'other'),
    tag: fc.subarray(TAGS),
    period: fc.constantFrom<unknown>('1h', 60_000),
    limit: fc.constantFrom(1, 2, 25),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<ListRunsParams>
const outputs = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(undefined, '', 'text', 10n, () => 1, new Date(0), { at: new Map() }, NaN),
)
const places = fc.nat({ max: 5 })

function at(ids: readonly string[], place: number, prefix: string): string {
  return ids[place] ?? `${prefix}_${'0'.repeat(26)}`
}

const tokenOperations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: createOptions.map((options): Operation => async ({ wait }, { tokens }) => {
      const token = await wait.createToken(options)
      tokens.push(token.id)
      return { ...token }
    }),
  },
  {
    weight: 4,
    arbitrary: fc.tuple(places, outputs).map(
      ([place, output]): Operation =>
        ({ wait }, { tokens }) =>
          wait.completeToken(at(tokens, place, 'waitpoint'), output),
    ),
  },
  {
    weight: 3,
    arbitrary: places.map(
      (place): Operation =>
        ({ wait }, { tokens }) =>
          wait.retrieveToken(at(tokens, place, 'waitpoint')),
    ),
  },
  {
    weight: 2,
    arbitrary: filters.map(
      (params): Operation =>
        ({ wait }) =>
          collect(wait.listTokens(params)),
    ),
  },
  {
    weight: 1,
    arbitrary: filters.map((params): Operation => async ({ wait }) => {
      const page = await wait.listTokens(params)
      const next = page.hasNextPage() ? await page.getNextPage() : undefined
      return [page.data, page.pagination, next?.data, next?.pagination]
    }),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom(1, 1_000, 60_000, 600_000, 3_600_000).map(
      (ms): Operation =>
        (_names, _made, { clock }) =>
          clock.advance(ms),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<unknown>('', 'run_1', 'waitpoint_a/../b', 'waitpoint_?', null, {}).map(
      (id): Operation =>
        ({ wait }) =>
          wait.retrieveToken(id as string),
    ),
  },
)

const triggerOptions = fc.record(
  {
    delay: timeouts,
    ttl: fc.constantFrom<unknown>(60, '1h', 'soon', -1),
    tags: fc.subarray(TAGS),
    metadata: fc.constantFrom<unknown>({ a: 1 }, {}, null),
    maxAttempts: fc.constantFrom(1, 2, 0, 1.5),
    maxDuration: fc.constantFrom<unknown>(60, '5m', 'long'),
    queue: fc.constantFrom<unknown>({ name: 'q' }, { name: '' }),
    ...keyed,
  },
  { requiredKeys: [] },
) as fc.Arbitrary<TriggerOptions>

const runOperations: fc.Arbitrary<Operation> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.oneof(
          fc.jsonValue().map((value) => ({ value })),
          fc.constantFrom({ fails: 'no' }, { value: undefined }),
        ),
        triggerOptions,
      )
      .map(([payload, options]): Operation => async ({ tasks }, { runs }) => {
        const run = await tasks.trigger<typeof echo>('echo', payload, options)
        runs.push(run.id)
        return { id: run.id, isCached: run.isCached, publicAccessToken: run.publicAccessToken }
      }),
  },
  {
    weight: 1,
    arbitrary: places.map((place): Operation => async ({ tasks }, { tokens, runs }) => {
      const run = await tasks.trigger<typeof echo>('echo', { token: at(tokens, place, 'waitpoint') })
      runs.push(run.id)
      return run.id
    }),
  },
  {
    weight: 3,
    arbitrary: places.map(
      (place): Operation =>
        ({ runs }, made) =>
          runs.retrieve(at(made.runs, place, 'run')),
    ),
  },
  {
    weight: 2,
    arbitrary: places.map(
      (place): Operation =>
        ({ runs }, made) =>
          runs.poll(at(made.runs, place, 'run')),
    ),
  },
  {
    weight: 1,
    arbitrary: places.map(
      (place): Operation =>
        ({ runs }, made) =>
          runs.cancel(at(made.runs, place, 'run')),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(places, fc.constantFrom('1h', 60_000, 'soon')).map(
      ([place, delay]): Operation =>
        ({ runs }, made) =>
          runs.reschedule(at(made.runs, place, 'run'), { delay }),
    ),
  },
  {
    weight: 1,
    arbitrary: places.map((place): Operation => async ({ runs }, made) => {
      const run = await runs.replay(at(made.runs, place, 'run'))
      made.runs.push(run.id)
      return run.outcome()
    }),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<TriggerOptions>({}, { metadata: { a: 10n } }).map(
      (options): Operation =>
        ({ tasks }) =>
          tasks.trigger<typeof echo>('echo', { value: options.metadata ?? new Map() }, options),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('other', 'a/b?c').map(
      (id): Operation =>
        ({ tasks }) =>
          tasks.trigger(id, null),
    ),
  },
  {
    weight: 2,
    arbitrary: runFilters.map((params): Operation => async ({ runs }) => {
      const listed = await collect(runs.list(params))
      // Over HTTP a list is without what may be large.
      return listed.map(({ payload: _payload, output: _output, error: _error, ...rest }) => rest)
    }),
  },
)

/** What became of an operation: its answer, or its error as far as callers tell errors apart. */
async function told(operation: Promise<unknown>): Promise<unknown> {
  try {
    return { answer: await operation }
  } catch (error) {
    const { name, code } = error as { readonly name: string; readonly code?: string }
    // Over the wire it is known that the input was wrong, not in which way.
    return { error: code ?? (name === 'TypeError' ? 'RangeError' : name) }
  }
}

async function carryOut(program: readonly Operation[], names: Namespaces, t: TestEngine): Promise<unknown[]> {
  const made: Made = { tokens: [], runs: [] }
  const answers: unknown[] = []
  for (const operation of program) {
    answers.push(await told((async () => operation(names, made, t))()))
    // A client takes more turns to ask the next: what was begun is to be as far in both.
    await t.clock.settle()
  }
  return [...answers, await everything(t)].map((answer) => named(answer, [...made.runs, ...made.tokens]))
}

/**
 * Removes ids, the values computed from them, stacks, the way that an answer came, and what a client has not. An engine may use up an id for a run that it then refuses, and
 * the stack of an error depends on the order of turns.
 */
function named(value: unknown, ids: readonly string[]): unknown {
  if (typeof value === 'string') {
    const [, claims] = /^eyJ[^.]*[.]([^.]+)[.]/.exec(value) ?? []
    const text = claims === undefined ? value : Buffer.from(claims, 'base64url').toString()
    const shown = ids.reduce((before, id, index) => before.replaceAll(id, `number ${index}`), text)
    return shown.replace(/callback\/[0-9a-f]{64}$/, 'callback')
  }
  if (Array.isArray(value)) return value.map((item) => named(item, ids))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  const message = value instanceof Error ? { message: value.message } : {}
  const members = Object.entries({ ...value, ...message }).filter(
    ([name]) => !['stack', 'answeredBy', 'link'].includes(name),
  )
  return Object.fromEntries(members.map(([name, inner]) => [name, named(inner, ids)]))
}

async function bothWays(program: readonly Operation[]): Promise<void> {
  const clock = { onUnanswered: 'timeout' } as const
  const retention = { maxAge: '1y' }
  const options = { tasks: [echo], secretKey: SECRET, baseUrl: 'http://engine.test', clock, retention }
  await using direct = await createTestEngine(options)
  await using reached = await reachedEngine(options)
  const expected = await carryOut(program, direct.engine, direct)
  const answers = await carryOut(program, reached.client, reached)
  expect(answers).toEqual(expected)
}

/** All there is two hours later. */
async function everything({ clock, engine }: TestEngine): Promise<unknown> {
  await clock.advance('2h')
  return [await collect(engine.runs.list()), await collect(engine.wait.listTokens())]
}

describe('a client beside the engine itself', () => {
  it('answers the same to any program of token operations', () =>
    fc.assert(fc.asyncProperty(fc.array(tokenOperations, { maxLength: 12 }), bothWays), {
      numRuns: cases(150),
    }))

  it('answers the same to any program of runs and tokens', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(runOperations, runOperations, tokenOperations), { maxLength: 12 }),
        bothWays,
      ),
      { numRuns: cases(100) },
    ))
})
