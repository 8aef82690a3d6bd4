import { runs, task } from '@trigger.dev/sdk'

export const remind = task({
  id: 'remind',
  ttl: '1d',
  run: async (_: { text: string }, { ctx }) => ctx.run.tags.length,
})

/** All that may be said of a run that comes later. */
export async function remindLater(now: number) {
  const handle = await remind.trigger(
    { text: 'call back' },
    {
      delay: new Date(now + 90 * 60_000),
      ttl: 7_200,
      tags: ['reminder', 'phone'],
      metadata: { source: { page: 'contacts', row: 3 }, at: null },
      maxAttempts: 5,
      maxDuration: 30,
      priority: 1,
      region: 'eu-central-1',
      version: '20260101.1',
      machine: 'micro',
    },
  )
  const { status, delayedUntil, metadata } = await runs.retrieve(handle)
  return { id: handle.id, status, minutes: minutesTo(delayedUntil), page: metadata?.source }

  function minutesTo(at: Date | undefined): number {
    return ((at?.getTime() ?? now) - now) / 60_000
  }
}
