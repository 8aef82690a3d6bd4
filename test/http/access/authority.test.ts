import { describe, expect, it } from 'vitest'
import { type AccessTokenOptions, createAccessToken, memoryStorage, task, wait } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { createTestEngine, type TestEngine } from 'waitpoint/testing'
import { kernelOf } from '../../../src/core/engine.ts'
import { accessToken, ask, stillEngine } from '../requests.ts'

const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const fails = task({
  id: 'fails',
  retry: { maxAttempts: 1 },
  run: async (): Promise<never> => {
    throw new Error('boom')
  },
})
const waits = task({ id: 'waits', run: () => wait.for({ days: 10 }) })
const second = task({ id: 'second', run: (payload: unknown) => payload })
const tasks = [echo, second, fails, waits]

interface Bench extends TestEngine {
  readonly handler: Handler
  /** An access token with these scopes and claims. */
  readonly jwt: (scopes: readonly string[], claims?: Readonly<Record<string, unknown>>) => Promise<string>
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks })
  const handler = createHandler(t.engine)
  const jwt: Bench['jwt'] = (scopes, claims = {}) => accessToken(scopes, t.clock.now(), { claims })
  await body({ ...t, handler, jwt })
}

const TRIGGER = 'POST /api/v1/tasks/echo/trigger'
const SIGN = 'POST /api/v1/auth/public-tokens'

describe('an access token that may only trigger', () => {
  const body = { payload: 0, options: { idempotencyKey: 'order-1' } }

  it('gets no access to the run of a stranger by its idempotency key', () =>
    onBench(async ({ handler, engine, jwt }) => {
      const mine = await engine.trigger(echo, 'secret', { idempotencyKey: 'order-1' })
      const answer = await ask(handler, TRIGGER, { body, credential: await jwt(['trigger:tasks:echo']) })
      expect([answer.status, answer.body]).toEqual([200, { id: mine.id, isCached: true }])
      expect(answer.headers.get('x-trigger-jwt')).toBeNull()
    }))

  it.each(['read:runs', 'read:tasks:echo', 'read:tasks', 'read:tags:a', 'admin'])(
    'gets it with %s, with which it could read the run',
    (scope) =>
      onBench(async ({ handler, engine, jwt }) => {
        await engine.trigger(echo, 'secret', { idempotencyKey: 'order-1', tags: 'a' })
        const credential = await jwt(['trigger:tasks:echo', scope])
        const { body: answer } = await ask(handler, TRIGGER, { body, credential })
        expect(answer).toMatchObject({ isCached: true, publicAccessToken: expect.any(String) as string })
      }),
  )

  it('gets access to the run that it has made', () =>
    onBench(async ({ handler, jwt }) => {
      const { body: made } = await ask(handler, TRIGGER, {
        body,
        credential: await jwt(['trigger:tasks:echo']),
      })
      const { id, publicAccessToken } = made as { readonly id: string; readonly publicAccessToken: string }
      expect((await ask(handler, `GET /api/v3/runs/${id}`, { credential: publicAccessToken })).status).toBe(
        200,
      )
    }))
})

