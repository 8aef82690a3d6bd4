import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Storage } from 'waitpoint'
import { createHandler, type Handler, type HandlerLimits } from 'waitpoint/http'
import { projectStorage } from '../../support/abandon.ts'
import { bodyTask } from '../../support/body-task.ts'
import { cases } from '../../support/cases.ts'
import { steeredStorage } from '../../support/steered-storage.ts'
import { collect, numbers, watchers } from '../../support/streams.ts'
import { turn } from '../../support/turn.ts'
import { accessToken, chunked, request, type RequestParts, SECRET, stillEngine } from '../requests.ts'

/** A task that waits for an hour, in which others may write. */
const open = bodyTask(async ({ wait }) => wait.for({ hours: 1 }))

const pathOf = ({ id }: { readonly id: string }, key = 'k'): string =>
  `/realtime/v1/streams/${id}/self/${key}`

function ask(
  handler: Handler,
  path: string,
  { headers = {}, ...parts }: RequestParts = {},
): Promise<Response> {
  const authorization = `Bearer ${SECRET}`
  return handler(request(`http://engine.test${path}`, { headers: { authorization, ...headers }, ...parts }))
}

const lines = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

/** Gives the test a run that executes, and a handler. */
async function onRun(
  body: (bench: {
    readonly handler: Handler
    readonly run: { readonly id: string }
    /** Ends the run; answers the chunks of a key. */
    readonly end: (key?: string) => Promise<unknown[]>
    readonly keys: () => Promise<readonly string[]>
    readonly now: () => number
  }) => Promise<void>,
  { storage, ...limits }: HandlerLimits & { readonly storage?: Storage } = {},
): Promise<void> {
  await using t = await stillEngine({ tasks: [open], ...(storage && { storage }) })
  const run = await t.engine.trigger(open, null)
  await t.clock.settle()
  await body({
    handler: createHandler(t.engine, { limits }),
    run,
    end: async (key = 'k') => {
      await t.clock.advance('1h')
      return collect(t.engine.streams.read(run, key))
    },
    keys: async () => (await t.engine.runs.retrieve(run)).realtimeStreams,
    now: () => t.clock.now(),
  })
  await t.clock.advance('1h')
  expect(watchers(t.engine)).toBe(0)
}

