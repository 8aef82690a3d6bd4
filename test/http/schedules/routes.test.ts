import { describe, expect, it } from 'vitest'
import { type Engine, memoryStorage, task } from 'waitpoint'
import { createHandler, type Handler } from 'waitpoint/http'
import type { TestClock } from 'waitpoint/testing'
import { ask, stillEngine } from '../requests.ts'

const nightly = task({ id: 'nightly', schedule: {}, run: () => undefined })
const hourly = task({ id: 'hourly', schedule: { cron: '0 * * * *' }, run: () => undefined })
const echo = task({ id: 'echo', run: (payload: unknown) => payload })
const ALL = '/api/v1/schedules'
const DAILY = { task: 'nightly', cron: '0 9 * * *', timezone: 'Europe/Vienna', externalId: 'user 1' }
const CREATED = { ...DAILY, deduplicationKey: 'k' }

interface Bench {
  readonly clock: TestClock
  readonly handler: Handler
  readonly engine: Engine
}

async function onBench(body: (bench: Bench) => Promise<void>): Promise<void> {
  await using t = await stillEngine({ tasks: [nightly, hourly, echo] })
  await body({ handler: createHandler(t.engine), engine: t.engine, clock: t.clock })
}

const idOf = (body: unknown): string => (body as { readonly id: string }).id

describe('the routes of schedules', () => {
  it('create a schedule, show it, change it, switch it off and on, and remove it', () =>
    onBench(async ({ handler, engine }) => {
      const created = await ask(handler, `POST ${ALL}`, { body: { ...CREATED, window: '5m' } })
      const id = idOf(created.body)
      const { nextAt } = await engine.schedules.retrieve(id)
      expect(created).toMatchObject({
        status: 200,
        body: {
          id,
          type: 'IMPERATIVE',
          task: 'nightly',
          active: true,
          generator: { type: 'CRON', expression: '0 9 * * *', description: '' },
          timezone: 'Europe/Vienna',
          externalId: 'user 1',
          deduplicationKey: 'k',
          nextRun: nextAt?.toISOString(),
        },
      })
      expect((await ask(handler, `GET ${ALL}/${id}`)).body).toEqual(created.body)
      const again = await ask(handler, `POST ${ALL}`, { body: { ...CREATED, cron: '0 10 * * *' } })
      expect(again.body).toMatchObject({ id, generator: { expression: '0 10 * * *' } })

      const body = { task: 'nightly', cron: '0 11 * * *' }
      expect((await ask(handler, `PUT ${ALL}/${id}`, { body })).body).toMatchObject({
        id,
        generator: { expression: '0 11 * * *' },
        timezone: 'UTC',
        externalId: 'user 1',
      })
      const off = await ask(handler, `POST ${ALL}/${id}/deactivate`)
      expect(off.body).toMatchObject({ id, active: false })
      expect(off.body).not.toHaveProperty('nextRun')
      expect((await ask(handler, `POST ${ALL}/${id}/activate`)).body).toMatchObject({ id, active: true })
      expect(await ask(handler, `DELETE ${ALL}/${id}`)).toMatchObject({ status: 200, body: { id } })
      expect(await ask(handler, `GET ${ALL}/${id}`)).toMatchObject({
        status: 404,
        body: { error: 'Schedule not found' },
      })
    }))

  it('list them by pages, those of tasks first', () =>
    onBench(async ({ handler, clock }) => {
      const ids: string[] = []
      for (const deduplicationKey of ['a', 'b', 'c']) {
        ids.push(idOf((await ask(handler, `POST ${ALL}`, { body: { ...DAILY, deduplicationKey } })).body))
        await clock.advance(1)
      }
      const listed = async (query: string): Promise<unknown> => {
        const { body } = await ask(handler, `GET ${ALL}${query}`)
        const { data, pagination } = body as {
          readonly data: readonly object[]
          readonly pagination: unknown
        }
        return [data.map(idOf), pagination]
      }
      const all = ['sched_hourly', ...ids]
      expect(await listed('')).toEqual([all, { currentPage: 1, totalPages: 1, count: 4 }])
      expect(await listed('?perPage=3')).toEqual([
        all.slice(0, 3),
        { currentPage: 1, totalPages: 2, count: 4 },
      ])
      expect(await listed('?page=2&perPage=3')).toEqual([
        all.slice(3),
        { currentPage: 2, totalPages: 2, count: 4 },
      ])
      expect(await listed('?page=9')).toEqual([[], { currentPage: 9, totalPages: 1, count: 4 }])
    }))

  it('list the time zones, without a credential', () =>
    onBench(async ({ handler }) => {
      const zones = async (query: string): Promise<readonly string[]> => {
        const { body } = await ask(handler, `GET /api/v1/timezones${query}`, { credential: null })
        return (body as { readonly timezones: readonly string[] }).timezones
      }
      const all = await zones('')
      expect(all[0]).toBe('UTC')
      expect(all).toContain('Europe/Vienna')
      expect(await zones('?excludeUtc=true')).toEqual(all.slice(1))
    }))

  it.each<[status: number, error: string, request: string, body?: unknown]>([
    [400, 'page "0" must be', `GET ${ALL}?page=0`],
    [400, 'perPage "x" must be', `GET ${ALL}?perPage=x`],
    [400, '"task" must be a string', `POST ${ALL}`, { cron: '* * * * *', deduplicationKey: 'k' }],
    [400, '"cron" must be a string', `POST ${ALL}`, { task: 'nightly', deduplicationKey: 'k' }],
    [400, 'deduplicationKey', `POST ${ALL}`, DAILY],
    [400, 'deduplicationKey', `POST ${ALL}`, { ...DAILY, deduplicationKey: 1 }],
    [400, 'cron "soon"', `POST ${ALL}`, { ...CREATED, cron: 'soon' }],
    [400, 'timezone', `POST ${ALL}`, { ...CREATED, timezone: 'Mars/Olympus' }],
    [400, 'externalId', `POST ${ALL}`, { ...CREATED, externalId: '' }],
    [400, '"catchUp"', `POST ${ALL}`, { ...CREATED, catchUp: 'all' }],
    [404, 'Task not found', `POST ${ALL}`, { ...CREATED, task: 'unknown' }],
    [422, 'option schedule', `POST ${ALL}`, { ...CREATED, task: 'echo' }],
    [400, '"deduplicationKey"', `PUT ${ALL}/hourly`, CREATED],
    [422, 'hourly', `PUT ${ALL}/hourly`, DAILY],
    [422, 'hourly', `POST ${ALL}/hourly/deactivate`],
    [422, 'hourly', `DELETE ${ALL}/hourly`],
    [404, 'Schedule not found', `PUT ${ALL}/sched_1`, DAILY],
    [404, 'Schedule not found', `DELETE ${ALL}/sched_1`],
    [405, 'Method not allowed', `DELETE ${ALL}`],
  ])('refuse with %i %s: %s', (status, error, asked, body) =>
    onBench(async ({ handler, engine }) => {
      const answer = await ask(handler, asked, { body })
      expect(answer).toMatchObject({ status, body: { error: expect.stringContaining(error) as string } })
      expect(await engine.schedules.list()).toHaveLength(1)
    }),
  )

  it('refuse to create one on a storage that keeps none', async () => {
    const { schedules: _, ...storage } = memoryStorage()
    await using t = await stillEngine({ tasks: [nightly], storage })
    const answer = await ask(createHandler(t.engine), `POST ${ALL}`, { body: CREATED })
    expect(answer).toMatchObject({ status: 422, body: { code: 'ERR_CANNOT_SCHEDULE' } })
  })
})