describe('an access token for one use', () => {
  it('does nothing any more once it has triggered', () =>
    onBench(async ({ handler, engine, jwt }) => {
      const { id } = await engine.trigger(waits, undefined)
      const scopes = ['trigger:tasks:echo', `write:runs:${id}`, `read:runs:${id}`]
      const credential = await jwt(scopes, { otu: true })
      const read = `GET /api/v3/runs/${id}`
      expect((await ask(handler, read, { credential })).status).toBe(200)
      expect((await ask(handler, TRIGGER, { credential, body: {} })).status).toBe(200)
      for (const path of [TRIGGER, read, `POST /api/v1/runs/${id}/replay`, `POST /api/v2/runs/${id}/cancel`])
        expect((await ask(handler, path, { credential })).status, path).toBe(401)
      await engine.runs.cancel(id)
    }))

  it.each(['replay', 'cancel', 'complete', 'tags'])('is used up by other changes too: %s', (change) =>
    onBench(async ({ handler, engine, jwt }) => {
      const { id } = await engine.trigger(echo, 1, { delay: '1h' })
      const token = await engine.wait.createToken()
      const credential = await jwt([`write:runs:${id}`, `write:waitpoints:${token.id}`], { otu: true })
      const asked = {
        replay: [`POST /api/v1/runs/${id}/replay`, undefined],
        cancel: [`POST /api/v2/runs/${id}/cancel`, undefined],
        complete: [`POST /api/v1/waitpoints/tokens/${token.id}/complete`, { output: 1 }],
        tags: [`POST /api/v1/runs/${id}/tags`, { tags: ['b'] }],
      }[change] as [string, unknown]
      const once = async (): Promise<number> =>
        (await ask(handler, asked[0], { credential, ...(asked[1] === undefined ? {} : { body: asked[1] }) }))
          .status
      expect([await once(), await once()]).toEqual([200, 401])
      await engine.runs.cancel(id)
    }),
  )

  it('is given its answer again when it repeats the request under its name', () =>
    onBench(async ({ handler, jwt }) => {
      const credential = await jwt(['trigger:tasks:echo'], { otu: true })
      const headers = { 'x-trigger-request-idempotency-key': 'one' }
      const once = async (): Promise<unknown> =>
        (await ask(handler, TRIGGER, { credential, body: {}, headers })).body
      const first = await once()
      expect(await once()).toEqual(first)
      expect((await ask(handler, TRIGGER, { credential, body: {} })).status).toBe(401)
    }))

  it('is for one use also if that is said in another type', () =>
    onBench(async ({ handler, jwt }) => {
      const credential = await jwt(['trigger:tasks:echo'], { otu: 'true' })
      await ask(handler, TRIGGER, { credential, body: {} })
      expect((await ask(handler, TRIGGER, { credential, body: {} })).status).toBe(401)
    }))
})

describe('restrictions of an access token to sign', () => {
  it.each([
    [{ onetimeuse: true }, '"onetimeuse"'],
    [{ expiresIn: '1m' }, '"expiresIn"'],
    [{ oneTimeUse: 'true' }, '"oneTimeUse"'],
    [{ realtime: { skipColumns: 'payload' } }, '"realtime"'],
    [{ realtime: { skipColumns: ['payloads'] } }, '"realtime"'],
    [{ realtime: { skipcolumns: ['payload'] } }, '"realtime"'],
    [{ realtime: ['payload'] }, '"realtime"'],
  ])('are refused when they are misspelt: %j', (more, error) =>
    onBench(async ({ handler }) => {
      expect(await ask(handler, SIGN, { body: { scopes: ['read:runs'], ...more } })).toMatchObject({
        status: 400,
        body: { error: expect.stringContaining(error) as string },
      })
    }),
  )

  it('make a token that cannot be read worth nothing', () =>
    onBench(async ({ handler, jwt }) => {
      for (const realtime of [
        'payload',
        { skipColumns: 'payload' },
        { skipColumns: ['x'] },
        [],
        { skip: [] },
      ]) {
        const credential = await jwt(['read:runs'], { realtime })
        expect((await ask(handler, 'GET /api/v1/runs', { credential })).status).toBe(401)
      }
    }))
})

describe('columns that an access token skips', () => {
  it('are shown on no route', () =>
    onBench(async ({ handler, engine, clock }) => {
      const { id } = await engine.trigger(echo, 'SECRET', { metadata: { a: 'SECRET' }, tags: 'SECRET' })
      await clock.settle()
      const realtime = { skipColumns: ['payload', 'output', 'metadata', 'runTags'] }
      const { body } = await ask(handler, SIGN, { body: { scopes: ['read:runs', 'write:runs'], realtime } })
      const credential = (body as { readonly token: string }).token
      for (const path of [
        `/api/v3/runs/${id}`,
        `/api/v1/runs`,
        `/api/v1/runs/${id}/result`,
        `/api/v1/runs/${id}/metadata`,
        `/api/v1/runs/${id}/stream`,
        `/realtime/v1/runs/${id}?offset=-1`,
        `/realtime/v1/runs?tags=SECRET`,
      ]) {
        const request = new Request(`http://engine.test${path}`, {
          headers: { authorization: `Bearer ${credential}` },
        })
        const response = await handler(request)
        expect([path, response.status]).toEqual([path, 200])
        expect(await response.text(), path).not.toContain('SECRET')
      }
    }))
})

