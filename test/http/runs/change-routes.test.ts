import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type Engine, memoryStorage, metadata, task, wait } from 'waitpoint'
import { createHandler, type Handler, type HandlerLimits } from 'waitpoint/http'
import { createTestEngine, testClock, type TestEngine } from 'waitpoint/testing'
import { inNextTurn } from '../../../src/clock/macrotask-turn.ts'
import { projectStorage } from '../../support/abandon.ts'
import { until } from '../../support/turn.ts'
import { turnsByTheQuestion } from '../../support/turns-by-the-question.ts'
import { accessToken, ask, SECRET, stillEngine } from '../requests.ts'

const UNKNOWN = 'run_00000000000000000000000000'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const counting = task({
  id: 'counting',
  run: async () => {
    metadata.set('mine', 1).set('count', 1)
    await wait.forToken(await wait.createToken({ timeout: '1h', tags: 'go' }))
    metadata.increment('count')
    return metadata.current()
  },
})

interface Bench {
  readonly handler: Handler
  readonly engine: Engine
  readonly clock: TestEngine['clock']
}

async function onBench(limits: HandlerLimits, body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [echo, counting] })
  await body({ handler: createHandler(t.engine, { limits }), engine: t.engine, clock: t.clock })
}

const later = { delay: '1h', metadata: { a: 1 } }

describe('when a run starts', () => {
  it('can be moved while it is delayed, for who may change it; what is in it is for who may read it', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const { id } = await engine.trigger(echo, 'secret', later)
      const path = `POST /api/v1/runs/${id}/reschedule`
      const at = (minutes: number): string => new Date(clock.now() + minutes * 60_000).toISOString()
      expect(await ask(handler, path, { body: { delay: '90m' } })).toMatchObject({
        status: 200,
        body: { id, status: 'DELAYED', delayedUntil: at(90), payload: 'secret', metadata: { a: 1 } },
      })
      const credential = await accessToken([`write:runs:${id}`], clock.now())
      const answer = await ask(handler, path, { body: { delay: at(5) }, credential })
      expect(answer).toMatchObject({ status: 200, body: { delayedUntil: at(5), metadata: {} } })
      for (const secret of ['payload', 'queue', 'concurrencyKey'])
        expect(answer.body).not.toHaveProperty(secret)
      expect((await engine.runs.retrieve(id)).delayedUntil).toEqual(new Date(at(5)))
      await engine.runs.cancel(id)
    }))

  it('cannot be moved to nowhere, nor once it has started', () =>
    onBench({}, async ({ handler, engine }) => {
      const { id } = await engine.trigger(echo, 1, later)
      const path = `POST /api/v1/runs/${id}/reschedule`
      for (const body of [{}, { delay: 'soon' }, { delay: null }, { delay: '1h', more: 1 }])
        expect((await ask(handler, path, { body })).status, JSON.stringify(body)).toBe(400)
      await engine.runs.cancel(id)
      expect(await ask(handler, path, { body: { delay: '1h' } })).toMatchObject({
        status: 422,
        body: { error: expect.stringContaining('it is CANCELED') as string, code: 'ERR_CANNOT_RESCHEDULE' },
      })
    }))
})

describe('a run that waits for fitting code', () => {
  it('goes on with the code there is when it is told to; what is in it is for who may read it', async () => {
    const pay = (tag: string): AnyTask =>
      task({
        id: 'pay',
        run: async () => wait.forToken(await wait.createToken({ timeout: '1h', tags: [tag] })),
      })
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const old = createEngine({ tasks: [pay('manager')], storage, clock })
    const { id } = await old.trigger(pay('manager'), 'secret' as never, { metadata: { a: 1 } })
    await clock.settle()
    await old.close()

    await using engine = createEngine({ tasks: [pay('legal')], storage, clock, secretKey: SECRET })
    const handler = createHandler(engine)
    const [token] = (await engine.wait.listTokens({ tags: 'manager' })).data
    const path = `POST /api/v1/runs/${id}/continue`
    expect(await ask(handler, path)).toMatchObject({
      status: 422,
      body: { error: expect.stringContaining('it is WAITING') as string, code: 'ERR_CANNOT_CONTINUE' },
    })
    await engine.wait.completeToken(token!.id, 'yes')
    await clock.settle()
    expect((await engine.runs.retrieve(id)).status).toBe('PENDING_VERSION')
    const expected = { status: ['PENDING_VERSION'] } as const
    const change = { attemptsJson: '[{"number":1,"startedAt":1,"endedAt":2,"error":{"message":"secret"}}]' }
    await storage.runs.update({ id, expected, change, by: 'another engine', now: clock.now() })
    const credential = await accessToken([`write:runs:${id}`], clock.now())
    const answer = await ask(handler, path, { credential })
    expect(answer).toMatchObject({
      status: 200,
      body: { id, status: 'EXECUTING', metadata: {}, attempts: [] },
    })
    expect(answer.body).not.toHaveProperty('payload')
    await clock.settle()
    expect((await engine.wait.listTokens({ tags: 'legal' })).data).toHaveLength(1)
    await engine.runs.cancel(id)
  })
})

