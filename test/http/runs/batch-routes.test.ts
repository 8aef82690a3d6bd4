import { describe, expect, it } from 'vitest'
import { type Engine, task } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import type { TestEngine } from 'waitpoint/testing'
import { projectStorage } from '../../support/abandon.ts'
import { wrapStorage } from '../../../src/testing/storages/wrapped.ts'
import { ask, chunked, OTHER_SECRET, request, SECRET, stillEngine } from '../requests.ts'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })

interface Bench {
  readonly handler: Handler
  readonly engine: Engine
  readonly clock: TestEngine['clock']
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [echo] })
  const handler = createHandler(t.engine, { limits: { batchRuns: 5, triggerBytes: 200, keyLength: 5 } })
  await body({ handler, engine: t.engine, clock: t.clock })
}

const BATCHES = 'POST /api/v3/batches'

async function announce(handler: Handler, runCount: number): Promise<string> {
  const { status, body } = await ask(handler, BATCHES, { body: { runCount } })
  expect([status, body]).toMatchObject([200, { runCount, isCached: false }])
  return (body as { readonly id: string }).id
}

const item = (index: unknown, more: object = {}): string =>
  JSON.stringify({ index, task: 'echo', payload: index, ...more })

/** Sends lines in pieces of three bytes, as a network may. */
async function send(
  handler: Handler,
  id: string,
  lines: readonly string[],
  credential = SECRET,
): Promise<unknown> {
  const text = lines.join('\n')
  const pieces = Array.from({ length: Math.ceil(text.length / 3) }, (_, index) =>
    text.slice(3 * index, 3 * index + 3),
  )
  const headers = { authorization: `Bearer ${credential}`, 'content-type': 'application/x-ndjson' }
  const response = await handler(
    request(`http://engine.test/api/v3/batches/${id}/items`, { headers, body: chunked(pieces) }),
  )
  return { status: response.status, ...((await response.json()) as object) }
}

