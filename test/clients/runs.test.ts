import { describe, expect, it } from 'vitest'
import { task, wait } from 'waitpoint'
import { task as hostedTask } from 'waitpoint/sdk'
import { collect, numbers } from '../support/streams.ts'
import { cuttingProxy } from './cutting-proxy.ts'
import { client, isOlder, readUntil, SECRET, type Served, served } from './published-client.ts'

const { runs, tasks } = client

/** All of it is over loopback; only a request that is sent again after an error takes longer than a second. */
const TEST_MS = 300_000
const poll = { pollIntervalMs: 20 }

const echo = task({ id: 'echo', run: async (payload: unknown) => ({ echoed: payload ?? null }) })
const count = task({ id: 'count', run: async (text: string) => text.length })
const ask = task({ id: 'ask', run: async (token: string) => wait.forToken<string>(token).unwrap() })
const failing = task({
  id: 'failing',
  run: async () => {
    throw new RangeError('Too many pages')
  },
})

describe('the published client’s tasks', { timeout: TEST_MS }, () => {
  it.each([
    ['an object', { doc: 'd1', pages: [1, 2] }],
    ['a text', 'd1'],
    ['a number', 3],
    ['null', null],
  ])('trigger a run with %s, and runs.poll gets its output', async (_what, payload) => {
    await using app = await served([echo])
    const { id } = await tasks.trigger('echo', payload)
    expect(await runs.poll(id, poll)).toMatchObject({
      id,
      status: 'COMPLETED',
      isCompleted: true,
      isSuccess: true,
      taskIdentifier: 'echo',
      payload,
      output: { echoed: payload },
    })
    expect((await app.engine.runs.retrieve(id)).payload).toEqual(payload)
  })

  it('trigger a run with what only its own encoding carries: a Date arrives as JSON has it', async () => {
    await using app = await served([echo])
    const at = new Date('2024-05-01T12:00:00Z')
    const { id } = await tasks.trigger('echo', { at, list: new Set([1]) })
    await runs.poll(id, poll)
    expect((await app.engine.runs.retrieve(id)).payload).toMatchObject({ at: at.toISOString() })
  })

  it('trigger a run of a task of waitpoint/sdk with it: a Date arrives as one, and comes back to subscribers', async () => {
    const seen: unknown[] = []
    const values = { at: new Date('2024-05-01T12:00:00Z'), list: new Set([1]), big: 5n }
    const hosted = hostedTask({
      id: 'hosted',
      run: async (payload: unknown) => {
        seen.push(payload)
        return payload
      },
    })
    await using _app = await served([hosted])
    const { id } = await tasks.trigger('hosted', values)
    const run = await runs.poll(id, poll)
    expect(seen).toEqual([values])
    expect(run.output).toEqual({ at: values.at.toISOString(), list: [1], big: '5' })
    const subscription = runs.subscribeToRun(id)
    const all = await readUntil(subscription, subscription, ([first]) => first !== undefined)
    expect(all.at(-1)).toMatchObject({ payload: values, output: values })
  })

  it('trigger a run without a payload', async () => {
    await using _app = await served([echo])
    const { id } = await tasks.trigger('echo')
    expect((await runs.poll(id, poll)).output).toEqual({ echoed: null })
  })

  it('trigger a run with 200 KB, which they store first', async () => {
    await using _app = await served([count])
    const { id } = await tasks.trigger('count', 'é'.repeat(100_000))
    expect((await runs.poll(id, poll)).output).toBe(100_000)
  })

  it('get the same run for the same idempotency key', async () => {
    await using _app = await served([echo])
    const first = await tasks.trigger('echo', 1, { idempotencyKey: 'k1' })
    const again = await tasks.trigger('echo', 2, { idempotencyKey: 'k1' })
    expect([first.isCached ?? false, again.isCached, again.id]).toEqual([false, true, first.id])
    expect((await tasks.trigger('echo', 3, { idempotencyKey: 'k2' })).id).not.toBe(first.id)
  })

  it('trigger many runs at once', async () => {
    await using app = await served([echo])
    const batch = await tasks.batchTrigger(
      'echo',
      numbers(20).map((payload) => ({ payload, options: { tags: [`t${payload}`] } })),
    )
    expect(batch.runCount).toBe(20)
    const { runs: ids, status } = await client.batch.retrieve(batch.batchId)
    expect(['PROCESSING', 'COMPLETED']).toContain(status)
    for (const [index, id] of (ids as readonly string[]).entries()) {
      expect(await app.engine.runs.poll(id)).toMatchObject({
        payload: index,
        tags: [`t${index}`],
        batchId: batch.batchId,
      })
    }
    expect((await client.batch.retrieve(batch.batchId))['status']).toBe('COMPLETED')
  })

  // The older one does not send it.
  if (!isOlder) {
    it('are told of an option that is not done, and trigger nothing', async () => {
      await using app = await served([echo])
      const options = { concurrency: 'k' }
      await expect(tasks.trigger('echo', 1, options)).rejects.toThrow(/"concurrency"/)
      expect((await app.engine.runs.list()).data).toEqual([])
    })
  }

  it('debounce runs', async () => {
    await using app = await served([echo])
    const debounce = { key: 'k', delay: '1h', mode: 'trailing', maxDelay: '2h' }
    const first = await tasks.trigger('echo', 1, { debounce })
    const again = await tasks.trigger('echo', 2, { debounce, tags: ['again'] })
    expect(again.id).toBe(first.id)
    expect(await app.engine.runs.retrieve(first.id)).toMatchObject({
      status: 'DELAYED',
      payload: 2,
      tags: ['again'],
      debounceKey: 'k',
    })
    const items = [3, 4].map((payload) => ({ payload, options: { debounce: { ...debounce, key: 'batch' } } }))
    await tasks.batchTrigger('echo', items)
    const { data } = await app.engine.runs.list()
    expect(data.map(({ payload }) => payload)).toEqual([4, 2])
  })

  it('get a new run for an idempotency key whose run has failed', async () => {
    await using _app = await served([failing])
    const options = { idempotencyKey: 'k1', idempotencyKeyTTL: '1h' }
    const first = await tasks.trigger('failing', 1, options)
    await runs.poll(first.id, poll)
    expect((await tasks.trigger('failing', 1, options)).id).not.toBe(first.id)
  })

  it('pass on what a run is triggered with', async () => {
    await using _app = await served([echo])
    const { id } = await tasks.trigger('echo', 1, {
      delay: '1h',
      ttl: '2h',
      tags: ['user:1', 'draft'],
      metadata: { step: 0 },
      maxAttempts: 2,
    })
    const run = await runs.retrieve(id)
    expect(run).toMatchObject({ status: 'DELAYED', metadata: { step: 0 }, isCompleted: false })
    expect([...(run['tags'] as string[])].sort()).toEqual(['draft', 'user:1'])
    const [createdAt, delayedUntil] = [run['createdAt'], run['delayedUntil']] as [Date, Date]
    expect(delayedUntil.getTime() - createdAt.getTime()).toBe(3_600_000)
  })
})

