import type { QueueChange, QueueSettings } from './storage.ts'

/** How many runs of a queue may hold a slot; none but those that do while it is paused. Absent: any number. */
export function limitInForce(
  { isPaused, limit }: Pick<QueueSettings, 'isPaused' | 'limit'>,
  declared: number | undefined,
): number | undefined {
  return isPaused ? 0 : (limit ?? declared)
}

/** The largest limit of a queue. */
export const MOST_QUEUE_LIMIT = 100_000

/** The settings of a queue after a change. */
export function changedSettings(
  before: QueueSettings | undefined,
  { name, isPaused = before?.isPaused ?? false, limit, rate, now }: QueueChange,
): QueueSettings {
  const limited = limit === undefined ? before : { limit: limit ?? undefined, limitedAt: now }
  const rated = rate === undefined ? before : { rate: rate ?? undefined, ratedAt: now }
  return {
    name,
    isPaused,
    ...(limited?.limit === undefined ? {} : { limit: limited.limit, limitedAt: limited.limitedAt }),
    ...(rated?.rate === undefined ? {} : { rate: rated.rate, ratedAt: rated.ratedAt }),
  }
}

/** Whether nothing is set of a queue: then its settings need not be kept. */
export function isAsDeclared({ isPaused, limit, rate }: QueueSettings): boolean {
  return !isPaused && limit === undefined && rate === undefined
}