describe('the error of a run', () => {
  it('is left out with those of its attempts', () =>
    onBench(async ({ handler, engine, clock, jwt }) => {
      const { id } = await engine.trigger(fails, undefined)
      await clock.settle()
      const read = async (claims: object): Promise<unknown> => {
        const credential = await jwt([`read:runs:${id}`], { ...claims })
        return (await ask(handler, `GET /api/v3/runs/${id}`, { credential })).body
      }
      const error = { name: 'Error', message: 'boom' }
      expect(await read({})).toMatchObject({ error, attempts: [{ number: 1, error }] })
      const skipped = await read({ realtime: { skipColumns: ['error'] } })
      expect(skipped).toMatchObject({ id, attempts: [] })
      expect(skipped).not.toHaveProperty('error')
    }))

  it('has its stack for secret keys alone', () =>
    onBench(async ({ handler, engine, clock }) => {
      const { id, publicAccessToken } = await engine.trigger(fails, undefined)
      await clock.settle()
      for (const path of [
        `/api/v3/runs/${id}`,
        `/api/v1/runs/${id}/result`,
        `/api/v1/runs/${id}/stream`,
        `/realtime/v1/runs/${id}?offset=-1`,
      ]) {
        const read = async (credential: string): Promise<string> => {
          const headers = { authorization: `Bearer ${credential}` }
          return (await handler(new Request(`http://engine.test${path}`, { headers }))).text()
        }
        expect(await read(publicAccessToken), path).toContain('boom')
        expect(await read(publicAccessToken), path).not.toContain('authority.test')
        expect(await read('sk_first'), path).toContain('authority.test')
      }
    }))
})

describe('a run that a caller may not read', () => {
  it('is not looked up, so that the time of the answer says nothing about it', () =>
    onBench(async ({ handler, engine, jwt }) => {
      const { id } = await engine.trigger(echo, 'x'.repeat(10_000), { delay: '1h' })
      const { storage } = kernelOf(engine).host
      let reads = 0
      const get = storage.runs.get.bind(storage.runs)
      storage.runs.get = (runId) => {
        reads += 1
        return get(runId)
      }
      const credential = await jwt(['read:runs:run_mine', 'trigger:tasks:echo'])
      for (const path of [
        `/api/v3/runs/${id}`,
        `/api/v1/runs/${id}/result`,
        `/api/v1/runs/${id}/metadata`,
        `/api/v1/runs/${id}/stream`,
        `/realtime/v1/runs/${id}`,
        `/realtime/v1/streams/${id}/k`,
      ])
        expect((await ask(handler, `GET ${path}`, { credential })).status, path).toBe(403)
      expect(reads).toBe(0)
      await engine.runs.cancel(id)
    }))

  it.each([
    ['read:tags:mine', ['theirs']],
    ['read:tasks:second', ['theirs']],
    ['read:tags', []],
    ['read:tags:mine', []],
  ])('is not loaded for a token with %s either, if its tags are %j', (scope, tags) =>
    onBench(async ({ handler, engine, jwt }) => {
      const { id } = await engine.trigger(echo, 'x'.repeat(10_000), { delay: '1h', tags })
      const { storage } = kernelOf(engine).host
      const get = storage.runs.get.bind(storage.runs)
      let answers: unknown[] = []
      storage.runs.get = (...asked) => {
        const answer = get(...asked)
        answers.push(answer)
        return answer
      }
      const credential = await jwt([scope, 'trigger:tasks:echo'])
      const askAll = async (runId: string): Promise<readonly unknown[]> => {
        answers = []
        for (const path of [
          `/api/v3/runs/${runId}`,
          `/api/v1/runs/${runId}/result`,
          `/api/v1/runs/${runId}/metadata`,
          `/api/v1/runs/${runId}/stream`,
          `/realtime/v1/runs/${runId}`,
          `/realtime/v1/streams/${runId}/k`,
        ])
          expect((await ask(handler, `GET ${path}`, { credential })).status, path).toBe(403)
        return Promise.all(answers)
      }
      const ofStranger = await askAll(id)
      expect(ofStranger).toEqual(Array.from({ length: 6 }, () => undefined))
      // The storage is asked as often for a run that does not exist.
      expect(await askAll(`run_${'0'.repeat(26)}`)).toEqual(ofStranger)
      await engine.runs.cancel(id)
    }),
  )
})

