/** Questions of one run between two turns of the event loop. An engine asks once for some calls of its runs. */
const QUESTIONS_A_TURN = 64

/** A run that asked for a turn as often as a run may at one instant. */
export interface EndlessRun {
  readonly runId: string
  /** The first line of user code that led to the last question. */
  readonly origin: (() => string) | undefined
}

export interface InstantCallsOptions {
  readonly most: number
  readonly captureOrigin?: (() => () => string) | undefined
}

/**
 * Counts how often the code of each run asks for a turn of the event loop at one instant. A loop of calls that are answered
 * at once would never let go of the event loop, and time would never pass.
 */
export class InstantCalls {
  readonly #options: InstantCallsOptions
  readonly #questions = new Map<string, number>()
  #instant: number | undefined
  #endless: EndlessRun | undefined

  constructor(options: InstantCallsOptions) {
    this.#options = options
  }

  /** Whether a call of this run is to wait for a turn of the event loop. */
  isTurnDue(runId: string, now: number): boolean {
    const { most, captureOrigin } = this.#options
    this.#moveTo(now)
    const questions = (this.#questions.get(runId) ?? 0) + 1
    this.#questions.set(runId, questions)
    if (questions > most) this.#endless ??= { runId, origin: captureOrigin?.() }
    return questions > most || questions % QUESTIONS_A_TURN === 0
  }

  /** The run whose calls at this instant have no end, told once. */
  takeEndless(now: number): EndlessRun | undefined {
    this.#moveTo(now)
    const endless = this.#endless
    if (endless !== undefined) this.#questions.clear()
    this.#endless = undefined
    return endless
  }

  #moveTo(now: number): void {
    if (now === this.#instant) return
    this.#instant = now
    this.#questions.clear()
    this.#endless = undefined
  }
}
