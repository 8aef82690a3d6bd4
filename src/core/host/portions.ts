import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Host } from './host.ts'

/** So many characters of JSON are made or read between two turns of the event loop, which takes some 5 ms. */
const PORTION = 524_288
/** A value up to this length adds little to what a call costs. */
const SMALL = 8_192

interface Place extends Pick<Deferred<void>, 'resolve'> {
  readonly size: number
}

/**
 * Has large values made and read one after the other, with turns of the event loop between them, in the order they were asked for. A turn has so
 * many characters: the clock would tell twenty callers to go on before the first of them has done anything.
 */
export class Portions {
  readonly #host: Pick<Host, 'clock' | 'afterTurn'>
  readonly #line: Place[] = []
  /** Characters that are left in this turn. */
  #left = PORTION

  constructor(host: Pick<Host, 'clock' | 'afterTurn'>) {
    this.#host = host
  }

  /** Resolves when a value of this length may be made or read, by an attempt or outside of runs; `undefined`: at once. */
  take(size: number, attempt?: Attempt): Promise<void> | undefined {
    // A clock of tests that has no turns moves only when it is told to.
    if (size <= SMALL || this.#host.clock.isTurnDue === undefined) return undefined
    if (this.#left > 0 && this.#line.length === 0) {
      this.#spend(size)
      return undefined
    }
    const { promise, resolve } = createDeferred<void>()
    this.#line.push({ size, resolve })
    return attempt === undefined ? promise : held(attempt, promise)
  }

  #spend(size: number): void {
    if (this.#left === PORTION) this.#host.afterTurn('values that wait for a turn', () => this.#begin())
    this.#left -= size
  }

  /** A turn has begun. */
  #begin(): void {
    this.#left = PORTION
    while (this.#left > 0) {
      const next = this.#line.shift()
      if (next === undefined) return
      this.#spend(next.size)
      next.resolve()
    }
  }
}

/** The flow of a run that waits for its turn is not at rest. */
async function held(attempt: Attempt, turn: Promise<void>): Promise<void> {
  attempt.heldAnswers += 1
  try {
    await attempt.asked(turn)
  } finally {
    attempt.heldAnswers -= 1
    attempt.hasGoneOn = true
  }
}
