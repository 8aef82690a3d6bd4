import { pauseReal } from '../../src/storage/real-timer.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure, Lab } from '../lab.ts'
import type { Measurement } from '../measurement.ts'
import { PostgresBed, serveWhile, watchedPool } from '../postgres-bed.ts'
import { inCrowds } from '../approval-loops.ts'

const RUNS = 500
const TIMEOUT_MS = 600_000
const NS_PER_MS = 1e6
/** The functions that are shown, the dearest first. */
const SHOWN = 12
const PATIENCE_MS = 50
const LOOKS = 200

/** One function of the schema: how often it was called, and its own time in milliseconds. */
interface FunctionCost {
  readonly name: string
  readonly calls: number
  readonly selfMs: number
}

/**
 * What a run with a wait asks of a Postgres server when one run follows another: trips, and where the server's time goes. Its token is
 * completed at once, or when the run has parked.
 */
export const trips: Figure = {
  name: 'trips',
  contests: [],
  measure: (lab) =>
    serveWhile(async () => [...(await measureTrips(lab, false)), ...(await measureTrips(lab, true))]),
}

async function measureTrips(lab: Lab, isParked: boolean): Promise<readonly Measurement[]> {
  const count = lab.count(RUNS)
  const bed = new PostgresBed({ options: '-c track_functions=all' })
  const reader = new PostgresBed()
  let asked = 0
  const approvals = new EngineApprovals(TIMEOUT_MS, bed.storage(watchedPool(bed.pool, () => (asked += 1))))
  try {
    await approvals.ready()
    const before = asked
    const began = performance.now()
    await inCrowds(approvals, { count, isParked, atOnce: 1 })
    const perRun = ((performance.now() - began) * NS_PER_MS) / count
    const perRunAsked = (asked - before) / count
    await approvals.close()
    // A connection tells its numbers when it ends.
    await bed.pool.end()
    const costs = await functionCosts(reader, bed.schema)
    const ns = ({ selfMs }: FunctionCost): number => (selfMs * NS_PER_MS) / count
    const total = costs.reduce((sum, cost) => sum + ns(cost), 0)
    const line = (what: string, unit: Measurement['unit'], value: number): Measurement => ({
      what,
      unit,
      count,
      ours: { values: [value] },
    })
    return [
      line(`run with a wait${isParked ? ' that parks' : ''}, one after another, on Postgres`, 'ns', perRun),
      line('  statements a run', 'count', perRunAsked),
      {
        ...line('  time of its functions on the server', 'ns', total),
        goal: { kind: 'value', most: NS_PER_MS },
      },
      ...costs
        .slice(0, SHOWN)
        .map((cost) => line(`    ${cost.name}, ${(cost.calls / count).toFixed(1)} calls`, 'ns', ns(cost))),
    ]
  } finally {
    await reader.drop(bed.schema)
    await reader.close()
  }
}

async function functionCosts(reader: PostgresBed, schema: string): Promise<readonly FunctionCost[]> {
  let costs: readonly FunctionCost[] = []
  for (let look = 0; look < LOOKS; look++) {
    const { rows } = await reader.pool.query(
      'SELECT funcname, calls, self_time FROM pg_stat_user_functions WHERE schemaname = $1 ORDER BY self_time DESC',
      [schema],
    )
    const found = (rows as readonly Readonly<Record<string, unknown>>[]).map((row) => ({
      name: String(row['funcname']),
      calls: Number(row['calls']),
      selfMs: Number(row['self_time']),
    }))
    const isStill = found.length > 0 && calls(found) === calls(costs)
    costs = found
    if (isStill) break
    await pauseReal(PATIENCE_MS)
  }
  return costs
}

function calls(costs: readonly FunctionCost[]): number {
  return costs.reduce((sum, cost) => sum + cost.calls, 0)
}
