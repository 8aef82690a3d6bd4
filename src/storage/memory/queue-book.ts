import { limitInForce } from '../../contract/queue-limits.ts'
import { rateInForce } from '../../contract/queue-rates.ts'
import type { QueueRate, QueueSettings, RunClaim } from '../../contract/storage.ts'
import type { Allowance } from './run-lanes.ts'

const NO_RATES: ReadonlyMap<string, QueueRate> = new Map()

/** What is set of queues, by name. */
export class QueueBook {
  readonly settings: Map<string, QueueSettings> = new Map<string, QueueSettings>()

  /** What is in force for a claim: what is set comes before what the claim says. */
  allowance({ queueLimits, queueRates = NO_RATES, now }: RunClaim): Allowance {
    if (this.settings.size === 0) return { limits: queueLimits, rates: queueRates, now }
    const [limits, rates] = [new Map(queueLimits), new Map(queueRates)]
    for (const [name, settings] of this.settings) {
      limits.set(name, limitInForce(settings, limits.get(name)) ?? Infinity)
      const rate = rateInForce(settings, rates.get(name))
      if (rate !== undefined) rates.set(name, rate)
    }
    return { limits, rates, now }
  }

  /** The limit of one queue. */
  limit(name: string, declared: number = Infinity): number {
    const settings = this.settings.get(name)
    return settings === undefined ? declared : (limitInForce(settings, declared) ?? Infinity)
  }
}
