import { logger, schedules } from '@trigger.dev/sdk'

/** The runs, in order. */
export const ticks: string[] = []

export const daily = schedules.task({
  id: 'daily-report',
  cron: '0 9 * * *',
  maxDuration: 600,
  retry: { maxAttempts: 2 },
  run: async ({ timestamp, lastTimestamp, timezone }) => {
    ticks.push(`daily ${timestamp.toISOString()} ${timezone} ${lastTimestamp === undefined}`)
  },
})

export const local = schedules.task({
  id: 'local-report',
  cron: { pattern: '0 9 * * *', timezone: 'Asia/Tokyo' },
  run: async (payload, { ctx }) => {
    logger.debug('next', { upcoming: payload.upcoming })
    ticks.push(`${ctx.task.id} ${payload.timestamp.toISOString()} ${payload.upcoming.length}`)
  },
})

export const elsewhere = schedules.task({
  id: 'elsewhere',
  cron: { pattern: '*/5 * * * *', environments: ['PRODUCTION', 'STAGING'] },
  run: async () => {
    ticks.push('never here')
  },
})

/** Without a cron, for schedules that are created. */
export const attached = schedules.task({
  id: 'attached',
  run: async ({ externalId }) => `for ${externalId ?? 'all'}`,
})

export const next = async () => (await schedules.retrieve('sched_daily-report')).nextRun
