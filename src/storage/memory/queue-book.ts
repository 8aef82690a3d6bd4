import { limitInForce } from '../../contract/queue-limits.ts'
import { rateInForce } from '../../contract/queue-rates.ts'
import { type PoolScope, runLimitInForce } from '../../contract/pools.ts'
import type { QueueRate, QueueSettings, RunClaim, RunLimit, RunResume } from '../../contract/storage.ts'
import type { Allowance } from './run-lanes.ts'

const NO_RATES: ReadonlyMap<string, QueueRate> = new Map()
const NO_LIMITS: ReadonlyMap<string, RunLimit> = new Map()

/** What is set of queues, by name. */
export class QueueBook {
  readonly settings: Map<string, QueueSettings> = new Map<string, QueueSettings>()

  /** What is in force for a claim: what is set comes before what the claim says. */
  allowance({ queueLimits, queueRates = NO_RATES, limits = NO_LIMITS, now }: RunClaim): Allowance {
    if (this.settings.size === 0) return { queues: queueLimits, limits, rates: queueRates, now }
    const [queues, rates, further] = [new Map(queueLimits), new Map(queueRates), new Map(limits)]
    for (const [name, settings] of this.settings) {
      queues.set(name, limitInForce(settings, queues.get(name)) ?? Infinity)
      further.set(name, runLimitInForce(settings, further.get(name)))
      const rate = rateInForce(settings, rates.get(name))
      if (rate !== undefined) rates.set(name, rate)
    }
    return { queues, limits: further, rates, now }
  }

  /** How many runs may hold a slot of a pool, for a resume. */
  most({ name, counts }: PoolScope, { queueLimit = Infinity, limits }: RunResume): number {
    const settings = this.settings.get(name)
    if (counts === 'queue')
      return settings === undefined ? queueLimit : (limitInForce(settings, queueLimit) ?? Infinity)
    return runLimitInForce(settings, limits?.get(name))[counts] ?? Infinity
  }
}
