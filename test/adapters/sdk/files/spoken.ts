import { logger, task } from '@trigger.dev/sdk'

export const spoken = task({
  id: 'spoken',
  run: async ({ items }: { items: number[] }) => {
    logger.log('begins', { count: items.length })
    logger.info('informs')
    logger.warn('warns', { items })
    logger.error('is an error', { error: new Error('inside') })
    const sum = await logger.trace('sum', async () => {
      let total = 0
      for (const item of items) total += await logger.trace(`item ${item}`, async () => item)
      return total
    })
    try {
      await logger.trace('failing', async () => {
        throw new Error('from the span')
      })
    } catch (error) {
      return { sum, error: error instanceof Error ? error.message : '' }
    }
    return { sum, error: undefined }
  },
})
