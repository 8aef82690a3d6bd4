import { type Attempt, hasFinished } from '../attempt/attempt.ts'
import type { Place } from '../attempt/places.ts'
import type { Host } from '../host/host.ts'

/** How long a closing engine waits for effects that are under way. */
const EFFECT_GRACE_MS = 5_000

/** The effects of `once` that are under way here. An engine that closes lets them end, so that no other repeats them. */
export class Effects {
  readonly #host: Host
  /** Each by the place where its flow begins. */
  readonly #underWay = new Set<Place<Attempt>>()
  #listener: ((attempt: Attempt) => void) | undefined

  constructor(host: Host) {
    this.#host = host
  }

  get areUnderWay(): boolean {
    for (const branch of this.#underWay) if (!isWaiting(branch)) return true
    return false
  }

  /** Whether an effect of this attempt is under way. */
  has(attempt: Attempt): boolean {
    for (const branch of this.#underWay) if (branch.attempt === attempt && !isWaiting(branch)) return true
    return false
  }

  /** Whether an effect of this attempt is at work. One that has waits of its own may do nothing but wait. */
  areOf(attempt: Attempt): boolean {
    for (const branch of this.#underWay) if (branch.attempt === attempt && !branch.hasCalls) return true
    return false
  }

  /** Calls `effect`, which ends when it is recorded. */
  async track<Result>(branch: Place<Attempt>, effect: () => Promise<Result>): Promise<Result> {
    this.#underWay.add(branch)
    try {
      return await effect()
    } finally {
      this.#underWay.delete(branch)
      branch.attempt.rested()
      if (!this.has(branch.attempt)) this.#listener?.(branch.attempt)
    }
  }

  /** Resolves when no effect is under way any more, at the latest after a grace. Tells `listener` of each attempt that has none left. */
  ended(listener: (attempt: Attempt) => void): Promise<void> {
    return this.#host.atMost(EFFECT_GRACE_MS, 'the end of the effects of once that are under way', (done) => {
      this.#listener = (attempt) => {
        listener(attempt)
        if (!this.areUnderWay) done()
      }
    })
  }
}

/** Waits of an attempt that has ended stay pending: an effect that has called the engine may never end, and is begun anew. */
export function isStuck(branch: Place<Attempt>): boolean {
  return hasFinished(branch.attempt) && branch.hasCalls
}

/** Waits for the engine, as a whole run does that is parked, or for ever. */
function isWaiting(branch: Place<Attempt>): boolean {
  return isStuck(branch) || (branch.attempt.isParked && branch.hasCalls)
}
