import { describe, expect, it } from 'vitest'
import { type AnyTask, type Engine, task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../../src/core/engine.ts'
import { accessToken, ask, stillEngine } from '../requests.ts'

const UNKNOWN = 'run_00000000000000000000000000'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const fails = task({
  id: 'fails',
  run: () => {
    throw Object.assign(new TypeError('no luck'), { code: 'E_LUCK' })
  },
})
const waits = task({ id: 'waits', run: async () => wait.forToken(await wait.createToken({ timeout: '1h' })) })
interface Bench {
  readonly handler: Handler
  readonly engine: Engine
  readonly clock: TestEngine['clock']
  /** Stores a run, and lets it get as far as it can. */
  readonly start: (which: AnyTask, payload?: unknown) => Promise<string>
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [echo, fails, waits] })
  const start = async (which: AnyTask, payload?: unknown): Promise<string> => {
    const { id } = await t.engine.trigger(which, payload as never)
    await t.clock.settle()
    return id
  }
  await body({ handler: createHandler(t.engine), engine: t.engine, clock: t.clock, start })
}

/** As a run is whose waits do not fit the code. */
async function setAside(engine: Engine, id: string): Promise<void> {
  const { host } = kernelOf(engine)
  const expected = { status: ['WAITING'] } as const
  const change = { status: 'PENDING_VERSION' } as const
  await host.storage.runs.update({ id, expected, change, by: 'another engine', now: host.now() })
}

const flags = (body: unknown): unknown => {
  const names = [
    'isQueued',
    'isExecuting',
    'isWaiting',
    'isCompleted',
    'isSuccess',
    'isFailed',
    'isCancelled',
  ]
  return names.filter((name) => (body as Readonly<Record<string, boolean>>)[name])
}

