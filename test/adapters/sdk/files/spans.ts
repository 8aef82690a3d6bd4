import { logger, otel, task } from '@trigger.dev/sdk'

/** Spans by hand, around each other, with attributes. */
export const spans = task({
  id: 'spans',
  run: async ({ names }: { names: string[] }) => {
    const span = logger.startSpan('all names', { attributes: { count: names.length } })
    try {
      const lengths = await logger.trace(
        'lengths',
        async (inner) => {
          inner.setAttributes({ first: names[0] ?? '' }).addEvent('began')
          return names.map((name) => name.length)
        },
        { icon: 'pen' },
      )
      span.setAttribute('longest', Math.max(0, ...lengths))
      return otel.withExternalTrace(() => lengths.join())
    } catch (error) {
      span.recordException(error as Error)
      throw error
    } finally {
      span.end()
    }
  },
})
