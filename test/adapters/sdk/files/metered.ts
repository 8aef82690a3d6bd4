import { task, usage } from '@trigger.dev/sdk'

/** How much a part of the work takes. */
export const metered = task({
  id: 'metered',
  machine: 'micro',
  run: async ({ rows }: { rows: number[] }) => {
    const before = usage.getCurrent()
    const { result, compute } = await usage.measure(async () => rows.reduce((sum, row) => sum + row, 0))
    return {
      result,
      isCounted: compute.durationMs >= 0 && compute.costInCents >= 0,
      isKnown: before.totalCostInCents >= before.baseCostInCents,
    }
  },
})