describe('retrieving a run', () => {
  it('shows everything the published client asks for, never as null', () =>
    onBench(async ({ handler, engine }) => {
      const options = { tags: ['a'], metadata: { step: 1 }, idempotencyKey: 'k' }
      const { id } = await engine.trigger(echo, { doc: 'd1' }, options)
      await engine.runs.poll(id)
      const { status, body } = await ask(handler, `GET /api/v3/runs/${id}`)
      expect([status, body]).toEqual([
        200,
        {
          id,
          status: 'COMPLETED',
          taskIdentifier: 'echo',
          payload: { doc: 'd1' },
          output: { doc: 'd1' },
          tags: ['a'],
          metadata: { step: 1 },
          idempotencyKey: 'k',
          isQueued: false,
          isExecuting: false,
          isWaiting: false,
          isCompleted: true,
          isSuccess: true,
          isFailed: false,
          isCancelled: false,
          isTest: false,
          createdAt: '2000-01-01T00:00:00.000Z',
          updatedAt: '2000-01-01T00:00:00.000Z',
          startedAt: '2000-01-01T00:00:00.000Z',
          finishedAt: '2000-01-01T00:00:00.000Z',
          durationMs: 0,
          costInCents: 0,
          baseCostInCents: 0,
          depth: 0,
          triggerFunction: 'trigger',
          relatedRuns: {},
          attemptCount: 1,
          queue: 'task/echo',
          realtimeStreams: [],
          waitingOn: [],
          attempts: [],
          rootId: id,
        },
      ])
    }))

  it('says of a status what the service says of it', () =>
    onBench(async ({ handler, engine, start }) => {
      const get = async (id: string): Promise<unknown> => {
        const { body } = await ask(handler, `GET /api/v3/runs/${id}`)
        return [(body as { readonly status: string }).status, flags(body)]
      }
      expect(await get(await start(echo, 1))).toEqual(['COMPLETED', ['isCompleted', 'isSuccess']])
      expect(await get(await start(fails))).toEqual(['FAILED', ['isCompleted', 'isFailed']])
      const waiting = await start(waits)
      expect(await get(waiting)).toEqual(['WAITING', ['isWaiting']])
      await engine.runs.cancel(waiting)
      expect(await get(waiting)).toEqual(['CANCELED', ['isCompleted', 'isFailed', 'isCancelled']])
      const delayed = await engine.trigger(echo, 1, { delay: '1h' })
      expect(await get(delayed.id)).toEqual(['DELAYED', ['isQueued']])
    }))

  it('shows the queue and its key to secret keys alone', () =>
    onBench(async ({ handler, engine, clock }) => {
      const { id } = await engine.trigger(echo, 1, {
        queue: { name: 'mail' },
        concurrencyKey: 'Ada',
        priority: 3,
      })
      const where = { queue: 'mail', concurrencyKey: 'Ada', priority: 3 }
      expect((await ask(handler, `GET /api/v3/runs/${id}`)).body).toMatchObject(where)
      expect((await ask(handler, 'GET /api/v1/runs')).body).toMatchObject({ data: [where] })
      const credential = await accessToken(['read:runs'], clock.now())
      const shown = await ask(handler, `GET /api/v3/runs/${id}`, { credential })
      const listed = await ask(handler, 'GET /api/v1/runs', { credential })
      expect([shown.status, listed.status]).toEqual([200, 200])
      expect(JSON.stringify([shown.body, listed.body])).not.toMatch(/queue":|mail|Ada/)
    }))

  it('shows the engine that holds a run to secret keys alone', () =>
    onBench(async ({ handler, clock, start }) => {
      const id = await start(waits)
      const owner = { id: expect.stringMatching(/^engine_/) as unknown, isHere: true }
      expect((await ask(handler, `GET /api/v3/runs/${id}`)).body).toMatchObject({ owner })
      const credential = await accessToken(['read:runs'], clock.now())
      const { status, body } = await ask(handler, `GET /api/v3/runs/${id}`, { credential })
      expect([status, JSON.stringify(body)]).toEqual([200, expect.not.stringContaining('engine_')])
    }))

  it('has the error under the names of the service', () =>
    onBench(async ({ handler, start }) => {
      const { body } = await ask(handler, `GET /api/v3/runs/${await start(fails)}`)
      const error = {
        name: 'TypeError',
        message: 'no luck',
        code: 'E_LUCK',
        stackTrace: expect.any(String) as string,
      }
      const at = '2000-01-01T00:00:00.000Z'
      const attempts = [{ number: 1, startedAt: at, endedAt: at, executingMs: 0, waitingMs: 0, error }]
      expect(body).toMatchObject({ error, attempts })
      expect(body).not.toHaveProperty('error.stack')
      expect(body).not.toHaveProperty('attempts.0.error.stack')
    }))

  it('is 404 for one there is none of', () =>
    onBench(async ({ handler }) => {
      for (const id of [UNKNOWN, 'x', '%00', 'waitpoint_1'])
        expect(await ask(handler, `GET /api/v3/runs/${id}`)).toMatchObject({
          status: 404,
          body: { error: 'Run not found' },
        })
    }))

  it('takes an access token for the run, its task or one of its tags; for any other it is 403, whether there is one or not', () =>
    onBench(async ({ handler, engine, clock, start }) => {
      const mine = await engine.trigger(echo, 1, { tags: ['a', 'b'] })
      const other = { id: await start(fails) }
      const scopes = ['read:tags:b', 'read:tasks:echo', `read:runs:${mine.id}`]
      for (const scope of scopes) {
        const credential = await accessToken([scope], clock.now())
        const get = async (id: string): Promise<number> =>
          (await ask(handler, `GET /api/v3/runs/${id}`, { credential })).status
        expect([scope, await get(mine.id), await get(other.id), await get(UNKNOWN)]).toEqual([
          scope,
          200,
          403,
          403,
        ])
      }
      const own = await ask(handler, `GET /api/v3/runs/${mine.id}`, { credential: mine.publicAccessToken })
      expect(own.status).toBe(200)
      expect((await engine.runs.retrieve(other.id)).isFailed).toBe(true)
    }))
})

describe('listing runs', () => {
  interface Listed {
    readonly data: readonly { readonly id: string }[]
    readonly pagination: { readonly next?: string }
  }

  it('walks through all pages, newest first, without payloads and outputs', () =>
    onBench(async ({ handler, start }) => {
      const ids = [await start(echo, { large: 1 }), await start(fails), await start(echo, 3)].reverse()
      const first = (await ask(handler, 'GET /api/v1/runs?page[size]=2')).body as Listed
      const second = (await ask(handler, `GET /api/v1/runs?page[after]=${first.pagination.next}`))
        .body as Listed
      expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids)
      for (const item of [...first.data, ...second.data]) {
        expect(item).toMatchObject({
          env: { id: 'waitpoint', name: 'waitpoint' },
          isTest: false,
          costInCents: 0,
        })
        expect(Object.keys(item)).not.toEqual(expect.arrayContaining(['payload']))
        expect(Object.keys(item)).not.toEqual(expect.arrayContaining(['error']))
      }
    }))

  it.each([
    ['filter[status]=COMPLETED', [1, 0]],
    ['filter[status]=FAILED,QUEUED', [2]],
    ['filter[status]=DEQUEUED', []],
    ['filter[status]=DEQUEUED,FAILED', [2]],
    ['filter[taskIdentifier]=echo', [1, 0]],
    ['filter[taskIdentifier]=echo,fails', [2, 1, 0]],
    ['filter[tag]=a,b', [1, 0]],
    ['filter[root]=run_none', []],
    ['filter[isTest]=false', [2, 1, 0]],
    ['filter[isTest]=true', []],
  ])('filters: %s', (query, expected) =>
    onBench(async ({ handler, engine }) => {
      const runs = [
        await engine.trigger(echo, 1, { tags: 'a' }),
        await engine.trigger(echo, 2, { tags: 'b' }),
        await engine.trigger(fails, undefined),
      ]
      for (const run of runs) await run.outcome()
      const { data } = (await ask(handler, `GET /api/v1/runs?${query}`)).body as Listed
      expect(data.map(({ id }) => runs.findIndex((run) => run.id === id))).toEqual(expected)
    }),
  )

  it.each(['PENDING_VERSION', 'WAITING_FOR_DEPLOY', 'PENDING_VERSION,WAITING_FOR_DEPLOY', 'QUEUED'])(
    'lists runs that wait for fitting code as %s',
    (status) =>
      onBench(async ({ handler, engine, start }) => {
        const id = await start(waits)
        await start(waits)
        await setAside(engine, id)
        const path = `/api/v1/runs?filter[status]=${status}`
        const headers = { 'x-trigger-api-version': '2025-07-16' }
        const { data } = (await ask(handler, `GET ${path}`, { headers })).body as Listed
        const expected = status === 'QUEUED' ? [] : [{ id, status: 'PENDING_VERSION', isQueued: true }]
        expect(data).toMatchObject(expected)
        const older = (await ask(handler, `GET ${path}`)).body as Listed
        expect(older.data).toMatchObject(expected.map((run) => ({ ...run, status: 'WAITING_FOR_DEPLOY' })))
        const retrieved = await ask(handler, `GET /api/v3/runs/${id}`, { headers })
        expect(retrieved.body).toMatchObject({ id, status: 'PENDING_VERSION' })
        expect((await ask(handler, `GET /api/v3/runs/${id}`)).body).toMatchObject({
          status: 'WAITING_FOR_DEPLOY',
        })
      }),
  )

  it.each(['page[size]=0', 'filter[status]=DONE', 'filter[batch]=batch_1', 'filter[createdAt][period]=-1'])(
    'refuses what cannot be asked: %s',
    (query) =>
      onBench(async ({ handler }) =>
        expect((await ask(handler, `GET /api/v1/runs?${query}`)).status).toBe(400),
      ),
  )

  it('takes an access token that covers everything which is asked for', () =>
    onBench(async ({ handler, clock }) => {
      const get = async (scopes: readonly string[], query: string): Promise<number> =>
        (
          await ask(handler, `GET /api/v1/runs?${query}`, {
            credential: await accessToken(scopes, clock.now()),
          })
        ).status
      expect(await get(['read:runs'], '')).toBe(200)
      expect(await get(['read:runs:run_1', 'read:tasks:echo', 'read:tags:a'], '')).toBe(403)
      expect(await get(['read:tasks:echo'], 'filter[taskIdentifier]=echo')).toBe(200)
      expect(await get(['read:tasks:echo'], 'filter[taskIdentifier]=echo,fails')).toBe(403)
      expect(await get(['read:tags:a', 'read:tags:b'], 'filter[tag]=a,b')).toBe(200)
      expect(await get(['read:tags:a'], 'filter[tag]=a,b')).toBe(403)
    }))
})

