import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AnyTask, createEngine, type RunTools, task } from 'waitpoint'
import { ApiError, type Client, createClient } from 'waitpoint/client'
import { createHandler, serve } from 'waitpoint/http'
import { testClock } from 'waitpoint/testing'
import { accessToken, SECRET } from '../http/requests.ts'
import { projectStorage } from '../support/abandon.ts'
import { bodyTask, rejection } from '../support/body-task.ts'
import { cases } from '../support/cases.ts'
import {
  chunksOf,
  collect,
  CountSource,
  follow,
  nextChunk,
  numbers,
  PushSource,
  type ShortPart,
  sourceOf,
  watchers,
} from '../support/streams.ts'
import { until } from '../support/turn.ts'
import { CuttingFetch } from './cutting-fetch.ts'
import { type Namespaces, reachedEngine } from './reached-engine.ts'

/** All parts of a subscription over the wire, in short. */
async function followFrom({ runs }: Pick<Namespaces, 'runs'>, id: string): Promise<ShortPart[]> {
  const parts: ShortPart[] = []
  for await (const part of runs.subscribeToRun(id).withStreams()) {
    parts.push('chunk' in part ? [part.type, part.chunk] : ['run', part.run.status])
  }
  return parts
}

/** A task with two streams of numbers. */
const counting = task({
  id: 'counting',
  run: async ({ a, b }: { readonly a: number; readonly b: number }, { metadata }) => {
    await metadata.stream('a', new CountSource(a))
    await metadata.stream('b', new CountSource(b))
    return a + b
  },
})

const UNKNOWN = 'run_00000000000000000000000000'