describe('the metadata of a run', () => {
  it('can be read and changed while it has not begun', () =>
    onBench({}, async ({ handler, engine }) => {
      const { id } = await engine.trigger(echo, 1, later)
      const path = `/api/v1/runs/${id}/metadata`
      expect((await ask(handler, `GET ${path}`)).body).toEqual({ metadata: { a: 1 } })
      const operations = [
        { type: 'increment', key: 'a', value: 2 },
        { type: 'append', key: 'list', value: 'x' },
      ]
      const changed = { metadata: { a: 3, list: ['x'] } }
      expect(await ask(handler, `PUT ${path}`, { body: { operations } })).toMatchObject({
        status: 200,
        body: changed,
      })
      expect((await ask(handler, `GET ${path}`)).body).toEqual(changed)
      expect((await engine.runs.retrieve(id)).metadata).toEqual(changed.metadata)
    }))

  it('can be changed while it executes, together with the task: nothing of either is lost', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const run = await engine.trigger(counting, undefined)
      await clock.settle()
      const path = `PUT /api/v1/runs/${run.id}/metadata`
      const operations = [
        { type: 'increment', key: 'count', value: 10 },
        { type: 'delete', key: 'mine' },
        { type: 'set', key: 'theirs', value: { b: 2 } },
      ]
      expect((await ask(handler, path, { body: { operations } })).body).toEqual({
        metadata: { count: 11, theirs: { b: 2 } },
      })
      const [token] = (await engine.wait.listTokens({ tags: 'go' })).data
      await engine.wait.completeToken(token!)
      expect(await run.result()).toEqual({ count: 12, theirs: { b: 2 } })
      expect((await engine.runs.retrieve(run.id)).metadata).toEqual({ count: 12, theirs: { b: 2 } })
    }))

  it('loses nothing to a task that changes them all the time', async () => {
    const busy = { isOver: false, count: 0 }
    const counts = task({
      id: 'counts',
      run: async () => {
        for (; !busy.isOver; busy.count++) {
          metadata.increment('mine')
          await new Promise<void>(inNextTurn)
        }
        return metadata.current()
      },
    })
    // A change stops for a turn at every second look at the clock.
    const clock = Object.assign(testClock({ mode: 'manual' }), { isTurnDue: turnsByTheQuestion() })
    // A test clock gives no turns while a call is out, and to a storage that answers later one always is.
    await using t = await stillEngine({ tasks: [counts], clock, storage: memoryStorage() })
    const handler = createHandler(t.engine)
    const run = await t.engine.trigger(counts, undefined)
    const settling = (async () => {
      while (!busy.isOver) {
        await new Promise<void>(inNextTurn)
        await t.clock.settle()
      }
    })()
    await until(() => busy.count > 0)
    const body = { operations: [{ type: 'increment', key: 'theirs', value: 1 }] }
    for (let count = 0; count < 20; count++)
      expect(await ask(handler, `PUT /api/v1/runs/${run.id}/metadata`, { body })).toMatchObject({
        status: 200,
      })
    busy.isOver = true
    await settling
    expect(await run.result()).toEqual({ mine: busy.count, theirs: 20 })
  })

  it('loses none of many changes at once', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const waiting = await engine.trigger(counting, undefined)
      await clock.settle()
      const delayed = await engine.trigger(echo, 1, later)
      for (const { id } of [waiting, delayed]) {
        const body = { operations: [{ type: 'increment', key: 'n', value: 1 }] }
        const path = `PUT /api/v1/runs/${id}/metadata`
        await Promise.all(Array.from({ length: 20 }, () => ask(handler, path, { body })))
        expect((await engine.runs.retrieve(id)).metadata).toMatchObject({ n: 20 })
      }
    }))

  it('is stored when it says so, also when the run is canceled at that moment', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      for (const turns of [0, 1, 2, 3, 4, 5, 6, 8, 10]) {
        const { id } = await engine.trigger(counting, undefined)
        await clock.settle()
        const changing = ask(handler, `PUT /api/v1/runs/${id}/metadata`, { body: { metadata: { b: 2 } } })
        for (let turn = 0; turn < 3 * turns; turn++) await Promise.resolve()
        await engine.runs.cancel(id)
        const { status } = await changing
        const { metadata: stored } = await engine.runs.retrieve(id)
        if (status === 200) expect(stored).toEqual({ b: 2 })
        else expect([409, 422]).toContain(status)
      }
    }))

  it('is told to subscribers', () =>
    onBench({}, async ({ handler, engine }) => {
      const { id } = await engine.trigger(echo, 1, later)
      const updates = engine.runs.subscribeToRun(id)[Symbol.asyncIterator]()
      await updates.next()
      const next = updates.next()
      await ask(handler, `PUT /api/v1/runs/${id}/metadata`, { body: { metadata: { b: 2 } } })
      expect((await next).value).toMatchObject({ metadata: { b: 2 } })
      await updates.return?.()
    }))

  it('is refused when the run has ended, when there is none, and when it becomes too large', () =>
    onBench({ metadataBytes: 200 }, async ({ handler, engine }) => {
      const ended = await engine.trigger(echo, 1)
      await ended.result()
      const put = (id: string, body: unknown): ReturnType<typeof ask> =>
        ask(handler, `PUT /api/v1/runs/${id}/metadata`, { body })
      expect((await put(ended.id, { metadata: {} })).status).toBe(422)
      expect((await put(UNKNOWN, { metadata: {} })).status).toBe(404)
      expect((await put('x', { metadata: {} })).status).toBe(404)
      const { id } = await engine.trigger(echo, 1, later)
      const append = { operations: [{ type: 'append', key: 'list', value: 'x'.repeat(90) }] }
      expect([(await put(id, append)).status, (await put(id, append)).status]).toEqual([200, 413])
      expect((await put(id, { metadata: { a: 'x'.repeat(200) } })).status).toBe(413)
      expect((await put(id, '{"metadata":{"a":1e999}}')).status).toBe(400)
      expect((await put(id, { metadata: 1 })).status).toBe(400)
    }))

  it('is refused while another engine executes the run', async () => {
    const storage = memoryStorage()
    await using other = await createTestEngine({
      tasks: [counting],
      storage,
      clock: { mode: 'manual' },
      seed: 1,
    })
    const { id } = await other.engine.trigger(counting, undefined)
    await other.clock.settle()
    await using t = await stillEngine({ storage, clock: other.clock, seed: 2 })
    const answer = await ask(createHandler(t.engine), `PUT /api/v1/runs/${id}/metadata`, {
      body: { metadata: {} },
    })
    expect(answer).toMatchObject({
      status: 409,
      body: { error: expect.stringContaining('another engine') as string },
    })
  })
})

