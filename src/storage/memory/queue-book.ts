import { limitInForce } from '../../contract/queue-limits.ts'
import type { QueueSettings } from '../../contract/storage.ts'

/** What is set of queues, by name. */
export class QueueBook {
  readonly settings: Map<string, QueueSettings> = new Map<string, QueueSettings>()

  /** The limits in force: what is set comes before what a caller says. */
  limits(declared: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
    if (this.settings.size === 0) return declared
    const limits = new Map(declared)
    for (const [name, settings] of this.settings)
      limits.set(name, limitInForce(settings, declared.get(name)) ?? Infinity)
    return limits
  }

  /** The limit of one queue. */
  limit(name: string, declared: number = Infinity): number {
    const settings = this.settings.get(name)
    return settings === undefined ? declared : (limitInForce(settings, declared) ?? Infinity)
  }
}
