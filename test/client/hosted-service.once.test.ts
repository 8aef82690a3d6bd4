import { describe, expect, it } from 'vitest'
import { rejection } from '../support/body-task.ts'
import { collect } from '../support/streams.ts'
import { json, StubService, textBody } from './stub-service.ts'

const AT = '2000-01-01T00:00:00.000Z'
const token = { id: 'waitpoint_1', url: 'u', status: 'WAITING', tags: [], createdAt: AT }
const row = {
  id: '1',
  friendlyId: 'run_1',
  taskIdentifier: 't',
  status: 'EXECUTING',
  createdAt: '2000-01-01T00:00:00',
  updatedAt: '2000-01-01T00:00:00',
  runTags: '{"a","b \\"c\\""}',
  payload: '{"json":{"n":1}}',
  payloadType: 'application/super+json',
  attemptNumber: '1',
  isTest: 'f',
  realtimeStreams: '{}',
  completedAt: null,
}
const SCHEMA = JSON.stringify({
  runTags: { type: 'text', dims: 1 },
  realtimeStreams: { type: 'text', dims: 1 },
  attemptNumber: { type: 'int4' },
  isTest: { type: 'bool' },
})

/** An answer of the shape protocol; of the first one the schema is known from then on. */
function shape(offset: string, operation: string, value?: object): Response {
  const up = { headers: { control: 'up-to-date' } }
  const messages = value === undefined ? [up] : [{ key: 'k', value, headers: { operation } }, up]
  return json(messages, {
    headers: {
      'electric-offset': offset,
      'electric-handle': 'h',
      ...(operation === 'insert' ? { 'electric-schema': SCHEMA } : { 'electric-cursor': '9' }),
    },
  })
}

/** The answer to an address that it does not know. */
const NO_SUCH_PAGE = (): Response => new Response('<!DOCTYPE html><h1>Not found</h1>', { status: 404 })

const sse = (...parts: (string | Error)[]): Response => textBody(parts)
const batch = (...records: object[]): string => `event: batch\ndata: ${JSON.stringify({ records })}\n\n`
const record = (seq: number, data: unknown, id = `r${seq}`): object => ({
  body: JSON.stringify({ data, id }),
  seq_num: seq,
  timestamp: 0,
})

