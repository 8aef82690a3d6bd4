import { afterReal } from '../real-timer.ts'

/** Longer than a claim and its message take, also over a slow wire. */
const PAUSE_MS = 20
/** Processes do not come all at once either. */
const SPREAD_MS = 10

/**
 * New runs that another owner is to claim first. Those that no owner is heard to claim are told to the
 * owners of this process after all, once one or two pauses are over.
 */
export class LateClaims {
  readonly #tell: () => void
  readonly #spread: () => number
  #young = new Set<string>()
  /** Awaited for a whole pause. */
  #old = new Set<string>()
  #isPaused = false

  /** @param spread From 0 to 1: how late this process is among others. */
  constructor(tell: () => void, spread: () => number) {
    this.#tell = tell
    this.#spread = spread
  }

  /** Another owner is to claim it. */
  await(runId: string): void {
    this.#young.add(runId)
    this.#pause()
  }

  /** An owner has claimed it. */
  claimed(runId: string): void {
    if (!this.#young.delete(runId)) this.#old.delete(runId)
  }

  #pause(): void {
    if (this.#isPaused || this.#young.size + this.#old.size === 0) return
    this.#isPaused = true
    afterReal(PAUSE_MS + this.#spread() * SPREAD_MS, () => {
      this.#isPaused = false
      const isLate = this.#old.size > 0
      this.#old = this.#young
      this.#young = new Set()
      this.#pause()
      if (isLate) this.#tell()
    })
  }
}
