import { readdirSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { runs, type AnyTask } from 'waitpoint/sdk'
import { createTestEngine } from 'waitpoint/testing'
import {
  copyTaskFiles,
  type Ended,
  ourFile,
  PublishedExecutor,
  removeTaskFiles,
} from './published-executor.ts'

/** The file, the export, what else the file tells, and payloads to compare. */
const compared: readonly (readonly [
  file: string,
  task: string,
  journal: string | undefined,
  payloads: readonly unknown[],
])[] = [
  ['greetings', 'greet', undefined, [{ name: 'Ada' }]],
  ['greetings', 'described', undefined, [{ count: 2 }, { count: 'x' }]],
  ['checked', 'trim', undefined, [' text ']],
  ['checked', 'double', undefined, ['21']],
  [
    'checked',
    'register',
    undefined,
    [
      { email: 'A@B', age: '3' },
      { email: 'a', age: 1, isActive: false },
    ],
  ],
  ['children', 'measure', undefined, [{ text: 'abc' }, { text: '' }]],
  ['lifecycle', 'everyHook', 'calls', [{ fails: 0 }, { fails: 1 }, { fails: 2 }]],
  ['lifecycle', 'hopeless', 'calls', [undefined]],
  ['lifecycle', 'skipping', 'calls', [undefined]],
  ['failing', 'limited', undefined, [{ id: 'a' }]],
  ['failing', 'renamed', undefined, [undefined]],
  ['around', 'early', undefined, [undefined]],
  ['precise', 'priced', undefined, [undefined]],
  ['composed', 'upper', undefined, [{ value: 'abc' }]],
  ['composed', 'words', undefined, [{ value: ' a  b ' }]],
  ['composed', 'checked', undefined, [{ value: 1 }, { value: -1 }]],
  ['typed-helpers', 'area', undefined, [{ width: 2 }, { width: 2, height: 3 }]],
  ['typed-helpers', 'helped', undefined, [{ area: 9 }]],
  ['named-types', 'labels', undefined, [{ level: 'error' }, { level: 'none' }]],
  ['retrying', 'flaky', 'attempts', [{ succeedsAt: 1 }, { succeedsAt: 3 }, { succeedsAt: 9 }]],
  [
    'retrying',
    'decided',
    undefined,
    [[], ['limit'], ['limit', 'limit', 'limit'], ['abort'], ['fail'], ['limit', 'fail']].map((kinds) => ({
      kinds,
    })),
  ],
  ['retrying', 'once', 'attempts', [undefined]],
  [
    'thrown-values',
    'throwing',
    'caught',
    ['text', 'subclass', 'aggregate', 'plain', 'range'].map((what) => ({ what })),
  ],
  [
    'outputs',
    'making',
    undefined,
    [
      'nothing',
      'none',
      'zero',
      'date',
      'list',
      'dates',
      'bigints',
      'map',
      'missing',
      'nan',
      'url',
      'pattern',
      'error',
    ].map((what) => ({ what })),
  ],
  [
    'api-errors',
    'calling',
    'asked',
    [
      ...[0, 1, 400, 401, 403, 404, 408, 409, 422, 429, 500, 503].map((status) => ({ status })),
      { status: 429, resetAt: '32503680000000' },
      { status: 429, resetAt: 'soon' },
    ],
  ],
  ['outputs', 'echo', undefined, ['a', 0, null, undefined, [], { at: new Date(5) }, new Map([[1, 2n]])]],
  ['outputs', 'synchronous', undefined, [undefined]],
  ['older-schemas', 'byYup', undefined, [{ name: 'Ada', age: '36' }]],
  ['older-schemas', 'byStruct', undefined, [{ name: 'Ada' }]],
  ['older-schemas', 'byZod', undefined, [{ name: 'Ada', age: 36 }]],
  ['older-schemas', 'byFunction', undefined, [{ name: 'Ada', age: 1 }]],
  ['older-schemas', 'withoutSchema', undefined, ['text', { a: 1 }]],
  [
    'shaped',
    'onEvent',
    undefined,
    [
      { type: 'created', user: { id: '8c1f9f3e-5b43-4f0a-9a53-2d6d3f0a2f11', name: ' Ada ' } },
      { type: 'deleted', at: '2026-01-01' },
      { type: 'deleted', at: new Date(0), reason: 'asked' },
    ],
  ],
  ['shaped', 'paged', undefined, [{}, { limit: 5, cursor: 'x' }]],
  ['resources', 'querying', 'life', [{ fails: 0 }, { fails: 1 }, { fails: 2 }]],
  ['resources', 'initialized', 'life', [{ url: 'a' }, { url: 'b', fails: true }]],
  ['spoken', 'spoken', undefined, [{ items: [] }, { items: [1, 2] }]],
  [
    'around-each',
    'wrapped',
    'order',
    [{}, ...['run', 'before', 'after'].flatMap((throws) => [{ throws }, { throws, swallows: true }])],
  ],
  [
    'precise',
    'reorder',
    undefined,
    [
      {
        id: 5n,
        placedAt: new Date(7),
        prices: new Map([['tea', 2]]),
        tags: new Set(['a']),
        note: undefined,
      },
    ],
  ],
  ['dashboard', 'job', undefined, [{ fails: false }, { fails: true }]],
  ['newsletter', 'sendIssue', 'sent', [{ to: 'a', issue: '1' }]],
  [
    'invoice',
    'invoice',
    'alerts',
    [
      { customer: 'Ada', lines: [{ text: 'tea', cents: 250 }] },
      { customer: 'Ada', lines: [] },
      { customer: 'Ada', lines: [{ text: 'back', cents: -1 }] },
    ],
  ],
  ['default-export', 'default', undefined, [{ width: 400, height: 200 }]],
  ['whole-module', 'classified', 'kinds', [{}, { error: 'abort' }, { error: 'range' }]],
  ['video', 'transcode', 'removed', [{ frames: 50 }]],
  ['standard-schema', 'toEuro', undefined, [{ cents: 12 }, { cents: '1200' }]],
  ['valibot-like', 'period1', undefined, [{ from: '2026-01-01' }, { from: '2026-01-01', days: 3 }]],
  ['arktype-like', 'distance', undefined, [{ x: 3, y: 4 }]],
  ['housekeeping', 'slow', undefined, [{ name: 'one' }]],
  ['metered', 'metered', undefined, [{ rows: [1, 2] }]],
  ['saga', 'pay', 'steps', [{ card: 'good' }, { card: 'expired' }]],
  [
    'csv-import',
    'importRow',
    undefined,
    [
      { line: 1, cells: ['a', 'b'] },
      { line: 2, cells: [] },
    ],
  ],
  ['once-only', 'charge', undefined, [{ cents: 1 }]],
  ['audit-hooks', 'audited1', 'audit', [{ kind: 'fine' }, { kind: 'type' }, { kind: 'other' }]],
  ['tracing-middleware', 'convert', 'traces', [{ values: [100] }, { values: [1, 2] }, { values: [1, 2, 3] }]],
  ['whole-context', 'labeled', undefined, [{}]],
  ['later', 'remind', undefined, [{ text: 'a' }]],
  [
    'telemetry',
    'reduce',
    undefined,
    [
      {
        at: new Date(5),
        values: new Map([
          ['a', 1],
          ['b', -1],
        ]),
        raw: new Uint8Array([1, 2]),
        seen: new Set([1n, 3n]),
      },
    ],
  ],
  ['background', 'background', 'flushed', [{}, { fails: true }]],
  ['named-abort', 'wrapped', 'asked', [{ status: 200 }, { status: 404 }, { status: 500 }]],
  ['early', 'search', 'ends', [{ list: [1, 2], wanted: 2 }, { list: [1], wanted: 3 }, { list: [1] }]],
  ['limits', 'unlimited', undefined, [{ parts: 3 }]],
  ['with-defaults', 'confirm', undefined, [{ booking: 'b' }]],
  ['with-defaults', 'decline', undefined, [{}, { reason: 'full' }]],
  [
    'service',
    'book',
    undefined,
    [
      { account: 'a', cents: 5 },
      { account: 'a', cents: -2 },
      { account: 'a', cents: -9 },
    ],
  ],
  [
    'two-kinds',
    'caption',
    undefined,
    [
      { url: 'u', words: 2 },
      { url: 'u', words: 0 },
    ],
  ],
  ['by-id', 'translate', undefined, [{ text: 'a', to: 'el' }]],
  ['crawl-schedule', 'visit', 'visits', [{ site: 'a' }]],
  ['connection', 'copy', 'connections', [{ from: 'table' }, { from: 'table', fails: true }]],
  [
    'decisions',
    'decided',
    'questions',
    ['limited', 'skipped', 'patient', 'renamed', 'other'].flatMap((kind) =>
      [1, 2, 3, 9].map((until) => ({ kind, until })),
    ),
  ],
  [
    'paths',
    'changed',
    undefined,
    [
      [],
      [['set', '$.steps.decide', 'failed']],
      [['set', '$.deep.er', 1]],
      [['set', '$.a.b.c', 2]],
      [['set', '$.a.__proto__.polluted', 2]],
      [['set', '$.__proto__.polluted', 2]],
      [['set', '$.list.0', 9]],
      [['set', '$.list.7', 9]],
      [['set', '$.text.0', 9]],
      [['set', '$.new', { is: true }]],
      [['set', 'steps.decide', 1]],
      [['append', '$.a.list', { n: 2 }]],
      [['append', '$.a.none', [1]]],
      [['append', '$.a.b', 'more']],
      [['append', '$.none.list', 1]],
      [['append', '$.text', 'more']],
      [['append', 'text', 'more']],
      [['append', 'empty', 1]],
      [['remove', '$.a.list', { y: 2, x: 1 }]],
      [['remove', '$.a.b', 1]],
      [['remove', 'objects', { y: 2, x: 1 }]],
      [['remove', 'text', 'a text']],
      [['remove', 'missing', 1]],
      [['increment', '$.a.n']],
      [['increment', '$.a.m', 4]],
      [['decrement', '$.a.n', 4]],
      [['increment', '$.none.n', 4]],
      [['increment', 'text', 4]],
      [['decrement', 'text']],
      [['increment', 'empty', 2]],
      [
        ['increment', 'count'],
        ['decrement', 'count', 3],
      ],
      [['del', '$.a.n']],
    ].map((changes) => ({
      changes: [
        ['set', 'steps', { decide: 'running' }],
        ['set', 'a', { b: 1, n: 5, list: [{ x: 1, y: 2 }] }],
        ['set', 'list', [1, 2]],
        ['set', 'objects', [{ x: 1, y: 2 }, { x: 2 }]],
        ['set', 'text', 'a text'],
        ['set', 'empty', null],
        ...changes,
      ],
    })),
  ],
  ['nested-tries', 'upload', 'tried', [{ parts: ['a', 'b'] }, { parts: ['a', 'b'], fatal: 'b' }]],
  ['one-by-id', 'both', 'told', [{ until: 1 }, { until: 2 }, { until: 9 }]],
  [
    'refined',
    'buckets',
    'results',
    [
      { from: '2026-01-01', to: '2026-01-11' },
      { from: new Date(0), to: new Date(86_400_000), by: 'week' },
    ],
  ],
  ['attentive', 'attentive', 'noted', [{ sizes: [1, 2] }, { sizes: [1, 2], stopsAt: 1 }]],
  ['watching', 'count', undefined, [{ from: 3 }]],
  ['nothing-given', 'tick', undefined, [undefined]],
  ['signed-in', 'ping', undefined, [{ from: 'a' }]],
  [
    'plan-hooks',
    'planReport',
    'reports',
    ['a', 'flaky'].map((externalId) => ({
      scheduleId: 'sched_1',
      type: 'IMPERATIVE',
      timestamp: new Date(0),
      timezone: 'UTC',
      externalId,
      upcoming: [],
    })),
  ],
  ['pipeline', 'pipeline', undefined, [{ upTo: 3 }, { upTo: 0 }]],
  [
    'scheduled',
    'hourly',
    undefined,
    [{ scheduleId: 'sched_1', type: 'DECLARATIVE', timestamp: new Date(0), timezone: 'UTC', upcoming: [] }],
  ],
  ['cron-forms', 'attached', undefined, [{ externalId: 'ada' }, {}]],
  ['fan-out', 'scrape', undefined, [{ url: 'a' }, { url: 'missing' }]],
  ['postponed', 'reminder', undefined, [{ text: 'a' }]],
  ['queues', 'letter', undefined, [{ to: 'ada' }]],
  ['spans', 'spans', undefined, [{ names: ['a', 'bcd'] }]],
  ['gathered', 'digest', undefined, [{ changes: 2 }]],
  [
    'plans',
    'report',
    undefined,
    [
      {
        scheduleId: 'sched_1',
        type: 'IMPERATIVE',
        timestamp: new Date(0),
        timezone: 'UTC',
        externalId: 'ada',
        upcoming: [],
      },
    ],
  ],
  ['admission', 'greet', undefined, [{ name: 'Ada' }]],
]

const ASKS = 'it asks the hosted service'

/** The files of which no task is compared, and why: the executor runs one attempt by itself, without a service. */
const notCompared: Readonly<Record<string, string>> = {
  'across-files': `${ASKS}: every task of its own waits for children`,
  assistant: `${ASKS}: its streams are stored there`,
  conversation: `${ASKS}: its tasks wait for messages`,
  deliver: 'it asks a server of another party',
  'global-hooks': `${ASKS}: its task waits`,
  maintenance: `${ASKS}: its task changes a queue`,
  'older-calls': `${ASKS}: its streams are stored there`,
  patience: `${ASKS}: its task waits`,
  polling: `${ASKS}: its task waits`,
  'progress-tree': `${ASKS}: its tasks wait for children, and add tags`,
  progress: `${ASKS}: its tasks wait for children, or flush their metadata`,
  questions: `${ASKS}: its task waits for tokens`,
  'rate-limited': 'it asks a server of another party; requests are compared apart, below',
  refusals: 'it is about what only the service has',
  'service-names': 'it is about what only the service has',
  'streams-above': `${ASKS}: its streams are stored there`,
  settings: `${ASKS}: its variables lie there`,
  signature: `${ASKS}: its task waits for a token`,
  stopping: `${ASKS}: its tasks wait`,
  streaming: `${ASKS}: its streams are stored there`,
  tenants: 'its task tells the name of its queue, which the service finds',
  waits: `${ASKS}: its tasks wait`,
}

/** Where a hook throws, besides the run function or alone. */
const places = [
  'init',
  'onStart',
  'onStartAttempt',
  'onSuccess',
  'onComplete',
  'onFailure',
  'catchError',
  'before',
  'after',
]
const thrownIn = ['nowhere', 'run', ...places].flatMap((place) => [[place], ['run', place]])

let published: PublishedExecutor

beforeAll(async () => {
  copyTaskFiles()
  published = await PublishedExecutor.create()
})
afterAll(removeTaskFiles)

/** A run by an engine, as the executor of the published SDK would tell it. */
async function ourEnd(task: AnyTask, payload: unknown): Promise<Ended> {
  await using t = await createTestEngine({ tasks: [task] })
  t.engine.makeDefault()
  const { id } = await task.trigger(payload)
  const run = await runs.poll(id)
  const attempts = run.attemptCount
  return run.error === undefined
    ? { attempts, output: run.output as unknown }
    : { attempts, name: run.error.name, message: bare(run.error.message) }
}

/** An error of a hook has the name of its class in front, there. */
function bare(message: string): string {
  return message.replace(/^Error: /, '')
}

/** An end here, without the name of its error where the executor tells none. */
function toldAs(end: Ended, { name: theirs }: Ended): Ended {
  const { name, ...rest } = end
  return name === undefined || theirs === undefined ? rest : end
}

function withBareMessage(end: Ended): Ended {
  return end.message === undefined ? end : { ...end, message: bare(end.message) }
}

function taken(file: Readonly<Record<string, unknown>>, journal: string | undefined): readonly unknown[] {
  return journal === undefined ? [] : (file[journal] as unknown[]).splice(0)
}

it('every task file is compared, or the table says why not', () => {
  const files = readdirSync('test/adapters/sdk/files').map((name) => name.replace(/\.ts$/, ''))
  const named = new Set([
    ...compared.map(([name]) => name),
    'throwing-hooks',
    'requests',
    ...Object.keys(notCompared),
  ])
  expect([...named].toSorted()).toEqual(files.toSorted())
})

describe('a task ends as under the executor of the published SDK, with the calls of its hooks in one order', () => {
  it.each(compared)('%s: %s', async (name, exported, journal, payloads) => {
    using _log = vi.spyOn(console, 'log').mockImplementation(() => undefined)
    using _debug = vi.spyOn(console, 'debug').mockImplementation(() => undefined)
    using _info = vi.spyOn(console, 'info').mockImplementation(() => undefined)
    using _warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    using _error = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    const theirs = await published.file(name)
    const ours = await ourFile(name)
    const task = ours[exported] as AnyTask
    for (const payload of payloads) {
      const end = await published.execute(task.id, payload)
      const expected = [withBareMessage(end), taken(theirs, journal)]
      expect([toldAs(await ourEnd(task, payload), end), taken(ours, journal)]).toEqual(expected)
    }
  })

  it.each(thrownIn)('when %s and %s throw', async (...at) => {
    const theirs = await published.file('throwing-hooks')
    const ours = await ourFile('throwing-hooks')
    const end = await published.execute('throwing', { at })
    const expected = [withBareMessage(end), taken(theirs, 'journal')]
    const our = toldAs(await ourEnd(ours['throwing'] as AnyTask, { at }), end)
    expect([our, taken(ours, 'journal')]).toEqual(expected)
  })
})

/** What a server of another party does. */
type Answered =
  readonly [status: number, body?: unknown, headers?: Record<string, string>] | 'refused' | 'silent' | 'odd'

const once = { maxAttempts: 2, minTimeoutInMs: 1, maxTimeoutInMs: 1 }
const backoff = { strategy: 'backoff', ...once }
const inTheBody = (bodyFilter: object): object => ({
  byStatus: { '4xx': { ...backoff, bodyFilter }, 409: backoff },
})
const told = {
  error: { code: 'rate_limit', tries: 3, isFinal: false, hints: ['wait', 'later'], of: null },
  list: [{ name: 'one' }, { name: 'two' }],
}
const content = (filter: object): object => ({ error: { code: [filter] } })
const filters: readonly object[] = [
  {},
  { error: {} },
  { error: { code: [] } },
  { error: { code: ['rate_limit', 'busy'] } },
  { error: { code: ['busy'] } },
  { error: { tries: [1, 3] } },
  { error: { isFinal: [true] } },
  { error: { isFinal: [false] } },
  { list: { name: ['two'] } },
  { list: { name: ['three'] } },
  { missing: {} },
  { missing: { deeper: ['a'] } },
  { missing: [{ $exists: false }] },
  { error: { of: [{ $isNull: true }] } },
  { error: { of: [{ $exists: true }] } },
  { error: { of: [{ $not: 'a' }] } },
  { error: { of: {} } },
  { error: { hints: [{ $includes: 'later' }] } },
  { error: { hints: [{ $not: 'later' }] } },
  { error: { hints: [{ $anythingBut: 'later' }] } },
  { error: { tries: [{ $gt: 3 }] } },
  { error: { tries: [{ $gte: 3 }, { $lt: 4 }] } },
  { error: { tries: [{ $lte: 2 }] } },
  { error: { tries: [{ $between: [1, 3] }] } },
  { error: { tries: [{ $anythingBut: [1, 3] }] } },
  { error: { tries: [{ $startsWith: '3' }] } },
  ...[
    { $startsWith: 'rate' },
    { $startsWith: 'limit' },
    { $endsWith: 'limit' },
    { $ignoreCaseEquals: 'RATE_Limit' },
    { $ignoreCaseEquals: 'rate-limit' },
    { $not: 'rate_limit' },
    { $not: 'other' },
    { $exists: false },
    { $isNull: false },
    { $gt: 1 },
  ].map(content),
]

const requests: readonly (readonly [what: string, init: object | undefined, answers: readonly Answered[]])[] =
  [
    ['an answer', undefined, [[200, 'yes']]],
    ['a status that is none of the usual', undefined, [[404], [200]]],
    [
      'headers and a method',
      { method: 'PUT', headers: { 'X-Own': 'a' }, retry: inTheBody({}) },
      [[409], [200]],
    ],
    [
      'the last try',
      { retry: { byStatus: { 503: { ...backoff, maxAttempts: 3 } } } },
      [[503], [503], [503, 'last']],
    ],
    [
      'at most ten requests',
      { retry: { byStatus: { all: { ...backoff, maxAttempts: 99 } } } },
      Array(11).fill([500]),
    ],
    [
      'the first range that fits',
      { retry: { byStatus: { '400-404, 50x': backoff, '5xx': { ...backoff, maxAttempts: 1 } } } },
      [[502], [504]],
    ],
    ['no range that fits', { retry: { byStatus: { '501-503': backoff } } }, [[504], [200]]],
    [
      'a policy without delays',
      { retry: { byStatus: { '5xx': { ...backoff, minTimeoutInMs: 0 } } } },
      [[500], [200]],
    ],
    ['a connection', { retry: { connectionError: once } }, ['refused', [200]]],
    ['a connection for the last time', { retry: { connectionError: once } }, ['refused', 'refused', [200]]],
    ['a connection, with one try', { retry: { connectionError: { maxAttempts: 1 } } }, ['refused', [200]]],
    [
      'a connection without delays',
      { retry: { connectionError: { ...once, minTimeoutInMs: 0 } } },
      ['refused', [200]],
    ],
    ['an error that is none of the connection', { retry: { connectionError: once } }, ['odd', [200]]],
    ['a time-out', { timeoutInMs: 1, retry: { timeout: once } }, ['silent', [200]]],
    [
      'a time-out for the last time',
      { timeoutInMs: 1, retry: { timeout: once } },
      ['silent', 'silent', [200]],
    ],
    ...[
      'unix_timestamp',
      'unix_timestamp_in_ms',
      'iso_8601',
      'iso_8601_duration_openai_variant',
      undefined,
    ].flatMap((resetFormat) =>
      ['1', '1ms', '0.001s', '5s1m', 'in 1ms', '1970-01-01T00:00:01Z', 'soon', ''].map(
        (reset): (typeof requests)[number] => [
          `the header "${reset}" as ${resetFormat ?? 'the usual format'}`,
          {
            retry: {
              byStatus: {
                429: {
                  strategy: 'headers',
                  limitHeader: 'l',
                  remainingHeader: 'r',
                  resetHeader: 'x-reset',
                  resetFormat,
                },
              },
            },
          },
          [[429, 'wait', { 'x-reset': reset }], [200]],
        ],
      ),
    ),
    [
      'no header',
      {
        retry: {
          byStatus: {
            429: { strategy: 'headers', limitHeader: 'l', remainingHeader: 'r', resetHeader: 'x' },
          },
        },
      },
      [[429], [200]],
    ],
    ...filters.map((filter): (typeof requests)[number] => [
      `the filter ${JSON.stringify(filter)}`,
      { retry: inTheBody(filter) },
      [[400, told], [200]],
    ]),
    ...['', 'null', '0', 'no JSON', '""', '"text"', '[]'].map((body): (typeof requests)[number] => [
      `the filter {} of the body ${body}`,
      { retry: inTheBody({}) },
      [[400, body], [200]],
    ]),
    [
      'the next strategy where a filter does not fit',
      { retry: inTheBody({ code: ['x'] }) },
      [[409, told], [200]],
    ],
  ]

/** A server, and what it was asked. */
function serverOf(answers: readonly Answered[]): { asked: unknown[]; fetch: typeof fetch } {
  const left = [...answers]
  const asked: unknown[] = []
  const answer = async (_url: unknown, init: RequestInit = {}): Promise<Response> => {
    asked.push([init.method, init.headers])
    const next = left.shift() ?? 'odd'
    if (next === 'odd') throw new TypeError('an option of fetch')
    if (next === 'refused') throw new TypeError('fetch failed', { cause: new Error('ECONNREFUSED') })
    if (next === 'silent')
      return new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')))
      })
    const [status, body = 'no', headers = {}] = next
    return new Response(typeof body === 'string' ? body : JSON.stringify(body), { status, headers })
  }
  return { asked, fetch: answer }
}

describe('retry.fetch asks as often as there, and ends as there', () => {
  it.each(requests)('after %s', async (_what, init, answers) => {
    using fetch = vi.spyOn(globalThis, 'fetch')
    using _warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    await published.file('requests')
    const ours = await ourFile('requests')
    const payload = { url: 'http://example.invalid/', init }
    const there = serverOf(answers)
    fetch.mockImplementation(there.fetch)
    const end = await published.execute('request', payload)
    const here = serverOf(answers)
    fetch.mockImplementation(here.fetch)
    expect([toldAs(await ourEnd(ours['request'] as AnyTask, payload), end), here.asked]).toEqual([
      end,
      there.asked,
    ])
  })
})