describe('the published client on a bad line', { timeout: TEST_MS }, () => {
  /** Cuts the first answer off at its start; what was asked for is done by then. The client asks again after a second. */
  async function withLostAnswer<Result>(
    { server }: Served,
    work: () => Promise<Result>,
  ): Promise<Awaited<Result>> {
    await using proxy = await cuttingProxy(server.url, { afterBytes: 30, atMost: 1 })
    client.configure({ baseURL: proxy.url, accessToken: SECRET })
    const result = await work()
    expect(proxy.cuts).toBe(1)
    return result
  }

  it('triggers one run, though it asks twice', async () => {
    await using app = await served([echo])
    const { id } = await withLostAnswer(app, () => tasks.trigger('echo', 1))
    expect((await app.engine.runs.list()).data.map((run) => run.id)).toEqual([id])
  })

  it('replays a run once, though it asks twice', async () => {
    await using app = await served([echo])
    const original = await tasks.trigger('echo', 1)
    const { id } = await withLostAnswer(app, () => runs.replay(original.id))
    expect((await app.engine.runs.list()).data.map((run) => run.id)).toEqual([id, original.id])
  })

  it('creates one token, though it asks twice', async () => {
    await using app = await served()
    const { id } = await withLostAnswer(app, () => client.wait.createToken())
    expect((await app.engine.wait.listTokens()).data.map((token) => token.id)).toEqual([id])
  })

  it('is told that it completed a token, though it asks twice', async () => {
    await using app = await served()
    const token = await app.engine.wait.createToken()
    expect(await withLostAnswer(app, () => client.wait.completeToken(token, 1))).toEqual({ success: true })
    expect((await app.engine.wait.retrieveToken(token)).output).toBe(1)
  })
})