describe('writing to a stream of a run over HTTP', () => {
  it('begins no more streams than a run may have, by whichever way and however many at once', () =>
    onRun(
      async ({ handler, run, end, keys }) => {
        const ways = [
          (key: string) => ask(handler, pathOf(run, key), { method: 'PUT' }),
          (key: string) => ask(handler, `${pathOf(run, key)}/append`, { body: 'x' }),
          (key: string) => ask(handler, pathOf(run, key), { body: lines([1]) }),
          (key: string) => ask(handler, pathOf(run, key), { method: 'HEAD' }),
        ]
        const answers = await Promise.all(numbers(12).map((n) => ways[n % 4]!(`k${n}`)))
        const statuses = answers.map(({ status }) => status)
        expect(statuses.filter((status) => status === 422)).toHaveLength(9)
        expect(await answers[5]!.json()).toMatchObject({ error: expect.stringContaining('"k5"') as string })
        expect((await keys()).length).toBeLessThanOrEqual(3)
        // What has begun goes on.
        expect((await ask(handler, pathOf(run, 'k0'), { body: lines([1]) })).status).toBe(200)
        expect(await end('k0')).toEqual([1])
      },
      { streams: 3 },
    ))

  it('writes each chunk once, however the body is cut and the rest is sent again', () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.jsonValue({ maxDepth: 2 }), { maxLength: 20 }),
        fc.array(fc.nat({ max: 20 }), { maxLength: 3 }),
        fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 }),
        async (values, cuts, sizes) =>
          onRun(async ({ handler, run, end }) => {
            const headers = { 'x-client-id': 'c1' }
            let from = 0
            let sent = 0
            for (const cut of [...cuts, values.length]) {
              const resumed = { 'x-resume-from-chunk': `${from}`, ...headers }
              const text = lines(values.slice(from, Math.max(from, cut)))
              const response = await ask(handler, pathOf(run), {
                headers: resumed,
                body: chunked(pieces(text, sizes)),
              })
              expect(response.status).toBe(200)
              const head = await ask(handler, pathOf(run), { method: 'HEAD', headers })
              const last = Number(head.headers.get('x-last-chunk-index'))
              sent = Math.max(sent, Math.min(cut, values.length))
              expect(last).toBe(sent - 1)
              // Some of it once more.
              from = Math.max(0, last - 1)
            }
            expect(await end()).toEqual(JSON.parse(JSON.stringify(values)))
          }),
      ),
      { numRuns: cases(25) },
    ))

  it('announces a key, and says that it takes the first version of writing', () =>
    onRun(async ({ handler, run, end, keys }) => {
      const response = await ask(handler, pathOf(run, 'a/b'), { method: 'PUT' })
      expect([response.status, await response.json()]).toEqual([202, { version: 'v1' }])
      expect(await keys()).toEqual(['a/b'])
      expect(await end('a/b')).toEqual([])
    }))

  it('appends a text, and the same part once', () =>
    onRun(async ({ handler, run, end }) => {
      const append = async (body: string, headers = {}): Promise<unknown> => {
        const response = await ask(handler, `${pathOf(run)}/append`, { body, headers })
        return [response.status, await response.json()]
      }
      for (const _ of numbers(2))
        expect(await append('one', { 'x-part-id': 'p1' })).toEqual([200, { ok: true }])
      expect(await append('{"two":2}')).toEqual([200, { ok: true }])
      expect(await append('x'.repeat(512 * 1_024 + 1))).toMatchObject([413, {}])
      expect(await end()).toEqual(['one', '{"two":2}'])
    }))

  it('takes no longer names than it can remember: of parts, of clients, of streams', () =>
    onRun(async ({ handler, run, end }) => {
      const long = 'x'.repeat(257)
      const asked = [
        ask(handler, `${pathOf(run)}/append`, { body: '1', headers: { 'x-part-id': long } }),
        ask(handler, pathOf(run), { body: '1', headers: { 'x-client-id': long } }),
        ask(handler, `/realtime/v1/streams/${run.id}/self/${long}`, { body: '1' }),
      ]
      for (const response of await Promise.all(asked)) {
        expect(response.status).toBe(400)
        expect(await response.text()).toContain('256 characters')
      }
      expect(await end()).toEqual([])
    }))

  it('counts the chunks of each client on its own', () =>
    onRun(async ({ handler, run, end }) => {
      for (const client of ['c1', 'c2']) {
        const headers = { 'x-client-id': client }
        await ask(handler, pathOf(run), { headers, body: lines([client]) })
        const head = await ask(handler, pathOf(run), { method: 'HEAD', headers })
        expect(head.headers.get('x-last-chunk-index')).toBe('0')
      }
      const unnamed = await ask(handler, pathOf(run), { method: 'HEAD', headers: { 'x-client-id': 'c3' } })
      expect(unnamed.headers.get('x-last-chunk-index')).toBe('-1')
      expect(await end()).toEqual(['c1', 'c2'])
    }))

  it('acknowledges no chunk that it has not written, and goes on after the last one it has', () =>
    onRun(async ({ handler, run, end }) => {
      const headers = { 'x-client-id': 'c1' }
      const deep = `${'['.repeat(1_500)}${']'.repeat(1_500)}`
      const refused = await ask(handler, pathOf(run), { headers, body: `1\n${deep}\n3\n` })
      expect([refused.status, await refused.json()]).toMatchObject([
        400,
        { error: expect.stringContaining('nested deeper') as string },
      ])
      const head = await ask(handler, pathOf(run), { method: 'HEAD', headers })
      const from = Number(head.headers.get('x-last-chunk-index')) + 1
      const resumed = { ...headers, 'x-resume-from-chunk': `${from}` }
      await ask(handler, pathOf(run), { headers: resumed, body: lines([1, 2, 3].slice(from)) })
      expect(await end()).toEqual([1, 2, 3])
    }))

  it('writes unnumbered chunks whenever they come', () =>
    onRun(async ({ handler, run, end }) => {
      for (const chunk of ['one', 'two']) {
        const response = await ask(handler, pathOf(run), { body: lines([chunk]) })
        expect(await response.json()).toEqual({ ok: true })
      }
      expect(await end()).toEqual(['one', 'two'])
    }))

  it('remembers the last thousand writers, and finds the others in the storage', () => {
    const { storage, calls } = steeredStorage(projectStorage())
    const reads = (): number => calls.filter((name) => name === 'chunks.read').length
    return onRun(
      async ({ handler, run, end }) => {
        const write = (client: number): Promise<Response> =>
          ask(handler, pathOf(run), { headers: { 'x-client-id': `${client}` }, body: lines([client]) })
        for (const client of numbers(1_001)) await write(client)
        const lastOf = async (client: number): Promise<string | null> => {
          const headers = { 'x-client-id': `${client}` }
          return (await ask(handler, pathOf(run), { method: 'HEAD', headers })).headers.get(
            'x-last-chunk-index',
          )
        }
        expect([await lastOf(2), await lastOf(1_000), reads()]).toEqual(['0', '0', 0])
        expect([await lastOf(0), reads()]).toEqual(['0', 1])
        await write(0)
        expect(await end()).toHaveLength(1_001)
      },
      { storage },
    )
  })

  it('writes nothing of a line that is not JSON, and what came before it', () =>
    onRun(async ({ handler, run, end }) => {
      const response = await ask(handler, pathOf(run), {
        body: chunked([lines([1, 2]), '{"x":\n', lines([3])]),
      })
      expect([response.status, await response.json()]).toEqual([400, { error: 'Invalid JSON' }])
      const long = await ask(handler, pathOf(run), { body: 'x'.repeat(1_024 * 1_024 + 1) })
      expect(long.status).toBe(413)
      expect(await end()).toEqual([1, 2])
    }))

  it('begins no stream for a body that is refused after a blank line', () =>
    onRun(async ({ handler, run, keys }) => {
      const refused = await ask(handler, pathOf(run), { body: '\n{' })
      expect([refused.status, await keys()]).toEqual([400, []])
    }))

  it('writes to a run of which storage says that it executes while the answer to the claim is on its way', async () => {
    const steered = steeredStorage(projectStorage())
    await using t = await stillEngine({ tasks: [open], storage: steered.storage })
    // The claim of an engine that starts is not the one that is meant.
    await t.clock.settle()
    const answer = steered.holdAnswer('runs.claim')
    const run = await t.engine.trigger(open, null)
    while ((await t.engine.runs.retrieve(run)).status !== 'EXECUTING') await turn()
    const writing = ask(createHandler(t.engine), pathOf(run), { body: lines(['early']) })
    await turn()
    answer()
    expect((await writing).status).toBe(200)
    await t.clock.advance('1h')
    expect(await collect(t.engine.streams.read(run, 'k'))).toEqual(['early'])
  })

  it('refuses runs that have ended, do not execute here, or do not exist', async () => {
    await using t = await stillEngine({ tasks: [open] })
    const handler = createHandler(t.engine)
    const put = async (run: { readonly id: string }): Promise<unknown> => {
      const response = await ask(handler, pathOf(run), { method: 'PUT' })
      return [response.status, await response.json()]
    }
    const run = await t.engine.trigger(open, null, { delay: '1h' })
    expect(await put(run)).toEqual([
      409,
      {
        error: `Cannot write to stream "k" of run "${run.id}": it is DELAYED, and does not execute in the process that received the request`,
      },
    ])
    await t.engine.runs.cancel(run)
    expect(await put(run)).toEqual([
      400,
      { error: `Cannot write to stream "k" of run "${run.id}": it has ended` },
    ])
    expect(await put({ id: 'run_unknown' })).toEqual([404, { error: 'Run not found' }])
  })

  it('is for who may write to streams of the run', () =>
    onRun(async ({ handler, run, now, end }) => {
      const statusWith = async (scope: string): Promise<number> => {
        const token = await accessToken([scope], now())
        return (
          await ask(handler, pathOf(run), { method: 'PUT', headers: { authorization: `Bearer ${token}` } })
        ).status
      }
      expect(await statusWith(`write:streams:${run.id}`)).toBe(202)
      expect(await statusWith(`read:runs:${run.id}`)).toBe(403)
      expect(await statusWith('write:streams:run_other')).toBe(403)
      expect(
        (await ask(handler, pathOf(run), { method: 'PUT', headers: { authorization: '' } })).status,
      ).toBe(401)
      await end()
    }))

  it.each([
    ['PUT', pathOf({ id: 'run_x' }, 'run'), {}, 400],
    ['POST', pathOf({ id: 'run_x' }), { 'x-resume-from-chunk': '-1' }, 400],
    ['HEAD', pathOf({ id: 'run_x' }), { 'x-client-id': 'x'.repeat(257) }, 400],
    ['DELETE', pathOf({ id: 'run_x' }), {}, 405],
    ['PUT', `${pathOf({ id: 'run_x' })}/append`, {}, 405],
  ])('refuses %s %s %j with %i', async (method, path, headers, status) => {
    await using t = await stillEngine()
    expect((await ask(createHandler(t.engine), path, { method, headers })).status).toBe(status)
  })
})

/** A text in pieces of these sizes, over and over. */
function pieces(text: string, sizes: readonly number[]): string[] {
  const all: string[] = []
  for (let at = 0, index = 0; at < text.length; index++) {
    const size = sizes[index % sizes.length] ?? 1
    all.push(text.slice(at, at + size))
    at += size
  }
  return all
}