describe('the tags of a run', () => {
  const add = (handler: Handler, id: string, tags: unknown): ReturnType<typeof ask> =>
    ask(handler, `POST /api/v1/runs/${id}/tags`, { credential: SECRET, body: { tags } })

  it('can be added to, before and while it executes, and found by', () =>
    onBench({}, async ({ handler, engine, clock }) => {
      const waiting = await engine.trigger(counting, undefined, { tags: 'a' })
      await clock.settle()
      const delayed = await engine.trigger(echo, 1, { ...later, tags: 'a' })
      for (const { id } of [waiting, delayed]) {
        expect((await add(handler, id, ['a', 'b'])).body).toEqual({ message: 'Successfully set 1 new tags.' })
        await Promise.all(['c', 'd', 'e'].map((tag) => add(handler, id, tag)))
        expect((await engine.runs.retrieve(id)).tags.toSorted()).toEqual(['a', 'b', 'c', 'd', 'e'])
        expect((await engine.runs.list({ tag: 'd' })).data[0]?.id).toBe(id)
      }
    }))

  it.each<[status: number, tags: unknown]>([
    [400, undefined],
    [400, 5],
    [400, ['']],
    [400, [5]],
    [422, ['b', 'c', 'd']],
  ])('is refused with %i for %j', (status, tags) =>
    onBench({ tags: 3 }, async ({ handler, engine }) => {
      const { id } = await engine.trigger(echo, 1, { ...later, tags: 'a' })
      expect((await add(handler, id, tags)).status).toBe(status)
      expect((await engine.runs.retrieve(id)).tags).toEqual(['a'])
    }),
  )

  it('stays as it is when the run has ended', () =>
    onBench({}, async ({ handler, engine }) => {
      const run = await engine.trigger(echo, 1)
      await run.result()
      expect((await add(handler, run.id, 'a')).status).toBe(422)
      expect((await add(handler, UNKNOWN, 'a')).status).toBe(404)
    }))
})