describe('the published client’s runs', { timeout: TEST_MS }, () => {
  it('retrieve a run that waits, and its end after the token is completed', async () => {
    await using _app = await served([ask])
    const token = await client.wait.createToken()
    const { id } = await tasks.trigger('ask', token.id)
    await expect.poll(async () => (await runs.retrieve(id)).status, { timeout: TEST_MS / 2 }).toBe('WAITING')
    expect(await runs.retrieve(id)).toMatchObject({ isWaiting: true, isCompleted: false, isFailed: false })
    await client.wait.completeToken(token, 'yes')
    expect(await runs.poll(id, poll)).toMatchObject({ status: 'COMPLETED', output: 'yes' })
  })

  it('retrieve why a run failed', async () => {
    await using _app = await served([failing])
    const { id } = await tasks.trigger('failing')
    expect(await runs.poll(id, poll)).toMatchObject({
      status: 'FAILED',
      isFailed: true,
      isSuccess: false,
      error: { name: 'RangeError', message: 'Too many pages' },
    })
  })

  it('list all runs over several pages, newest first', async () => {
    await using _app = await served([echo])
    const ids: string[] = []
    for (const index of numbers(5)) ids.unshift((await tasks.trigger('echo', index)).id)
    expect((await collect(runs.list({ limit: 2 }))).map(({ id }) => id)).toEqual(ids)
    const first = await runs.list({ limit: 2 })
    const second = await first.getNextPage()
    expect([first, second].map((page) => page.data.map(({ id }) => id))).toEqual([
      ids.slice(0, 2),
      ids.slice(2, 4),
    ])
    expect((await second.getPreviousPage()).data.map(({ id }) => id)).toEqual(ids.slice(0, 2))
  })

  it('list the runs of a status, task, tag or time', async () => {
    await using _app = await served([echo, failing])
    const done = await tasks.trigger('echo', 1, { tags: ['a'] })
    const failed = await tasks.trigger('failing', 1, { tags: ['b'] })
    for (const { id } of [done, failed]) await runs.poll(id, poll)
    const listed = async (params: Readonly<Record<string, unknown>>): Promise<string[]> =>
      (await collect(runs.list(params))).map(({ id }) => id)
    expect(await listed({ status: 'FAILED' })).toEqual([failed.id])
    expect(await listed({ status: ['COMPLETED', 'FAILED'] })).toEqual([failed.id, done.id])
    expect(await listed({ taskIdentifier: 'echo' })).toEqual([done.id])
    expect(await listed({ tag: ['b'] })).toEqual([failed.id])
    expect(await listed({ period: '1h' })).toEqual([failed.id, done.id])
    expect(await listed({ from: new Date(Date.now() + 60_000) })).toEqual([])
  })

  it('cancel a run, which is over then', async () => {
    await using app = await served([ask])
    const token = await client.wait.createToken()
    const { id } = await tasks.trigger('ask', token.id)
    expect(await runs.cancel(id)).toMatchObject({ id })
    expect(await runs.poll(id, poll)).toMatchObject({
      status: 'CANCELED',
      isCancelled: true,
      isCompleted: true,
    })
    expect((await app.engine.runs.retrieve(id)).status).toBe('CANCELED')
  })

  it('replay a run with its payload', async () => {
    await using _app = await served([echo])
    const first = await tasks.trigger('echo', { doc: 'd1' })
    await runs.poll(first.id, poll)
    const again = await runs.replay(first.id)
    expect(again.id).not.toBe(first.id)
    expect((await runs.poll(again.id, poll)).output).toEqual({ echoed: { doc: 'd1' } })
  })

  it('move the start of a run that is delayed', async () => {
    await using app = await served([echo])
    const { id } = await tasks.trigger('echo', 1, { delay: '1h' })
    const from = Date.now()
    const { status, delayedUntil } = await runs.reschedule(id, { delay: '2d' })
    expect([status, delayedUntil instanceof Date]).toEqual(['DELAYED', true])
    expect(Number(delayedUntil) - from).toBeGreaterThan(47 * 3_600_000)
    await app.engine.runs.cancel(id)
    await expect(runs.reschedule(id, { delay: '2d' })).rejects.toThrow(/it is CANCELED/)
  })

  it('are told that a run is not replayed with another payload', async () => {
    await using app = await served([echo])
    const { id } = await tasks.trigger('echo', { doc: 'd1' })
    const replayed = runs.replay(id, { payload: { doc: 'd2' } })
    // The older version has no options for this, and sends none.
    if (isOlder) await replayed
    else await expect(replayed).rejects.toThrow(/"payload"/)
    expect((await app.engine.runs.list()).data).toHaveLength(isOlder ? 2 : 1)
  })
})
