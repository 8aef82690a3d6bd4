import { SubtaskUnwrapError, task } from '@trigger.dev/sdk/v3'

/** What was done and undone. */
export const steps: string[] = []

export const reserve = task({
  id: 'reserve',
  run: async ({ item }: { item: string }) => {
    steps.push(`reserve ${item}`)
    return { reservation: `r-${item}` }
  },
})

export const pay = task({
  id: 'pay',
  retry: { maxAttempts: 0 },
  run: async ({ card }: { card: string }): Promise<{ receipt: string }> => {
    steps.push(`pay with ${card}`)
    if (card === 'expired') throw new Error('the card has expired')
    return { receipt: `paid with ${card}` }
  },
})

export const release = task({
  id: 'release',
  run: async ({ reservation }: { reservation: string }) => {
    steps.push(`release ${reservation}`)
  },
})

/** What was done is undone when a later step fails. */
export const saga = task({
  id: 'saga',
  run: async ({ item, card }: { item: string; card: string }) => {
    const { reservation } = await reserve.triggerAndWait({ item }).unwrap()
    try {
      return (await pay.triggerAndWait({ card }).unwrap()).receipt
    } catch (error) {
      await release.triggerAndWait({ reservation }).unwrap()
      if (!(error instanceof SubtaskUnwrapError)) throw error
      return `${error.taskId} failed: ${error.cause instanceof Error ? error.cause.message : ''}`
    }
  },
})