describe('createClient', () => {
  it('shows the queue of a run, and the run of a token', async () => {
    const asks = bodyTask(async ({ wait }) => (await wait.createToken()).id, { id: 'asks' })
    await using t = await reachedEngine({ tasks: [asks] })
    const { runs, tasks, wait } = t.client
    const run = await tasks.trigger<typeof asks>('asks', null, {
      queue: { name: 'mail' },
      concurrencyKey: 'k',
    })
    const token = await run.result()
    const where = { queue: 'mail', concurrencyKey: 'k' }
    expect(await runs.retrieve(run)).toMatchObject(where)
    expect((await runs.list()).data).toMatchObject([where])
    expect(await collect(runs.subscribeToRun(run))).toMatchObject([where])
    expect(await wait.retrieveToken(token)).toMatchObject({ runId: run.id })
    expect((await wait.listTokens()).data).toMatchObject([{ runId: run.id }])
  })

  it('lists the runs below a root', async () => {
    const parent = bodyTask(async () => counting.triggerAndWait({ a: 1, b: 1 }), { id: 'parent' })
    await using t = await reachedEngine({ tasks: [parent, counting] })
    const root = await t.client.tasks.trigger<typeof parent>('parent', null)
    await root.result()
    expect((await t.client.runs.list({ root: root.id })).data).toMatchObject([
      { taskIdentifier: 'counting', rootId: root.id },
    ])
    expect((await t.client.runs.list({ root: 'run_none' })).data).toEqual([])
  })

  it('shows the engine that holds a run, as the engine does', async () => {
    const waits = bodyTask(async ({ wait }) => wait.for({ days: 1 }), { id: 'waits' })
    await using t = await reachedEngine({ tasks: [waits], clock: testClock({ mode: 'manual' }) })
    const run = await t.client.tasks.trigger<typeof waits>('waits', null)
    await t.clock.settle()
    const { owner } = await t.engine.runs.retrieve(run)
    expect(owner).toMatchObject({ isHere: true })
    expect((await t.client.runs.retrieve(run)).owner).toEqual(owner)
  })

  it('shows what the attempts of a run have thrown, as the engine does', async () => {
    const tries = bodyTask(
      ({ ctx }) => {
        if (ctx.attempt.number < 3) throw Object.assign(new RangeError('no'), { code: 'E_NO' })
      },
      { id: 'tries', retry: { maxAttempts: 3, minTimeoutInMs: 0 } },
    )
    await using t = await reachedEngine({ tasks: [tries] })
    const { id } = await t.engine.trigger(tries, null)
    const { attempts } = await t.client.runs.poll(id)
    expect(attempts).toMatchObject([{ number: 1 }, { number: 2, error: { code: 'E_NO' } }])
    expect(attempts).toEqual((await t.engine.runs.retrieve(id)).attempts)
  })

  it('triggers a run, follows it with its streams, completes its token, and gets its output', async () => {
    const greet = task({
      id: 'greet',
      run: async ({ name }: { readonly name: string }, { metadata, wait }) => {
        await metadata.stream('words', sourceOf('Hello', name))
        const token = await wait.createToken()
        metadata.set('token', token.id)
        return `${await wait.forToken<string>(token).unwrap()} ${name}`
      },
    })
    await using t = await reachedEngine({ tasks: [greet] })
    const { runs, tasks, wait } = t.client
    const run = await tasks.trigger<typeof greet>('greet', { name: 'Ada' })
    const words: string[] = []
    const statuses: string[] = []
    for await (const part of runs.subscribeToRun<typeof greet>(run).withStreams<{ words: string }>()) {
      if (part.type === 'words') words.push(part.chunk)
      else statuses.push(part.run.status)
      if (part.run.isWaiting) await wait.completeToken(String(part.run.metadata['token']), 'Bye')
    }
    expect([words, statuses.at(-1)]).toEqual([['Hello', 'Ada'], 'COMPLETED'])
    const output: string = await run.result()
    expect([output, await run.outcome()]).toEqual(['Bye Ada', expect.objectContaining({ ok: true, output })])
  })

  it.each([null, 0, '', false, [null], { a: null }])(
    'brings %j as it is: as payload, output, answer to a token and chunk',
    async (value) => {
      const echo = task({
        id: 'echo',
        run: async (payload: unknown, { streams, wait, ctx }) => {
          await streams.append('echoes', payload)
          const answer = await wait.forToken(await wait.createToken({ tags: ctx.run.id })).unwrap()
          return answer
        },
      })
      await using t = await reachedEngine({ tasks: [echo] })
      const { runs, tasks, wait, streams } = t.client
      const run = await tasks.trigger<typeof echo>('echo', value)
      await t.clock.settle()
      const [token] = (await wait.listTokens({ tags: run.id })).data
      await wait.completeToken(token!, value)
      expect(await run.result()).toEqual(value)
      const seen = { payload: value, output: value }
      expect(await runs.retrieve(run)).toMatchObject(seen)
      for await (const shown of runs.subscribeToRun(run)) expect(shown).toMatchObject(seen)
      expect(await wait.retrieveToken(token!)).toMatchObject({ output: value })
      expect(await collect(streams.read(run, 'echoes'))).toEqual([value])
    },
  )

  it('tells who won a token', async () => {
    await using t = await reachedEngine()
    const { wait } = t.client
    const token = await wait.createToken({ timeout: '1h' })
    expect(await wait.completeToken(token, 1)).toEqual({ success: true, status: 'COMPLETED' })
    expect(await wait.completeToken(token, 2)).toEqual({ success: false, status: 'COMPLETED' })
    expect((await wait.retrieveToken<number>(token)).output).toBe(1)
  })

  it('tells the winner so whose first answer was lost, and creates one token for one call', async () => {
    await using t = await reachedEngine()
    const handler = createHandler(t.engine)
    let lost = 0
    const fetch = async (request: Request): Promise<Response> => {
      const response = await handler(request)
      if (lost++ % 2 === 0) throw new TypeError('connection reset')
      return response
    }
    const { clock } = t
    const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch, clock })
    const token = await clock.until(client.wait.createToken({ timeout: '1h' }), { within: '5s' })
    const winner = clock.until(client.wait.completeToken(token, 1), { within: '5s' })
    expect(await winner).toEqual({ success: true, status: 'COMPLETED' })
    const loser = clock.until(client.wait.completeToken(token, 2), { within: '5s' })
    expect(await loser).toEqual({ success: false, status: 'COMPLETED' })
    expect(await collect(t.engine.wait.listTokens())).toHaveLength(1)
  })

  it('loses no chunk and repeats none, wherever and however often its connections are cut', () =>
    fc.assert(
      fc.asyncProperty(
        fc.record({ a: fc.nat({ max: 200 }), b: fc.nat({ max: 50 }) }),
        fc.array(fc.nat({ max: 2_000 }), { maxLength: 8 }),
        async (payload, plan) => {
          await using t = await reachedEngine({ tasks: [counting] })
          const { fetch } = new CuttingFetch(createHandler(t.engine), plan)
          const { clock } = t
          // More than there are cuts: all of them may come before it was connected.
          const retry = { maxAttempts: 9 }
          const options = { baseUrl: 'http://engine.test', accessToken: SECRET, fetch, clock, retry }
          const client = createClient(options)
          const run = await client.tasks.trigger<typeof counting>('counting', payload)
          const parts = await clock.until(followFrom(client, run.id), { within: '1h' })
          expect(chunksOf(parts, 'a')).toEqual(numbers(payload.a))
          expect(chunksOf(parts, 'b')).toEqual(numbers(payload.b))
          expect([parts[0]?.[0], parts.at(-1)]).toEqual(['run', ['run', 'COMPLETED']])
          expect(watchers(t.engine)).toBe(0)
        },
      ),
      { numRuns: cases(40) },
    ))

  it('asks for its place in as many streams as fit into a header, and takes no chunk twice', async () => {
    const keys = numbers(40).map((index) => `${index} of a long key ${'é'.repeat(30)}`)
    const many = bodyTask(async ({ metadata }) => {
      for (const key of keys) await metadata.stream(key, new CountSource(9))
    })
    await using t = await reachedEngine({ tasks: [many] })
    const { fetch, ids } = new CuttingFetch(createHandler(t.engine), [30_000, 20_000])
    const { clock } = t
    const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch, clock })
    const run = await t.engine.trigger(many, null)
    await run.result()
    const parts = await clock.until(followFrom(client, run.id), { within: '1h' })
    expect(keys.map((key) => chunksOf(parts, key))).toEqual(keys.map(() => numbers(9)))
    expect(ids).toHaveLength(3)
    for (const id of ids) expect(id.length).toBeLessThanOrEqual(4_096)
    expect(ids[2]).toContain('=9&')
  })

  it.each<[string, (tools: RunTools, chunk: number) => Promise<unknown>]>([
    ['streams.append', ({ streams }, chunk) => streams.append('k', chunk)],
    ['streams.pipe', ({ streams }, chunk) => streams.pipe('k', sourceOf(chunk)).waitUntilComplete()],
    ['metadata.stream', async ({ metadata }, chunk) => collect(await metadata.stream('k', sourceOf(chunk)))],
  ])('shows what %s writes at once, also to a key that has ended before', async (_what, write) => {
    const gate = new PushSource<number>()
    const body = bodyTask(async (tools) => {
      for await (const chunk of gate) await write(tools, chunk)
    })
    await using t = await reachedEngine({ tasks: [body] })
    const { fetch, asked } = new CuttingFetch(createHandler(t.engine), [])
    const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch })
    const run = await t.engine.trigger(body, null)
    const parts = client.runs.subscribeToRun(run).withStreams()[Symbol.asyncIterator]()
    for (const chunk of numbers(5)) {
      gate.push(chunk)
      expect(await nextChunk(parts)).toBe(chunk)
    }
    gate.end()
    expect(await collect({ [Symbol.asyncIterator]: () => parts })).not.toEqual([])
    expect(asked).toEqual([`GET /api/v1/runs/${run.id}/stream`])
  })

  it('shows the parts that the engine shows, each chunk with its attempt and its number', async () => {
    const body = bodyTask(
      async ({ streams, ctx, metadata }) => {
        metadata.set('attempt', ctx.attempt.number)
        for (const chunk of ['a', 'b']) await streams.append('k', chunk)
        if (ctx.attempt.number === 1) throw new TypeError('first attempt')
        return { done: true }
      },
      { retry: { maxAttempts: 2, minTimeoutInMs: 1_000, randomize: false } },
    )
    await using t = await reachedEngine({ tasks: [body] })
    const run = await t.client.tasks.trigger<typeof body>('body', null, { tags: ['x'] })
    const live = await t.clock.until(collect(t.client.runs.subscribeToRun(run).withStreams()), {
      within: '1m',
    })
    const places = live.map(({ type, run: shown, attempt, sequence }) =>
      type === 'run' ? `#${shown.attemptCount}` : `${attempt}:${sequence}`,
    )
    expect(places.filter((place) => !place.startsWith('#'))).toEqual(['1:0', '1:1', '2:2', '2:3'])
    expect(places.indexOf('#2')).toBeGreaterThan(places.indexOf('1:1'))
    expect(places.indexOf('#2')).toBeLessThan(places.indexOf('2:2'))
    const late = await collect(t.client.runs.subscribeToRun(run).withStreams())
    expect(late).toEqual(await collect(t.engine.runs.subscribeToRun(run).withStreams()))
    expect(late.map(({ type, attempt, sequence }) => [type, attempt, sequence])).toEqual([
      ['run', undefined, undefined],
      ...[1, 1, 2, 2].map((attempt, sequence) => ['k', attempt, sequence]),
      ['run', undefined, undefined],
    ])
  })

  it('shows a run that has ended, and all its chunks, as the engine does', async () => {
    await using t = await reachedEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, { a: 3, b: 2 })
    await run.result()
    expect(await followFrom(t.client, run.id)).toEqual(await follow(t.engine, run))
  })

  it('shows each part as soon as there is one', async () => {
    const source = new PushSource<string>()
    const body = bodyTask(async ({ metadata }) => {
      await metadata.stream('k', source)
    })
    await using t = await reachedEngine({ tasks: [body] })
    const run = await t.client.tasks.trigger<typeof body>('body', null)
    const chunks = t.client.streams.read<string>(run, 'k')[Symbol.asyncIterator]()
    for (const chunk of ['a', 'b', 'c']) {
      source.push(chunk)
      expect(await chunks.next()).toEqual({ done: false, value: chunk })
    }
    source.end()
    expect(await chunks.next()).toEqual({ done: true, value: undefined })
    await run.result()
  })

  it('reads a stream from any place of it, and appends to one of a run that executes', async () => {
    const gate = new PushSource<string>()
    const body = bodyTask(async ({ streams }) => {
      await streams.append('k', { at: 0 })
      await collect(gate)
    })
    await using t = await reachedEngine({ tasks: [body] })
    const { client } = t
    const run = await client.tasks.trigger<typeof body>('body', null)
    const read = collect(client.streams.read(run, 'k', { startIndex: 1 }))
    await until(() => t.engine.stats().executing === 1)
    for (const chunk of [{ at: 1 }, 'text', null]) await client.streams.append('k', chunk, { target: run })
    gate.end()
    expect(await read).toEqual([{ at: 1 }, 'text', null])
    await run.result()
  })

  it('moves the start of a run that is delayed, and says why it cannot once it is not', async () => {
    await using t = await reachedEngine({ tasks: [counting] })
    const run = await t.engine.trigger(counting, { a: 1, b: 1 }, { delay: '1h' })
    const moved = await t.client.runs.reschedule(run, { delay: '2h' })
    expect(moved).toEqual(await t.engine.runs.retrieve(run))
    expect(moved.delayedUntil).toEqual(new Date(t.clock.now() + 7_200_000))
    await t.engine.runs.cancel(run)
    expect(await rejection(t.client.runs.reschedule(run, { delay: '2h' }))).toMatchObject({
      code: 'ERR_CANNOT_RESCHEDULE',
      message: expect.stringContaining('it is CANCELED') as string,
    })
  })

  it('debounces runs, and frees the key of one that has failed', async () => {
    const failing = task({
      id: 'failing',
      run: () => {
        throw new Error('no')
      },
    })
    await using t = await reachedEngine({ tasks: [counting, failing] })
    const options = { debounce: { key: 'k', delay: 1_500, maxDelay: '1h', mode: 'trailing' } } as const
    const first = await t.client.tasks.trigger<typeof counting>('counting', { a: 1, b: 1 }, options)
    const again = await t.client.tasks.trigger<typeof counting>('counting', { a: 2, b: 2 }, options)
    expect([first.isCached, again.isCached, again.id]).toEqual([false, true, first.id])
    const run = await t.client.runs.retrieve(first)
    expect(run).toEqual(await t.engine.runs.retrieve(first))
    expect(run).toMatchObject({ payload: { a: 2, b: 2 }, debounceKey: 'k' })
    await t.engine.runs.cancel(first)

    const keyed = { idempotencyKey: 'k', freeKeyOnFailure: true }
    const failed = await t.client.tasks.trigger('failing', undefined, keyed)
    await failed.outcome()
    const anew = await t.client.tasks.trigger('failing', undefined, keyed)
    expect(anew.isCached).toBe(false)
    await anew.outcome()
  })

  it('lets a run that waits for fitting code go on with the code there is', async () => {
    const pay = (tag: string): AnyTask =>
      task({
        id: 'pay',
        run: async (_: unknown, { wait }) =>
          wait.forToken(await wait.createToken({ timeout: '1h', tags: [tag] })),
      })
    const [clock, storage] = [testClock({ mode: 'manual' }), projectStorage()]
    const old = createEngine({ tasks: [pay('manager')], storage, clock })
    const { id } = await old.trigger(pay('manager'), null as never)
    await clock.settle()
    await old.close()

    await using t = await reachedEngine({ tasks: [pay('legal')], storage, clock })
    expect(await rejection(t.client.runs.continueWith(id))).toMatchObject({
      code: 'ERR_CANNOT_CONTINUE',
      message: expect.stringContaining('it is WAITING') as string,
    })
    const [token] = (await t.client.wait.listTokens({ tags: 'manager' })).data
    await t.client.wait.completeToken(token!.id, 'yes')
    await clock.settle()
    expect((await t.client.runs.retrieve(id)).status).toBe('PENDING_VERSION')
    expect((await t.client.runs.continueWith(id)).status).toBe('EXECUTING')
    await clock.settle()
    expect((await t.client.wait.listTokens({ tags: 'legal' })).data).toHaveLength(1)
    expect(await rejection(t.client.runs.continueWith(UNKNOWN))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await t.client.runs.cancel(id)
  })

  it('explains a run as the engine does, with its instants as dates', async () => {
    const asking = bodyTask(({ wait }) =>
      wait.createToken({ tags: 'review' }).then((token) => wait.forToken(token)),
    )
    await using t = await reachedEngine({ tasks: [asking], clock: { mode: 'manual' } })
    const delayed = await t.engine.trigger(asking, null, { delay: '1h' })
    const waiting = await t.engine.trigger(asking, null)
    await t.clock.settle()
    for (const { id } of [delayed, waiting])
      expect(await t.client.runs.explain(id)).toEqual(await t.engine.runs.explain(id))
    expect(await t.client.runs.explain(waiting)).toMatchObject({
      reason: 'waiting',
      waits: [{ tags: ['review'], timeoutAt: expect.any(Date) as Date }],
    })
    expect(await rejection(t.client.runs.explain(UNKNOWN))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    await t.engine.runs.cancel(delayed.id)
    await t.engine.runs.cancel(waiting.id)
  })

  it.each<[string, (names: Namespaces) => Promise<unknown>]>([
    ['retrieved', ({ runs }) => runs.retrieve(UNKNOWN)],
    ['polled', ({ runs }) => runs.poll(UNKNOWN)],
    ['canceled', ({ runs }) => runs.cancel(UNKNOWN)],
    ['replayed', ({ runs }) => runs.replay(UNKNOWN)],
    ['rescheduled', ({ runs }) => runs.reschedule(UNKNOWN, { delay: '1h' })],
    ['followed', ({ runs }) => collect(runs.subscribeToRun(UNKNOWN))],
    ['followed with its streams', (names) => followFrom(names, UNKNOWN)],
    ['read', ({ streams }) => collect(streams.read(UNKNOWN, 'k'))],
  ])('rejects for a run that does not exist when it is %s', async (_how, use) => {
    await using t = await reachedEngine()
    expect(await rejection(use(t.client))).toMatchObject({ code: 'ERR_RUN_NOT_FOUND' })
    expect(watchers(t.engine)).toBe(0)
  })

  it.each<[string, (names: Namespaces) => Promise<unknown>]>([
    ['a call', ({ wait }) => wait.createToken()],
    ['a subscription', ({ runs }) => collect(runs.subscribeToRun(UNKNOWN))],
    ['a subscription with streams', (names) => followFrom(names, UNKNOWN)],
    ['a stream', ({ streams }) => collect(streams.read(UNKNOWN, 'k'))],
  ])('says at once when a credential is no good for %s', async (_what, use) => {
    await using t = await reachedEngine({}, { accessToken: 'sk_wrong' })
    const error = await rejection(use(t.client))
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ code: 'ERR_API_UNAUTHORIZED', status: 401 })
  })

  it('says with a secret key who completes a token, and is told so when it comes second', async () => {
    await using t = await reachedEngine()
    const { id } = await t.client.wait.createToken()
    await t.client.wait.completeToken(id, undefined, { by: { id: 'ann', via: 'cli' } })
    const by = { id: 'ann', via: 'cli' }
    expect((await t.engine.wait.retrieveToken(id)).answeredBy).toEqual(by)
    const late = await t.client.wait.completeToken(id, undefined, { by: { id: 'bob' } })
    expect(late).toEqual({ success: false, status: 'COMPLETED', by })
  })

  it('withdraws a token, gives it another deadline and other approvers, and is told how it was settled', async () => {
    await using t = await reachedEngine()
    const { wait } = t.client
    const { id } = await t.engine.wait.createToken({ message: 'Refund?', timeout: '1h' })
    const changed = { success: true, status: 'WAITING' }
    expect(await wait.reassignToken(id, ['ann', 'role:lead'])).toEqual(changed)
    const eve = wait.reassignToken(id, ['eve'], { by: { id: 'eve' } })
    await expect(eve).rejects.toMatchObject({ code: 'ERR_NOT_APPROVER' })
    const now = t.clock.now()
    for (const [timeout, at] of [
      ['2d', now + 172_800_000],
      [1_500, now + 1_500],
      [new Date(now + 7_200_000), now + 7_200_000],
      [new Date(now + 60_000).toISOString(), now + 60_000],
    ] as const) {
      expect(await wait.extendToken(id, timeout)).toEqual(changed)
      expect((await wait.retrieveToken(id)).timeoutAt.getTime()).toBe(at)
    }
    expect((await wait.retrieveToken(id)).question?.approvers).toEqual(['ann', 'role:lead'])
    const withdrawal = { reason: 'it rains', by: { id: 'ann' } }
    const withdrawn = { id: 'ann', via: 'http', reason: 'it rains' }
    const settled = { status: 'TIMED_OUT', by: withdrawn }
    expect(await wait.withdrawToken(id, withdrawal)).toEqual({ success: true, ...settled })
    const read = await wait.retrieveToken(id)
    expect(read.withdrawn).toEqual(withdrawn)
    const { error } = await t.engine.wait.retrieveToken(id)
    expect(error?.message).toContain('was withdrawn')
    expect(read.error?.message).toBe(error?.message)
    expect(read.error?.withdrawn).toEqual(withdrawn)
    const late = { success: false, ...settled }
    expect(await wait.withdrawToken(id)).toEqual(late)
    expect(await wait.extendToken(id, '1d')).toEqual(late)
    expect(await wait.reassignToken(id, ['bob'])).toEqual(late)
    const { id: plain } = await wait.createToken()
    await wait.withdrawToken({ id: plain })
    expect((await wait.retrieveToken(plain)).withdrawn).toEqual({ via: 'http' })
  })

  it.each<[string, (wait: Client['wait'], id: string) => Promise<unknown>, object]>([
    ['a reason', (wait, id) => wait.withdrawToken(id, { reason: 1 } as never), { name: 'RangeError' }],
    [
      'an option',
      (wait, id) => wait.withdrawToken(id, { why: 'x' } as never),
      { name: 'TypeError', message: expect.stringContaining('why') as string },
    ],
    ['a deadline', (wait, id) => wait.extendToken(id, 'soon'), { name: 'RangeError' }],
    ['no deadline', (wait, id) => wait.extendToken(id, undefined as never), { name: 'RangeError' }],
    ['a deadline that is past', (wait, id) => wait.extendToken(id, new Date(0)), { name: 'RangeError' }],
    ['approvers', (wait, id) => wait.reassignToken(id, 'ann' as never), { name: 'RangeError' }],
    ['no approvers', (wait, id) => wait.reassignToken(id, []), { name: 'RangeError' }],
    ['an id', (wait) => wait.withdrawToken('waitpoint_none'), { code: 'ERR_TOKEN_NOT_FOUND' }],
    ['an id of a run', (wait) => wait.extendToken('run_1', '1d'), { code: 'ERR_TOKEN_NOT_FOUND' }],
  ])('refuses a wrong change of a token by %s, and the token stays', async (_what, change, refusal) => {
    await using t = await reachedEngine()
    const { id, publicAccessToken } = await t.engine.wait.createToken({ message: 'Refund?', timeout: '1h' })
    const before = await t.engine.wait.retrieveToken(id)
    expect(await rejection(change(t.client.wait, id))).toMatchObject(refusal)
    const page = createClient({
      baseUrl: 'http://engine.test',
      accessToken: publicAccessToken,
      fetch: createHandler(t.engine),
    })
    // An access token that may answer may not take the question back.
    expect(await rejection(page.wait.withdrawToken(id))).toMatchObject({ status: 403 })
    expect(await t.engine.wait.retrieveToken(id)).toEqual(before)
  })

  it('does with a public access token what it is for', async () => {
    const token = accessToken([`read:runs:${UNKNOWN}`], Date.UTC(2000))
    await using t = await reachedEngine({ tasks: [counting] }, { accessToken: () => token })
    const run = await t.engine.trigger(counting, { a: 1, b: 1 })
    await run.result()
    expect(await rejection(t.client.runs.retrieve(run))).toMatchObject({ status: 403 })
    const { fetch } = new CuttingFetch(createHandler(t.engine), [])
    const { publicAccessToken } = run
    const own = createClient({ baseUrl: 'http://engine.test', accessToken: publicAccessToken, fetch })
    expect(chunksOf(await followFrom(own, run.id), 'a')).toEqual([0])
    expect((await own.runs.poll<typeof counting>(run)).output).toBe(2)
  })

  it('leaves nothing behind when its reader leaves, also while it waits', async () => {
    const body = bodyTask(async ({ metadata, wait }) => {
      await metadata.stream('k', sourceOf(1, 2, 3))
      await wait.for({ hours: 1 })
    })
    await using t = await reachedEngine({ tasks: [body], clock: { mode: 'manual' } })
    const run = await t.client.tasks.trigger<typeof body>('body', null)
    for await (const part of t.client.runs.subscribeToRun(run).withStreams<{ k: number }>()) {
      if (part.type === 'k' && part.chunk === 3) break
    }
    const parts = t.client.runs.subscribeToRun(run)[Symbol.asyncIterator]()
    await parts.next()
    const [waiting] = [parts.next(), await parts.return?.()]
    expect(await waiting).toEqual({ done: true, value: undefined })
    await t.clock.settle()
    expect(watchers(t.engine)).toBe(0)
    await t.client.runs.cancel(run)
  })

  it('learns that a run is no longer kept which ended while nothing could be reached', async () => {
    const body = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    await using t = await reachedEngine({ tasks: [body], retention: { maxAge: '1m' } })
    const { clock } = t
    const handler = createHandler(t.engine)
    let isAsleep = false
    let broken = new AbortController()
    const fetch = async (request: Request): Promise<Response> => {
      const response = await handler(request)
      if (isAsleep) throw new TypeError('fetch failed')
      const { signal } = broken
      return new Response(response.body?.pipeThrough(new TransformStream(), { signal }), response)
    }
    const client = createClient({ baseUrl: 'http://engine.test', accessToken: SECRET, fetch, clock })
    const run = await client.tasks.trigger<typeof body>('body', null)
    const outcome = run.outcome()
    await clock.advance('1m')
    isAsleep = true
    broken.abort(new TypeError('terminated'))
    broken = new AbortController()
    await clock.advance('3h')
    isAsleep = false
    expect(await clock.until(outcome, { within: '1h' })).toMatchObject({
      ok: false,
      error: { code: 'ERR_RUN_NOT_FOUND' },
    })
  })

  it('ends everything with its signal, for that reason', async () => {
    const controller = new AbortController()
    const body = bodyTask(({ wait }) => wait.for({ hours: 1 }))
    const clock = { mode: 'manual' } as const
    await using t = await reachedEngine({ tasks: [body], clock }, { signal: controller.signal })
    const { runs, streams, tasks } = t.client
    const run = await tasks.trigger<typeof body>('body', null)
    const ends = [run.result(), collect(runs.subscribeToRun(run)), collect(streams.read(run, 'k'))]
    const reasons = Promise.all(ends.map(rejection))
    await t.clock.settle()
    controller.abort(new Error('enough'))
    expect(await reasons).toEqual(ends.map(() => new Error('enough')))
    expect(await rejection(runs.retrieve(run))).toEqual(new Error('enough'))
    await t.clock.settle()
    expect(watchers(t.engine)).toBe(0)
    await t.engine.runs.cancel(run)
  })

  it('cannot do what only a task can', async () => {
    await using t = await reachedEngine({ tasks: [counting] })
    const { wait, tasks, streams } = t.client
    const calls = [
      wait.forToken('waitpoint_1'),
      wait.forToken('waitpoint_1').unwrap(),
      wait.for({ hours: 1 }),
      wait.until({ date: new Date() }),
      tasks.triggerAndWait<typeof counting>('counting', { a: 1, b: 1 }),
      tasks.batchTriggerAndWait<typeof counting>('counting', []),
      streams.append('k', 1),
    ]
    for (const call of calls) expect(await rejection(call)).toMatchObject({ code: 'ERR_NOT_IN_RUN' })
    expect(() => streams.pipe('k', sourceOf(1))).toThrow(/task[.]run/)
  })

  it('triggers several runs in order, and checks them all before the first', async () => {
    await using t = await reachedEngine({ tasks: [counting] })
    const { tasks, runs } = t.client
    const wrong = [{ payload: { a: 1, b: 1 } }, { payload: { a: 1, b: 1 }, options: { delay: 'soon' } }]
    expect(await rejection(tasks.batchTrigger<typeof counting>('counting', wrong))).toBeInstanceOf(RangeError)
    expect(await collect(runs.list())).toEqual([])
    const items = [{ payload: { a: 1, b: 1 } }, { payload: { a: 2, b: 2 } }]
    const batch = await tasks.batchTrigger<typeof counting>('counting', items)
    expect(await Promise.all(batch.runs.map((run) => run.result()))).toEqual([2, 4])
  })

  it('works over a port, with the fetch of the platform and the wall clock', async () => {
    await using t = await reachedEngine({ tasks: [counting] })
    await using server = await serve(t.engine)
    const client = createClient({ baseUrl: server.url, accessToken: SECRET })
    const run = await client.tasks.trigger<typeof counting>('counting', { a: 500, b: 5 })
    const parts = await followFrom(client, run.id)
    expect(chunksOf(parts, 'a')).toEqual(numbers(500))
    expect(await run.result()).toBe(505)
  })
})