describe('the access token of a handle', () => {
  it('is good for a day from the call, also when the run was there before', () =>
    onBench(async ({ handler, engine, clock }) => {
      const again = () => engine.trigger(waits, undefined, { idempotencyKey: 'k', idempotencyKeyTTL: '7d' })
      const read = async (credential: string, id: string): Promise<number> =>
        (await ask(handler, `GET /api/v3/runs/${id}`, { credential })).status
      const first = await again()
      await clock.advance('25h')
      expect(await read(first.publicAccessToken, first.id)).toBe(401)
      const second = await again()
      expect(second).toMatchObject({ id: first.id, isCached: true })
      expect(await read(second.publicAccessToken, first.id)).toBe(200)
      await engine.runs.cancel(first.id)
    }))
})

describe('an engine without a secret key', () => {
  it('signs access tokens with a key of its storage: they outlive the process', async () => {
    const storage = memoryStorage()
    const one = await createTestEngine({ tasks, storage })
    const run = await one.engine.trigger(echo, 1, { delay: '1h' })
    const accessTokenOfRun = run.publicAccessToken
    await one.close()
    await using two = await createTestEngine({ tasks, storage, clock: { start: one.clock.now() } })
    const handler = createHandler(two.engine)
    const path = `GET /api/v3/runs/${run.id}`
    expect((await ask(handler, path, { credential: accessTokenOfRun })).status).toBe(200)
    await using other = await createTestEngine({ tasks, seed: 2 })
    expect((await ask(createHandler(other.engine), path, { credential: accessTokenOfRun })).status).toBe(401)
    await two.engine.runs.cancel(run.id)
  })
})

