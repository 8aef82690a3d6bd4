import { describe, expect, it } from 'vitest'
import { type ScheduledPayload, task } from 'waitpoint'
import { client, served } from './published-client.ts'

const { schedules } = client

const nightly = task({ id: 'nightly', schedule: {}, run: async (_payload: ScheduledPayload) => null })
const hourly = task({ id: 'hourly', schedule: { cron: '0 * * * *' }, run: async () => null })
const DAILY = { task: 'nightly', cron: '0 9 * * *', timezone: 'Europe/Vienna', externalId: 'user 1' }

describe('the published client’s schedules', { timeout: 300_000 }, () => {
  it('are created, changed, switched off and on, and removed', async () => {
    await using app = await served([nightly, hourly])
    const created = await schedules.create({ ...DAILY, deduplicationKey: 'k' })
    const { id } = created
    const { nextAt } = await app.engine.schedules.retrieve(id)
    expect(created).toMatchObject({
      task: 'nightly',
      type: 'IMPERATIVE',
      active: true,
      generator: { type: 'CRON', expression: '0 9 * * *' },
      timezone: 'Europe/Vienna',
      externalId: 'user 1',
      deduplicationKey: 'k',
      nextRun: nextAt,
    })
    expect(await schedules.retrieve(id)).toEqual(created)
    expect((await schedules.create({ ...DAILY, deduplicationKey: 'k' })).id).toBe(id)
    expect(await schedules.update(id, { ...DAILY, cron: '0 10 * * *' })).toMatchObject({
      id,
      generator: { expression: '0 10 * * *' },
    })
    expect((await schedules.deactivate(id)).active).toBe(false)
    expect((await app.engine.schedules.retrieve(id)).isActive).toBe(false)
    expect((await schedules.activate(id)).active).toBe(true)
    expect(await schedules.del(id)).toEqual({ id })
    await expect(schedules.retrieve(id)).rejects.toThrow('Schedule not found')
  })

  it('are listed, those of tasks too', async () => {
    await using _app = await served([nightly, hourly])
    for (const deduplicationKey of ['a', 'b']) await schedules.create({ ...DAILY, deduplicationKey })
    const page = await schedules.list({ page: 1, perPage: 2 })
    expect([page.data.length, page.hasNextPage()]).toEqual([2, true])
    const all: unknown[] = []
    for await (const { task: id } of schedules.list({ perPage: 2 })) all.push(id)
    expect(all).toEqual(['hourly', 'nightly', 'nightly'])
    expect((await schedules.timezones()).timezones[0]).toBe('UTC')
    expect((await schedules.timezones({ excludeUtc: true })).timezones).not.toContain('UTC')
  })

  it('say why they cannot be', async () => {
    await using _app = await served([nightly, hourly])
    await expect(schedules.create({ ...DAILY, cron: 'soon', deduplicationKey: 'k' })).rejects.toThrow(
      '"soon"',
    )
    await expect(schedules.deactivate('hourly')).rejects.toBeInstanceOf(client.UnprocessableEntityError)
  })
})
