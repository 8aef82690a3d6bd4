import { task } from 'waitpoint'
import type { ScheduledPayload, Task } from 'waitpoint'
import type { PriceList } from './price-list.ts'
import type { FetchPrices } from './suppliers.ts'

export const SUPPLIERS: readonly string[] = ['Amber', 'Birch', 'Cedar', 'Dune', 'Elm', 'Kestrel']

export const TIME_ZONE = 'Europe/Berlin'

/** What a run is told that imports one supplier. */
export interface SupplierImport {
  readonly supplier: string
}

/** What a night has brought. */
export interface Report {
  readonly prices: number
  readonly changed: number
  /** Why suppliers are missing. */
  readonly problems: readonly string[]
}

export interface ImportTasks {
  readonly importSupplier: Task<SupplierImport, Omit<Report, 'problems'>>
  readonly nightlyImport: Task<ScheduledPayload, Report>
}

/** A run each night, which has a child for each supplier. */
export function importTasks(fetchPrices: FetchPrices, priceList: PriceList): ImportTasks {
  const importSupplier = task({
    id: 'import-supplier',
    queue: { concurrencyLimit: 2 },
    retry: { maxAttempts: 3, minTimeoutInMs: 1_000 },
    run: async ({ supplier }: SupplierImport, { signal }) => {
      const prices = await fetchPrices(supplier, { signal })
      return { prices: prices.length, changed: priceList.save(prices) }
    },
  })

  const nightlyImport = task({
    id: 'nightly-import',
    // A night in which no process was there is made up for at the next start.
    schedule: { cron: '0 2 * * *', timezone: TIME_ZONE, catchUp: 'last' },
    run: async (_: ScheduledPayload) => {
      const { runs } = await importSupplier.batchTriggerAndWait(
        SUPPLIERS.map((supplier) => ({ payload: { supplier } })),
      )
      const report = { prices: 0, changed: 0, problems: [] as string[] }
      for (const run of runs) {
        report.prices += run.ok ? run.output.prices : 0
        report.changed += run.ok ? run.output.changed : 0
        if (!run.ok) report.problems.push(reasonOf(run.error))
      }
      return report
    },
  })
  return { importSupplier, nightlyImport }
}

/** What the child threw, without the words of the engine about it. */
function reasonOf({ cause, message }: Error): string {
  return cause instanceof Error ? cause.message : message
}
