import type { Clock } from '../contract/clock.ts'
import type { Awaitable, Storage } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'

/** When a storage was asked what time it is, and what it said. */
export interface TimeSample {
  readonly askedAt: number
  readonly time: number
}

/** A storage says what time it is in whole milliseconds. */
const ROUNDING_MS = 1

/**
 * Sets the clock to the time of the storage, which is the same for all machines that share it, as far as the clock can be
 * set. It stays as it is while the difference is within what the way there and back may be.
 */
export function correctClock(clock: Clock, { askedAt, time }: TimeSample): void {
  if (clock.adjust === undefined) return
  const answeredAt = clock.now()
  const difference = time - (askedAt + answeredAt) / 2
  const doubt = (answeredAt - askedAt) / 2 + ROUNDING_MS
  if (Math.abs(difference) > doubt) clock.adjust(Math.round(difference))
}

/** The same before anything is asked of the storage: the first tick would end leases by a clock that is minutes ahead. */
export function correctClockAtOpen(clock: Clock, storage: Storage): Awaitable<void> {
  if (clock.adjust === undefined || storage.time === undefined) return undefined
  const askedAt = clock.now()
  return chain(storage.time(), (time) => correctClock(clock, { askedAt, time }))
}
