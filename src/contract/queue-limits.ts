import type { QueueChange, QueueSettings } from './storage.ts'

/** How many runs of a queue may hold a slot; none but those that do while it is paused. Absent: any number. */
export function limitInForce(
  { isPaused, limit }: Pick<QueueSettings, 'isPaused' | 'limit'>,
  declared: number | undefined,
): number | undefined {
  return isPaused ? 0 : (limit ?? declared)
}

/** The settings of a queue after a change. */
export function changedSettings(
  before: QueueSettings | undefined,
  { name, isPaused = before?.isPaused ?? false, limit, now }: QueueChange,
): QueueSettings {
  if (limit === undefined) return { ...before, name, isPaused }
  return { name, isPaused, ...(limit === null ? {} : { limit, limitedAt: now }) }
}

/** Whether nothing is set of a queue: then its settings need not be kept. */
export function isAsDeclared({ isPaused, limit }: QueueSettings): boolean {
  return !isPaused && limit === undefined
}
