import type { RunClaim } from '../contract/storage.ts'
import { mostSuspects, trialAt } from '../contract/suspects.ts'

/** Which suspects a claim takes, as it meets them, those with the fewest deaths first. */
export class SuspectClaim {
  readonly #claim: RunClaim
  #executing: number
  /** One was left because too many execute. */
  isHeldBack = false
  /** One was left that is to be executed alone. */
  isTrialDue = false

  constructor(claim: RunClaim) {
    this.#claim = claim
    this.#executing = claim.suspects ?? 0
  }

  /** Whether the claim takes one with so many deaths. */
  takes(deaths: number): boolean {
    const { maxInterruptions, isTrial = false } = this.#claim
    const isTried = deaths >= trialAt(maxInterruptions)
    const isTaken = isTried ? isTrial : !isTrial && this.#executing < mostSuspects(deaths, maxInterruptions)
    if (isTaken) this.#executing += 1
    else if (isTried) this.isTrialDue = true
    else this.isHeldBack = true
    return isTaken
  }
}