describe('the result of a run', () => {
  it('is its output as text, or its error', () =>
    onBench(async ({ handler, start }) => {
      const [id, failed] = [await start(echo, { a: 1 }), await start(fails)]
      expect((await ask(handler, `GET /api/v1/runs/${id}/result`)).body).toEqual({
        ok: true,
        id,
        taskIdentifier: 'echo',
        output: '{"a":1}',
        outputType: 'application/json',
      })
      expect((await ask(handler, `GET /api/v1/runs/${failed}/result`)).body).toMatchObject({
        ok: false,
        id: failed,
        error: {
          type: 'BUILT_IN_ERROR',
          name: 'TypeError',
          message: 'no luck',
          stackTrace: expect.any(String) as string,
        },
      })
    }))

  it('is 404 until there is one', () =>
    onBench(async ({ handler, engine, start }) => {
      const id = await start(waits)
      expect((await ask(handler, `GET /api/v1/runs/${id}/result`)).status).toBe(404)
      await engine.runs.cancel(id)
      expect((await ask(handler, `GET /api/v1/runs/${id}/result`)).body).toMatchObject({
        ok: false,
        error: { type: 'BUILT_IN_ERROR', message: 'The run is CANCELED', stackTrace: '' },
      })
    }))
})

describe('canceling and replaying a run', () => {
  it('cancels one, and once more changes nothing', () =>
    onBench(async ({ handler, engine, start }) => {
      const id = await start(waits)
      for (let index = 0; index < 2; index++)
        expect(await ask(handler, `POST /api/v2/runs/${id}/cancel`)).toMatchObject({
          status: 200,
          body: { id },
        })
      expect((await engine.runs.retrieve(id)).status).toBe('CANCELED')
    }))

  it('replays one with the same payload', () =>
    onBench(async ({ handler, engine, clock, start }) => {
      const id = await start(echo, { doc: 'd1' })
      const replayed = (await ask(handler, `POST /api/v1/runs/${id}/replay`)).body as { readonly id: string }
      expect(replayed.id).not.toBe(id)
      await clock.settle()
      expect(await engine.runs.retrieve(replayed.id)).toMatchObject({
        payload: { doc: 'd1' },
        status: 'COMPLETED',
      })
    }))

  it.each<[option: string, value: unknown]>([
    ['payload', null],
    ['metadata', {}],
    ['tags', ['a']],
    ['queue', 'q'],
    ['delay', '1h'],
    ['idempotencyKey', 'k'],
    ['maxAttempts', 1],
  ])('refuses to replay one with another %s, and makes no run', (option, value) =>
    onBench(async ({ handler, engine, start }) => {
      const id = await start(echo, { doc: 'd1' })
      const body = { machine: 'micro', [option]: value }
      expect(await ask(handler, `POST /api/v1/runs/${id}/replay`, { body })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining(`"${option}"`) as string },
      })
      expect((await engine.runs.list()).data).toHaveLength(1)
    }),
  )

  it('replays one on another machine as on its own: there are none', () =>
    onBench(async ({ handler, start }) => {
      const path = `POST /api/v1/runs/${await start(echo)}/replay`
      const body = { machine: 'micro', region: 'eu', priority: 1, version: '2' }
      expect((await ask(handler, path, { body })).status).toBe(200)
    }))

  it('does not replay one again when a client repeats itself because it lost the answer', () =>
    onBench(async ({ handler, engine, start }) => {
      const id = await start(echo, { doc: 'd1' })
      const repeated = { headers: { 'x-trigger-request-idempotency-key': 'uuid' } }
      const answers = [1, 2, 3].map(() => ask(handler, `POST /api/v1/runs/${id}/replay`, repeated))
      expect(new Set((await Promise.all(answers)).map(({ body }) => JSON.stringify(body))).size).toBe(1)
      expect((await engine.runs.list()).data).toHaveLength(2)
    }))

  it('answers 404 for an unknown run, and 403 to a caller that may only read', () =>
    onBench(async ({ handler, engine, start }) => {
      const { id, publicAccessToken: credential } = await engine.trigger(waits, undefined)
      for (const path of ['v2/runs/:id/cancel', 'v1/runs/:id/replay']) {
        const at = (run: string): string => `POST /api/${path.replace(':id', run)}`
        expect(await ask(handler, at(UNKNOWN))).toMatchObject({
          status: 404,
          body: { error: 'Run not found' },
        })
        expect((await ask(handler, at('x'))).status).toBe(404)
        expect((await ask(handler, at(id), { credential })).status).toBe(403)
      }
      expect((await engine.runs.list()).data).toHaveLength(1)
      await start(echo)
    }))
})
