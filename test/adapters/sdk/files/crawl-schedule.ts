import { batch, schedules, task } from '@trigger.dev/sdk'

export const visits: string[] = []

const visit = task({
  id: 'visit-site',
  queue: { name: 'visits', concurrencyLimit: 1 },
  run: async ({ site }: { site: string }) => {
    visits.push(site)
  },
})

/** Every half hour in each environment, at most ten minutes. */
export default schedules.task({
  id: 'visit-sites',
  cron: { pattern: '*/30 * * * *', environments: ['DEVELOPMENT', 'PRODUCTION'] },
  queue: { concurrencyLimit: 1 },
  maxDuration: 600,
  ttl: '25m',
  run: async ({ timestamp, timezone, upcoming: [next] }) => {
    const minutes = next === undefined ? 0 : (next.getTime() - timestamp.getTime()) / 60_000
    await batch.trigger<typeof visit>([
      { id: 'visit-site', payload: { site: `a at ${timestamp.getUTCMinutes()}` } },
      { id: 'visit-site', payload: { site: `b in ${minutes} ${timezone}` } },
    ])
  },
  onFailure: async ({ error }) => {
    visits.push(String(error))
  },
})

export { visit }

export async function planned() {
  const all: string[] = []
  for await (const { task: id, generator } of schedules.list({ perPage: 10 }))
    all.push(`${id} ${generator.expression}`)
  const { timezones } = await schedules.timezones({ excludeUtc: true })
  return { all, hasVienna: timezones.includes('Europe/Vienna'), hasUtc: timezones.includes('UTC') }
}