describe('createAccessToken', () => {
  it('signs what is granted, and nothing else', () =>
    onBench(async ({ handler, engine, clock }) => {
      const mine = await engine.trigger(waits, undefined, { tags: 'mine' })
      const other = await engine.trigger(waits, undefined, { tags: 'other' })
      const [token, foreign] = [await engine.wait.createToken(), await engine.wait.createToken()]
      const credential = await engine.createAccessToken(
        {
          read: { tags: ['mine'], tokens: token },
          complete: token,
          trigger: [echo, 'second'],
          cancel: mine.id,
        },
        { expiresIn: '1h' },
      )
      const status = async (path: string, body?: unknown): Promise<number> =>
        (await ask(handler, path, { credential, ...(body === undefined ? {} : { body }) })).status
      const tokens = '/api/v1/waitpoints/tokens'
      expect(await status(`GET /api/v3/runs/${mine.id}`)).toBe(200)
      expect(await status(`GET /api/v3/runs/${other.id}`)).toBe(403)
      expect(await status(`GET ${tokens}/${token.id}`)).toBe(200)
      expect(await status(`GET ${tokens}/${foreign.id}`)).toBe(403)
      expect(await status(`POST ${tokens}/${token.id}/complete`, { output: 1 })).toBe(200)
      expect(await status(`POST ${tokens}/${foreign.id}/complete`, { output: 1 })).toBe(403)
      for (const task of ['echo', 'second'])
        expect(await status(`POST /api/v1/tasks/${task}/trigger`, {})).toBe(200)
      expect(await status('POST /api/v1/tasks/waits/trigger', {})).toBe(403)
      for (const change of ['replay', 'tags'])
        expect(await status(`POST /api/v1/runs/${mine.id}/${change}`)).toBe(403)
      expect(await status(`POST /api/v2/runs/${other.id}/cancel`)).toBe(403)
      expect(await status(`POST /api/v2/runs/${mine.id}/cancel`)).toBe(200)
      await clock.advance('1h')
      expect(await status(`GET /api/v3/runs/${mine.id}`)).toBe(401)
      await engine.runs.cancel(other.id)
    }))

  it('signs scopes as they stand, for one use, without columns, until an instant', () =>
    onBench(async ({ handler, engine, clock }) => {
      const run = await engine.trigger(waits, 'secret')
      const until = new Date(Math.ceil(clock.now() / 1_000) * 1_000 + 60_000)
      const credential = await engine.createAccessToken(
        { scopes: ['read:runs', 'write:runs'] },
        { oneTimeUse: true, skipColumns: ['payload'], expiresIn: until },
      )
      const status = async (path: string): Promise<number> =>
        (await ask(handler, path, { credential })).status
      const read = await ask(handler, `GET /api/v3/runs/${run.id}`, { credential })
      expect(read.status).toBe(200)
      expect(read.body).not.toHaveProperty('payload')
      expect(await status(`POST /api/v2/runs/${run.id}/cancel`)).toBe(200)
      expect(await status(`POST /api/v1/runs/${run.id}/replay`)).toBe(401)
      const reader = await engine.createAccessToken({ scopes: ['read:runs'] }, { expiresIn: until })
      const readable = async (): Promise<number> =>
        (await ask(handler, `GET /api/v3/runs/${run.id}`, { credential: reader })).status
      await clock.advance(until.getTime() - clock.now() - 1)
      expect(await readable()).toBe(200)
      await clock.advance(1)
      expect(await readable()).toBe(401)
    }))

  it('is made by the module, too, on the engine of the run or the default one', () =>
    onBench(async ({ handler, engine }) => {
      await expect(createAccessToken({ scopes: ['read:runs'] })).rejects.toMatchObject({
        code: 'ERR_NO_ENGINE',
      })
      engine.makeDefault()
      const run = await engine.trigger(echo, 1)
      const credential = await createAccessToken({ read: { runs: run } }, { expiresIn: '1m' })
      expect((await ask(handler, `GET /api/v3/runs/${run.id}`, { credential })).status).toBe(200)
    }))

  it('signs for 15 minutes unless it is told otherwise', () =>
    onBench(async ({ handler, engine, clock }) => {
      const run = await engine.trigger(waits, undefined)
      const credential = await engine.createAccessToken({ read: { runs: [run] } })
      const read = async (): Promise<number> =>
        (await ask(handler, `GET /api/v3/runs/${run.id}`, { credential })).status
      await clock.advance(899_999)
      expect(await read()).toBe(200)
      await clock.advance(1)
      expect(await read()).toBe(401)
      await engine.runs.cancel(run.id)
    }))

  it.each([
    [{}, 'nothing'],
    [{ read: {} }, 'nothing'],
    [{ read: { runs: [] } }, 'nothing'],
    [{ reads: { runs: 'run_1' } }, '"reads"'],
    [{ read: { run: 'run_1' } }, '"run"'],
    [{ read: { runs: '' } }, 'read.runs ""'],
    [{ complete: [undefined] }, 'complete undefined'],
    [{ cancel: {} }, 'cancel {'],
    [{ scopes: 'read:runs' }, 'a list'],
    [{ scopes: ['admin'] }, 'the scope "admin"'],
    [{ scopes: ['read:runs:'] }, 'the scope "read:runs:"'],
  ])('refuses a grant that cannot be used: %j', (grant, message) =>
    onBench(async ({ engine }) => {
      await expect(engine.createAccessToken(grant as never)).rejects.toThrow(TypeError)
      await expect(engine.createAccessToken(grant as never)).rejects.toThrow(message)
    }),
  )

  it.each([
    { expiresIn: 0 },
    { expiresIn: '-1h' },
    { expiresIn: 'soon' },
    { expiresIn: new Date(0) },
    { expires: '1h' },
    { oneTimeUse: 'yes' },
    { skipColumns: 'payload' },
    { skipColumns: ['paylod'] },
  ])('refuses options that cannot be used: %j', (options) =>
    onBench(async ({ engine }) => {
      const asked = engine.createAccessToken({ read: { runs: 'run_1' } }, options as AccessTokenOptions)
      await expect(asked).rejects.toThrow(/^Cannot (?:use|read|skip)/)
    }),
  )
})
