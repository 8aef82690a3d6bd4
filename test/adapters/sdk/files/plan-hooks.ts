import { locals, schedules, tasks } from '@trigger.dev/sdk'

const startedKey = locals.create<{ at: number }>('plan-started')

export const reports: string[] = []

tasks.middleware(async ({ task: id, next }) => {
  if (id === 'plan-report') locals.set(startedKey, { at: 7 })
  await next()
})

/** A scheduled task with all that any other task may have. */
export const planReport = schedules.task({
  id: 'plan-report',
  cron: '15 6 1 * *',
  description: 'Monthly, without a cloud',
  machine: 'medium-2x',
  retry: { maxAttempts: 2, minTimeoutInMs: 10 },
  init: async ({ payload }) => ({ month: payload.timestamp.getUTCMonth() + 1 }),
  run: async ({ externalId, lastTimestamp }, { init, ctx }) => {
    if (ctx.attempt.number === 1 && externalId === 'flaky') throw new Error('not yet')
    return `${init?.month} ${locals.getOrThrow(startedKey).at} ${lastTimestamp?.getTime() ?? 'first'}`
  },
  onStart: async ({ payload }) => {
    reports.push(`start ${payload.type}`)
  },
  onComplete: async ({ result }) => {
    reports.push(result.ok ? result.data : 'failed')
  },
})
