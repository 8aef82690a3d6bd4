import { task, wait } from '@trigger.dev/sdk'

/** All units of a pause, with keys that let a second call pass. */
export const patience = task({
  id: 'patience',
  maxDuration: 10,
  run: async ({ start }: { start: Date }) => {
    await wait.for({ months: 1, idempotencyKey: 'a month' })
    await wait.for({ weeks: 2 })
    await wait.until({ date: new Date(start.getTime() + 365 * 86_400_000) })
    await wait.until({ date: start })
    try {
      await wait.until({ date: start, throwIfInThePast: true })
      return 'not in the past'
    } catch {
      return 'in the past'
    }
  },
})