describe('a client of the hosted service', () => {
  it('says durations in its words, and completes with the field that it reads', async () => {
    const stub = new StubService([
      json({ id: 'waitpoint_1', isCached: true, url: 'u' }),
      json({ success: true }),
    ])
    const { wait } = stub.client
    const options = { timeout: '1.5h', idempotencyKey: 'k', idempotencyKeyTTL: 90_000, tags: ['a'] }
    expect((await wait.createToken(options)).isCached).toBe(true)
    expect(await wait.completeToken('waitpoint_1', { at: new Date(0) })).toEqual({
      success: true,
      status: 'COMPLETED',
    })
    expect(stub.bodies.map((body) => JSON.parse(body) as unknown)).toEqual([
      { timeout: '5400s', idempotencyKey: 'k', idempotencyKeyTTL: '90s', tags: ['a'] },
      { data: { at: '1970-01-01T00:00:00.000Z' } },
    ])
    expect(stub.asked.map(({ url }) => url)).toEqual([
      'https://api.test/base/api/v1/waitpoints/tokens',
      'https://api.test/base/api/v1/waitpoints/tokens/waitpoint_1/complete',
    ])
  })

  it.each([
    ['PENDING_VERSION', 'PENDING_VERSION', true],
    ['WAITING_FOR_DEPLOY', 'PENDING_VERSION', true],
    ['DEQUEUED', 'EXECUTING', false],
    ['FROZEN', 'WAITING', false],
  ])('reads the status %s', async (wire, status, isQueued) => {
    const run = { id: 'run_1', taskIdentifier: 't', status: wire, createdAt: AT, updatedAt: AT, tags: [] }
    const { runs } = new StubService([json(run)]).client
    expect(await runs.retrieve('run_1')).toMatchObject({ status, isQueued, isCompleted: false })
    const stub = new StubService([NO_SUCH_PAGE, shape('0_0', 'insert', { ...row, status: wire })])
    for await (const seen of stub.client.runs.subscribeToRun('run_1')) {
      expect(seen).toMatchObject({ status, isQueued })
      break
    }
  })

  it('reads no attempts in a form that is not that of an engine', async () => {
    const older = {
      id: 'attempt_1',
      status: 'FAILED',
      createdAt: AT,
      updatedAt: AT,
      error: { message: 'no' },
    }
    const own = { number: 2, startedAt: AT, endedAt: AT, error: { name: 'Error', message: 'no' } }
    const run = { id: 'run_1', taskIdentifier: 't', status: 'FAILED', createdAt: AT, attempts: [older, own] }
    const { runs } = new StubService([json(run)]).client
    expect((await runs.retrieve('run_1')).attempts).toMatchObject([{ number: 2, startedAt: new Date(AT) }])
  })

  it.each([
    [{ output: '{"json":{"a":1}}', outputType: 'application/super+json' }, { a: 1 }],
    [{ output: '{"json":null}', outputType: 'application/super+json' }, null],
    [{ output: '[1]', outputType: 'application/json' }, [1]],
    [{ output: 'text', outputType: 'text/plain' }, 'text'],
    [{ outputType: 'application/json' }, undefined],
  ])('reads the output %j', async (output, value) => {
    const wire = {
      ...token,
      status: 'COMPLETED',
      userProvidedIdempotencyKey: false,
      idempotencyKey: 'x',
      ...output,
    }
    const retrieved = await new StubService([json(wire)]).client.wait.retrieveToken('waitpoint_1')
    expect(retrieved.output).toEqual(value)
    expect(retrieved).not.toHaveProperty('idempotencyKey')
    expect(retrieved.timeoutAt).toEqual(new Date(8.64e15))
  })

  it('fetches an output that was too large to travel, and sends its credential to no other host', async () => {
    const stub = new StubService([
      json({ ...token, status: 'COMPLETED', output: 'a/token.json', outputType: 'application/store' }),
      json({ presignedUrl: 'https://store.test/object' }),
      new Response('{"json":{"large":true}}', { headers: { 'content-type': 'application/super+json' } }),
    ])
    expect((await stub.client.wait.retrieveToken('waitpoint_1')).output).toEqual({ large: true })
    expect(stub.paths[1]).toBe('GET /base/api/v1/packets/a/token.json')
    expect(stub.asked[2]?.headers.get('authorization')).toBeNull()
  })

  it('says that a service cannot be reached when what it stored breaks off', async () => {
    const stub = new StubService([
      json({ ...token, status: 'COMPLETED', output: 'a.json', outputType: 'application/store' }),
      json({ presignedUrl: 'https://store.test/a' }),
      textBody(['{"la', new Error('reset')]),
    ])
    expect(await rejection(stub.client.wait.retrieveToken('waitpoint_1'))).toMatchObject({
      code: 'ERR_API_UNAVAILABLE',
    })
  })

  it('follows a run by its rows, of which updates carry only what has changed', async () => {
    const stub = new StubService([
      NO_SUCH_PAGE,
      shape('0_0', 'insert', row),
      shape('0_1', 'update', { status: 'WAITING_TO_RESUME' }),
      shape('0_1', 'update'),
      json({}, { status: 409 }),
      shape('0_5', 'insert', { ...row, runTags: null }),
      () => Promise.reject(new TypeError('reset')),
      shape('0_6', 'update', {
        status: 'SYSTEM_FAILURE',
        completedAt: '2000-01-01T00:00:05',
        error: { type: 'STRING_ERROR', raw: 'no' },
      }),
    ])
    const runs = await stub.clock.until(collect(stub.client.runs.subscribeToRun('run_1')), { within: '1h' })
    expect(runs.map(({ status, tags }) => [status, tags])).toEqual([
      ['EXECUTING', ['a', 'b "c"']],
      ['WAITING', ['a', 'b "c"']],
      ['EXECUTING', []],
      ['CRASHED', []],
    ])
    expect(runs[0]).toMatchObject({ payload: { n: 1 }, attemptCount: 1, createdAt: new Date(AT) })
    expect(runs[3]).toMatchObject({ error: { message: 'no' }, finishedAt: new Date('2000-01-01T00:00:05Z') })
    const follow = 'GET /base/realtime/v1/runs/run_1?log=full&offset='
    expect(stub.paths).toEqual([
      'GET /base/api/v1/runs/run_1/stream?ids=none&streams=none',
      `${follow}-1`,
      `${follow}0_0&handle=h&live=true`,
      `${follow}0_1&handle=h&live=true&cursor=9`,
      `${follow}0_1&handle=h&live=true&cursor=9`,
      `${follow}-1`,
      `${follow}0_5&handle=h&live=true`,
      `${follow}0_5&handle=h&live=true`,
    ])
  })

  it.each([400, 404, 410])(
    'rejects when its streams answer %i, instead of ending the process',
    async (status) => {
      const stub = new StubService([
        NO_SUCH_PAGE,
        shape('0_0', 'insert', { ...row, realtimeStreams: '{a}' }),
        (request) =>
          request.url.includes('/streams/')
            ? json({ error: 'no' }, { status })
            : shape('0_1', 'update', { status: 'WAITING_TO_RESUME' }),
        (request) =>
          request.url.includes('/streams/')
            ? json({ error: 'no' }, { status })
            : shape('0_1', 'update', { status: 'WAITING_TO_RESUME' }),
        new Response('', { status: 400 }),
      ])
      const parts = collect(stub.client.runs.subscribeToRun('run_1').withStreams())
      expect(await stub.clock.until(rejection(parts), { within: '1h' })).toMatchObject({ status })
      await stub.clock.settle()
      expect(stub.clock.pending()).toEqual([])
    },
  )

  it('reads each stream of a run over a connection of its own, and asks for all at once only one time', async () => {
    const answer = ({ url }: Request): Response => {
      if (url.includes('/streams/')) return sse('id: 1-0\ndata: "x"\n\nid: 1-1\ndata: "y"\n\n')
      const ended = { status: 'COMPLETED_SUCCESSFULLY', completedAt: AT, attemptNumber: '2' }
      return shape('0_0', 'insert', { ...row, ...ended, realtimeStreams: '{a}' })
    }
    const stub = new StubService([NO_SUCH_PAGE, ...Array.from({ length: 4 }, () => answer)])
    for (const _ of ['first', 'second']) {
      const parts = collect(stub.client.runs.subscribeToRun('run_1').withStreams())
      const chunks = (await parts).flatMap(({ type, chunk, attempt, sequence }) =>
        type === 'run' ? [] : [[type, chunk, attempt, sequence]],
      )
      expect(chunks).toEqual([
        ['a', 'x', 2, 0],
        ['a', 'y', 2, 1],
      ])
    }
    expect(stub.paths.map((path) => path.replace(/[?].*/, ''))).toEqual([
      'GET /base/api/v1/runs/run_1/stream',
      'GET /base/realtime/v1/runs/run_1',
      'GET /base/realtime/v1/streams/run_1/a',
      'GET /base/realtime/v1/runs/run_1',
      'GET /base/realtime/v1/streams/run_1/a',
    ])
  })

  it.each([
    ['a page of its own', () => new Response('<p>Welcome', { headers: { 'content-type': 'text/html' } })],
    ['a redirect', () => new Response(null, { status: 302, headers: { location: '/login' } })],
    ['no such method', () => json({ error: 'Method not allowed' }, { status: 405 })],
  ])('is followed by its own protocol when it answers an unknown address with %s', async (_what, answer) => {
    const ended = { status: 'COMPLETED_SUCCESSFULLY', completedAt: AT }
    const stub = new StubService([answer, shape('0_0', 'insert', { ...row, ...ended })])
    const parts = await collect(stub.client.runs.subscribeToRun('run_1').withStreams())
    expect(parts.map(({ run }) => run.status)).toEqual(['COMPLETED'])
  })

  it('reads its first framing, and goes on after the last event when a connection breaks', async () => {
    const stub = new StubService([
      sse(': ping\n\n', 'id: 1-0\ndata: {"a":1}\n\nid: 2-0\nda', 'ta: raw te', new Error('reset')),
      sse('id: 2-0\ndata: raw text\n\n'),
    ])
    const chunks = collect(stub.client.streams.read('run_1', 'k'))
    expect(await stub.clock.until(chunks, { within: '1m' })).toEqual([{ a: 1 }, 'raw text'])
    expect(stub.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '1-0'])
    expect(stub.asked[0]?.headers.get('accept')).toBe('text/event-stream')
  })

  it('reads its second framing: batches of numbered records, of which one may be there twice', async () => {
    const v2 = { 'x-stream-version': 'v2' }
    const command = { ...record(2, 'trim'), headers: [['', 'trim']] }
    const stub = new StubService([
      textBody(
        [
          `event: ping\ndata: {}\n\n`,
          batch(record(0, 'a'), record(1, 'a', 'r0'), command, record(3, { b: 1 })),
          new Error('reset'),
        ],
        v2,
      ),
      textBody([batch(record(4, null)), 'event: error\ndata: "gone"\n\n'], v2),
      textBody([batch(record(5, 'end'))], v2),
    ])
    const chunks = collect(stub.client.streams.read('run_1', 'k'))
    expect(await stub.clock.until(chunks, { within: '1m' })).toEqual(['a', { b: 1 }, null, 'end'])
    expect(stub.asked.map(({ headers }) => headers.get('last-event-id'))).toEqual([null, '3', '4'])
  })
})
