import { idempotencyKeys, logger, schedules, task } from '@trigger.dev/sdk'

/** What was sent, in order. */
export const sent: string[] = []

export const sendIssue = task({
  id: 'send-issue',
  queue: { name: 'newsletter', concurrencyLimit: 2 },
  retry: { maxAttempts: 3, minTimeoutInMs: 1_000, maxTimeoutInMs: 10_000, factor: 2 },
  run: async ({ to, issue }: { to: string; issue: string }) => {
    sent.push(`${issue} to ${to}`)
    return { to }
  },
})

const subscribers = ['ada@example.org', 'bob@example.org']

/** One run for each subscriber and day, however often the schedule is executed. */
export const weekly = schedules.task({
  id: 'weekly-issue',
  cron: { pattern: '0 7 * * 1', timezone: 'UTC', window: '5m' },
  run: async ({ timestamp }) => {
    const issue = timestamp.toISOString().slice(0, 10)
    const items = await Promise.all(
      subscribers.map(async (to) => ({
        payload: { to, issue },
        options: {
          idempotencyKey: await idempotencyKeys.create([to, issue], { scope: 'global' }),
          tags: [`to:${to}`],
        },
      })),
    )
    const { runCount } = await sendIssue.batchTrigger(items)
    return { issue, runCount }
  },
  onSuccess: async ({ output, payload }) => {
    logger.log('Issue handed over', { count: output.runCount, upcoming: payload.upcoming.length })
  },
})
