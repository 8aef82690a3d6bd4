import type { QueueRate, QueueSettings, QueueStart } from './storage.ts'

/** Up to this limit each start is counted at its own instant; above it, starts that are close together are one entry. */
export const MOST_EXACT = 100

/** How many runs of a queue may start: what is set comes before what a caller says. */
export function rateInForce(
  { rate }: Pick<QueueSettings, 'rate'>,
  declared: QueueRate | undefined,
): QueueRate | undefined {
  return rate ?? declared
}

export function isSameRate(one: QueueRate | undefined, other: QueueRate | undefined): boolean {
  return one?.limit === other?.limit && one?.perMs === other?.perMs
}

/**
 * When a rate lets the next run start, after these starts: `now`, or the later instant at which enough of them are over.
 *
 * @param starts In order. A clock that was set back may have made them later than `now`.
 */
export function nextStartAt(starts: readonly QueueStart[], { limit, perMs }: QueueRate, now: number): number {
  let counted = 0
  for (let index = starts.length - 1; index >= 0; index -= 1) {
    const { at, count } = starts[index] as QueueStart
    if (at + perMs <= now) break
    counted += count
    if (counted >= limit) return at + perMs
  }
  return now
}

/**
 * The starts with one more at `now`, without those that are over. There are no more than some hundreds of entries: an entry is moved to
 * the later start that it takes in, so that no start is over too early.
 */
export function withStart(
  starts: readonly QueueStart[],
  { limit, perMs }: QueueRate,
  now: number,
): readonly QueueStart[] {
  const last = starts.at(-1)
  // Instants do not decrease: a clock that is set back makes no room.
  const at = Math.max(now, last?.at ?? now)
  const kept = starts.filter((start) => start.at + perMs > now)
  const before = kept.at(-2)
  const isClose = limit > MOST_EXACT && before !== undefined && at - before.at < perMs / MOST_EXACT
  if (last === undefined || kept.length === 0 || (last.at < at && !isClose))
    return [...kept, { at, count: 1 }]
  return [...kept.slice(0, -1), { at, count: last.count + 1 }]
}
