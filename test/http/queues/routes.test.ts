import { describe, expect, it } from 'vitest'
import { type Engine, memoryStorage, task } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import { ask, stillEngine } from '../requests.ts'

const mail = task({ id: 'mail', queue: { name: 'a/b %', concurrencyLimit: 3 }, run: () => undefined })
const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const ALL = '/api/v1/queues'
/** As the published client writes `a/b %` and `task/echo`. */
const MAIL = `${ALL}/a%252Fb%20%25`
const ECHO = `${ALL}/task%252Fecho`

interface Bench {
  readonly handler: Handler
  readonly engine: Engine
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [mail, echo] })
  await body({ handler: createHandler(t.engine), engine: t.engine })
}

describe('the routes of queues', () => {
  it('pause a queue and resume it', () =>
    onBench(async ({ handler, engine }) => {
      const paused = await ask(handler, `POST ${MAIL}/pause`, { body: { type: 'id', action: 'pause' } })
      expect(paused).toMatchObject({ status: 200, body: { id: 'a/b %', type: 'custom', paused: true } })
      expect((await engine.queue('a/b %').retrieve()).isPaused).toBe(true)
      const resumed = await ask(handler, `POST ${MAIL}/pause`, { body: { type: 'custom', action: 'resume' } })
      expect(resumed.body).toMatchObject({ paused: false })
      expect((await engine.queue('a/b %').retrieve()).isPaused).toBe(false)
    }))

  it('set a limit and reset it', () =>
    onBench(async ({ handler, engine }) => {
      const set = await ask(handler, `POST ${MAIL}/concurrency/override`, { body: { concurrencyLimit: 0 } })
      const { limit, limitedAt } = await engine.queue('a/b %').retrieve()
      expect(limit).toBe(0)
      expect(set.body).toMatchObject({
        concurrencyLimit: 0,
        concurrency: { current: 0, base: 3, override: 0, overriddenAt: limitedAt?.toISOString() },
      })
      const reset = await ask(handler, `POST ${MAIL}/concurrency/reset`, { body: {} })
      expect(reset.body).toMatchObject({
        concurrencyLimit: 3,
        concurrency: { current: 3, base: 3, override: null, overriddenAt: null },
      })
      expect((await engine.queue('a/b %').retrieve()).limitedAt).toBeUndefined()
    }))

  it('show a queue by its name, or by the task that it is of', () =>
    onBench(async ({ handler, engine }) => {
      await engine.queue('task/echo').pause()
      for (let count = 0; count < 2; count += 1) await engine.trigger(echo, null)
      const shown = {
        id: 'task/echo',
        name: 'echo',
        type: 'task',
        version: 'V1',
        running: 0,
        queued: 2,
        isMore: false,
        waitingForSlot: 0,
        paused: true,
        concurrencyLimit: null,
        concurrency: {
          current: null,
          base: null,
          override: null,
          overriddenAt: null,
          overriddenBy: null,
        },
      }
      for (const path of [`${ECHO}?type=id`, ECHO, `${ALL}/task%2Fecho`, `${ALL}/echo?type=task`])
        expect((await ask(handler, `GET ${path}`)).body).toEqual(shown)
      expect((await ask(handler, `GET ${ALL}/echo?type=custom`)).body).toMatchObject({
        id: 'echo',
        type: 'custom',
        queued: 0,
      })
    }))

  it('list them by pages', () =>
    onBench(async ({ handler, engine }) => {
      await engine.queue('set').pause()
      const listed = async (query: string): Promise<unknown> => {
        const { body } = await ask(handler, `GET ${ALL}${query}`)
        const { data, pagination } = body as {
          readonly data: readonly { readonly id: string }[]
          readonly pagination: unknown
        }
        return [data.map(({ id }) => id), pagination]
      }
      const all = ['a/b %', 'set', 'task/echo']
      expect(await listed('')).toEqual([all, { currentPage: 1, totalPages: 1, count: 3 }])
      expect(await listed('?page=2&perPage=2')).toEqual([
        ['task/echo'],
        { currentPage: 2, totalPages: 2, count: 3 },
      ])
    }))

  it.each<[status: number, error: string, request: string, body?: unknown]>([
    [400, 'page "0" must be', `GET ${ALL}?page=0`],
    [400, '"type" "one" must be', `GET ${MAIL}?type=one`],
    [400, '"type" 1 must be', `POST ${MAIL}/pause`, { type: 1, action: 'pause' }],
    [400, '"action" "stop" must be', `POST ${MAIL}/pause`, { action: 'stop' }],
    [400, '"action" undefined must be', `POST ${MAIL}/pause`, {}],
    [400, '"until"', `POST ${MAIL}/pause`, { action: 'pause', until: 'monday' }],
    [400, 'limit', `POST ${MAIL}/concurrency/override`, {}],
    [400, 'limit', `POST ${MAIL}/concurrency/override`, { concurrencyLimit: -1 }],
    [400, 'limit', `POST ${MAIL}/concurrency/override`, { concurrencyLimit: '5' }],
    [400, 'limit', `POST ${MAIL}/concurrency/override`, { concurrencyLimit: 100_001 }],
    [400, '"concurrencyLimit"', `POST ${MAIL}/concurrency/reset`, { concurrencyLimit: 1 }],
    [400, 'JSON', `POST ${MAIL}/concurrency/reset`, 'soon'],
    [405, 'Method not allowed', `POST ${MAIL}`],
  ])('refuse with %i %s: %s', (status, error, asked, body) =>
    onBench(async ({ handler, engine }) => {
      const answer = await ask(handler, asked, { body })
      expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(error) as string } })
      expect(await engine.queue('a/b %').retrieve()).toMatchObject({ isPaused: false, limit: 3 })
    }),
  )

  it('say so when the storage keeps nothing of queues', async () => {
    const { queues: _, ...storage } = memoryStorage()
    await using t = await stillEngine({ tasks: [mail], storage })
    const answer = await ask(createHandler(t.engine), `GET ${MAIL}`)
    expect(answer).toMatchObject({ status: 422, body: { code: 'ERR_CANNOT_SET_QUEUE' } })
  })
})