describe('a batch', () => {
  it('triggers a run for each line, and knows them in their order', () =>
    onBench(async ({ handler, engine, clock }) => {
      const id = await announce(handler, 3)
      expect(await send(handler, id, [item(2), item(0, { options: { tags: ['a'] } }), item(1), ''])).toEqual({
        status: 200,
        id,
        itemsAccepted: 3,
        itemsDeduplicated: 0,
        sealed: true,
      })
      const get = async (): Promise<{ readonly status: string; readonly runs: readonly string[] }> =>
        (await ask(handler, `GET /api/v2/batches/${id}`)).body as never
      const { runs } = await get()
      const records = await Promise.all(runs.map((run) => engine.runs.retrieve(run)))
      expect(records.map(({ payload, tags }) => [payload, tags])).toEqual([
        [0, ['a']],
        [1, []],
        [2, []],
      ])
      await clock.settle()
      expect(await get()).toMatchObject({ id, status: 'COMPLETED', runCount: 3, runs })
    }))

  it('triggers none twice, however often it is sent, and says what is missing', () =>
    onBench(async ({ handler, engine }) => {
      const id = await announce(handler, 3)
      expect(await send(handler, id, [item(0), item(1), item(0)])).toMatchObject({
        itemsAccepted: 2,
        itemsDeduplicated: 1,
        sealed: false,
        enqueuedCount: 2,
        expectedCount: 3,
      })
      const all = [item(0), item(1), item(2)]
      const answers = (await Promise.all([send(handler, id, all), send(handler, id, all)])) as readonly {
        readonly itemsAccepted: number
      }[]
      expect(answers[0]!.itemsAccepted + answers[1]!.itemsAccepted).toBe(1)
      expect((await engine.runs.list()).data).toHaveLength(3)
    }))

  it('goes on after an item that was wrong', () =>
    onBench(async ({ handler, engine }) => {
      const id = await announce(handler, 2)
      expect(await send(handler, id, [item(0), item(1, { options: { delay: 'soon' } })])).toMatchObject({
        status: 400,
      })
      expect(await send(handler, id, [item(0), item(1)])).toMatchObject({ itemsAccepted: 1, sealed: true })
      expect((await engine.runs.list()).data).toHaveLength(2)
    }))

  it('is found by another engine on its storage, after a restart', async () => {
    const storage = projectStorage()
    const one = await stillEngine({ tasks: [echo], storage })
    const first = createHandler(one.engine)
    const announced = await ask(first, BATCHES, { body: { runCount: 2, idempotencyKey: 'k' } })
    const { id } = announced.body as { readonly id: string }
    const credential = announced.headers.get('x-trigger-jwt') ?? ''
    const path = `GET /api/v2/batches/${id}`
    await send(first, id, [item(1)])
    await send(first, id, [item(0)])
    const before = (await ask(first, path)).body as object
    await one.close()

    await using two = await stillEngine({
      tasks: [echo],
      storage,
      seed: 2,
      clock: { mode: 'manual', start: one.clock.now() },
    })
    const handler = createHandler(two.engine)
    const { body: shape } = await ask(handler, `GET /realtime/v1/batches/${id}?offset=-1`, { credential })
    const rows = (shape as readonly { readonly value?: { readonly payload: string } }[]).slice(0, 2)
    expect(rows.map(({ value }) => value?.payload)).toEqual(['0', '1'])
    // Its runs may go on until their engine is closed, so the status may be another one now.
    const { body: after } = await ask(handler, path, { credential })
    expect(after).toEqual({ ...before, status: expect.stringMatching(/^(PROCESSING|COMPLETED)$/) as string })
    await two.clock.settle()
    expect((await ask(handler, path)).body).toMatchObject({ id, status: 'COMPLETED', idempotencyKey: 'k' })
    expect(await send(handler, id, [item(0), item(1)])).toMatchObject({ itemsDeduplicated: 2, sealed: true })
  })

  it('is stored when all its runs have come, also if the storage fails or loses its answer', async () => {
    const inner = projectStorage()
    const failures = ['before', 'after', 'before']
    const storage = wrapStorage(inner, (name, operation) => async (...args) => {
      const [request] = args as readonly { readonly record?: { readonly id: string } }[]
      const isBatch = name === 'tokens.insert' && request?.record?.id.startsWith('batch_') === true
      const failure = isBatch ? failures.shift() : undefined
      if (failure === 'before') throw new Error('the disk is full')
      const answer = await operation(...args)
      if (failure === 'after') throw new Error('the answer was lost')
      return answer
    })
    await using t = await stillEngine({ tasks: [echo], storage })
    t.engine.on('error', () => undefined)
    const handler = createHandler(t.engine)
    const known = async (id: string): Promise<number> =>
      (await ask(createHandler(t.engine), `GET /api/v2/batches/${id}`)).status
    for (const statuses of [
      [500, 200],
      [500, 200],
    ]) {
      const id = await announce(handler, 1)
      for (const status of statuses) {
        expect(await send(handler, id, [item(0)])).toMatchObject({ status })
        expect(await known(id)).toBe(status === 200 ? 200 : 404)
      }
    }
  })

  it('is known to its handler alone while runs are missing', () =>
    onBench(async ({ handler, engine }) => {
      const id = await announce(handler, 2)
      await send(handler, id, [item(0)])
      expect((await ask(createHandler(engine), `GET /api/v2/batches/${id}`)).status).toBe(404)
      expect((await ask(handler, `GET /api/v2/batches/${id}`)).body).toMatchObject({ status: 'PENDING' })
    }))

  it('is no token, though it is kept like one', () =>
    onBench(async ({ handler, engine }) => {
      const id = await announce(handler, 1)
      await send(handler, id, [item(0)])
      await expect(engine.wait.retrieveToken(id)).rejects.toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
      await expect(engine.wait.completeToken(id)).rejects.toMatchObject({ code: 'ERR_TOKEN_NOT_FOUND' })
      expect((await engine.wait.listTokens()).data).toEqual([])
    }))

  it('is refused when a run of another engine is to wait for it', () =>
    onBench(async ({ handler }) => {
      const body = { runCount: 1, taskIdentifiers: ['echo'], parentRunId: 'run_theirs' }
      expect((await ask(handler, BATCHES, { body })).status).toBe(200)
      expect(
        await ask(handler, BATCHES, { body: { ...body, resumeParentOnCompletion: true } }),
      ).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining('"resumeParentOnCompletion"') as string },
      })
    }))

  it('is the same one under the same key, for the same caller', () =>
    onBench(async ({ handler }) => {
      const body = { runCount: 1, idempotencyKey: 'k' }
      const first = await ask(handler, BATCHES, { body })
      const { id } = first.body as { readonly id: string }
      expect((await ask(handler, BATCHES, { body })).body).toMatchObject({
        id,
        isCached: true,
        idempotencyKey: 'k',
      })
      expect((await ask(handler, BATCHES, { body, credential: OTHER_SECRET })).body).toMatchObject({
        isCached: false,
      })
      expect(await send(handler, id, [item(0)], OTHER_SECRET)).toMatchObject({ status: 200, sealed: true })
      expect(await send(handler, 'batch_other', [item(0)])).toMatchObject({ status: 404 })
    }))

  it('can be read with the access token that comes with it', () =>
    onBench(async ({ handler }) => {
      const { headers, body } = await ask(handler, BATCHES, { body: { runCount: 1 } })
      const credential = headers.get('x-trigger-jwt') ?? ''
      const { id } = body as { readonly id: string }
      expect((await ask(handler, `GET /api/v2/batches/${id}`, { credential })).body).toMatchObject({
        status: 'PENDING',
      })
      expect((await ask(handler, 'GET /api/v2/batches/batch_other', { credential })).status).toBe(403)
      expect((await ask(handler, 'GET /api/v2/batches/batch_other')).status).toBe(404)
    }))

  it.each([
    [400, {}],
    [400, { runCount: 0 }],
    [400, { runCount: 1.5 }],
    [400, { runCount: '1' }],
    [413, { runCount: 6 }],
    [400, { runCount: 1, idempotencyKey: 5 }],
    [400, { runCount: 1, idempotencyKey: 'x'.repeat(6) }],
  ])('is refused with %i: %j', (status, body) =>
    onBench(async ({ handler }) => expect((await ask(handler, BATCHES, { body })).status).toBe(status)),
  )

  it.each([
    [400, '[]'],
    [400, '{"index":0,'],
    [400, item(-1)],
    [400, item(1)],
    [400, item('0')],
    [400, item(0, { task: 5 })],
    [404, item(0, { task: 'other' })],
    [413, item(0, { payload: 'x'.repeat(200) })],
  ])('refuses with %i the line %s', (status, line) =>
    onBench(async ({ handler, engine }) => {
      const id = await announce(handler, 1)
      expect(await send(handler, id, [line])).toMatchObject({ status })
      expect((await engine.runs.list()).data).toEqual([])
    }),
  )
})
