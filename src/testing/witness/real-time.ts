import { emitWarning } from 'node:process'
import { systemClock } from '../../clock/system.ts'
import type { Origin } from './origin.ts'

const YEAR_MS = 31_536_000_000
/** An instant this near to the real time is taken for one that was made from it. */
const NEAR_MS = YEAR_MS
/** One this far from virtual time is not what a test of it means. */
const FAR_MS = 5 * YEAR_MS

/** An instant that a run waits for, when the virtual time is `now`. */
export interface AwaitedInstant {
  readonly at: number
  readonly now: number
  readonly origin: Origin
}

/** The places that were warned of: a test of properties makes thousands of engines. */
const places = new Set<string>()
const MOST_PLACES = 10

/** Warns of an instant that code has made from the real time beside virtual time, once for each place. */
export function warnOfRealTime({ at, now, origin }: AwaitedInstant): void {
  if (Math.abs(at - now) < FAR_MS || Math.abs(at - systemClock().now()) > NEAR_MS) return
  const place = origin()
  if (places.size >= MOST_PLACES || places.has(place)) return
  places.add(place)
  emitWarning(
    `A wait lasts until ${shown(at)}, ${Math.round(Math.abs(at - now) / YEAR_MS)} years from the virtual time, ` +
      `${shown(now)}: it seems to be made from the real time (Date.now(), new Date()), at ${place}. ` +
      'Give createTestEngine `fakeGlobals: true`, or start its time now: `clock: { start: Date.now() }`',
    'WaitpointWarning',
  )
}

function shown(instant: number): string {
  return new Date(instant).toISOString()
}
