import type { Boundary } from './boundaries.ts'

/**
 * How long a slow call is held before it takes effect: until nothing else is left to do at its instant (`instant`), at that of
 * the next timer (`timer`), or at all (`end`).
 */
export type Slowness = 'instant' | 'timer' | 'end'

/** Those that are longer come later. */
export const SLOWNESS: readonly Slowness[] = ['instant', 'timer', 'end']

type Pace = 'on time' | Slowness

const ANY_PACE: readonly Pace[] = ['on time', ...SLOWNESS]
const BESIDE_OTHERS: readonly Pace[] = ['on time', 'instant']
const BEFORE_TIMERS: readonly Pace[] = ['on time', 'timer', 'end']

/** How a call may go that others are ready beside, or timers are ahead of. */
export function paces({ isBesideOthers, isBeforeTimers }: Surroundings): readonly Pace[] {
  if (!isBeforeTimers) return BESIDE_OTHERS
  return isBesideOthers ? ANY_PACE : BEFORE_TIMERS
}

interface Surroundings {
  readonly isBesideOthers: boolean
  readonly isBeforeTimers: boolean
}

/** A call that is held to the end goes on after so many instants: a loop that waits for its effect may look again and again. */
const MOST_INSTANTS = 10
const INSTANTS: Readonly<Record<Slowness, number>> = { instant: 0, timer: 1, end: MOST_INSTANTS }

/** The slow call of a schedule. It stays pending while all else goes first. */
export class SlowCall {
  #held: { readonly boundary: Boundary; left: number } | undefined

  get isHeld(): boolean {
    return this.#held !== undefined
  }

  hold(boundary: Boundary, slowness: Slowness): void {
    this.#held = { boundary, left: INSTANTS[slowness] }
  }

  letGo(): void {
    this.#held = undefined
  }

  /** Time has moved to a timer that is not upkeep. */
  timeMoved(): void {
    if (this.#held !== undefined) this.#held.left -= 1
  }

  /** What may happen next, of what is ready and of the upcoming timers: without the call as long as it is held. */
  candidates<One>(ready: readonly One[], upcoming: readonly One[]): readonly One[] {
    if (this.#held === undefined) return [...ready, ...upcoming]
    const { boundary, left } = this.#held
    const others = ready.filter((one: unknown) => one !== boundary)
    const isPending = others.length < ready.length
    if (isPending && others.length > 0) return [...others, ...upcoming]
    if (isPending && left > 0 && upcoming.length > 0) return upcoming
    this.letGo()
    return [...ready, ...upcoming]
  }
}
