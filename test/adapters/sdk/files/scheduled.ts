import { schedules } from '@trigger.dev/sdk'

export const nightly = schedules.task({
  id: 'nightly',
  cron: { pattern: '0 2 * * *', timezone: 'Europe/Vienna', environments: ['PRODUCTION'] },
  run: async (payload) => {
    const local = payload.timestamp.toLocaleString('en-US', { timeZone: payload.timezone })
    const passed = payload.lastTimestamp ? payload.timestamp.getTime() - payload.lastTimestamp.getTime() : 0
    return { local, passed, upcoming: payload.upcoming.length, externalId: payload.externalId }
  },
})

export const hourly = schedules.task({
  id: 'hourly',
  cron: '0 * * * *',
  run: async ({ scheduleId }) => scheduleId,
})

export async function scheduleFor(user: string) {
  const created = await schedules.create({
    task: nightly.id,
    cron: '0 0 * * *',
    timezone: 'America/New_York',
    externalId: user,
    deduplicationKey: `${user}-nightly`,
  })
  await schedules.deactivate(created.id)
  return created.id
}
