import { RunawayError, StillBusyError } from './errors.ts'
import { macrotaskTurn } from '../macrotask-turn.ts'
import type { StepBudget } from './step-budget.ts'
import type { VirtualTime } from './time.ts'

export interface AutoModeOptions {
  readonly time: VirtualTime
  /** Whether time passes by itself on demand. Otherwise only timers due at the current instant fire. */
  readonly mayMove: boolean
  /** Whether an explicit call of the test is in progress. That call then decides alone about time. */
  readonly isCalled: () => boolean
}

/**
 * The behaviour of a test clock between the calls of the test. Due timers fire, one per turn of the event loop. In mode
 * `auto` time also moves on, timer by timer, while all code is at rest and a caller waits for time to pass.
 */
export class AutoMode {
  readonly #time: VirtualTime
  readonly #mayMove: boolean
  readonly #isCalled: () => boolean
  readonly #budgets: { instant: StepBudget; demand: StepBudget }
  #demands = 0
  #requests = 0
  /** How many requests there were when a loop without end failed those who await. */
  #failedAt: number | undefined
  #isRunning = false

  constructor({ time, mayMove, isCalled }: AutoModeOptions) {
    this.#time = time
    this.#mayMove = mayMove
    this.#isCalled = isCalled
    this.#budgets = { instant: time.newBudget(), demand: time.newBudget() }
  }

  /** Continues if there is work. Called after every change. */
  wake(): void {
    if (!this.#isRunning && this.#isWanted) void this.#run()
  }

  get #isDemanded(): boolean {
    return this.#mayMove && this.#time.ledger.isDemanded
  }

  get #isWanted(): boolean {
    if (this.#isCalled()) return false
    const { isRunaway, isHalted, ledger, timers } = this.#time
    const hasFailed = isRunaway && ledger.requests === this.#failedAt
    if (this.#isDemanded && !hasFailed) return true
    // A loop without end would keep the process busy for ever.
    return timers.isDue && !isHalted
  }

  /**
   * Takes one turn after the other until only a sign of life can change anything. The decision to stop and the end of
   * this function are one synchronous step; otherwise a sign of life in between would be missed.
   */
  async #run(): Promise<void> {
    const { ledger, pulse, ioGraceMs } = this.#time
    this.#isRunning = true
    try {
      while (this.#isWanted) {
        const { beats } = pulse
        await macrotaskTurn()
        if (this.#isCalled() || this.#fireDue() || pulse.beats !== beats || !this.#isDemanded) continue
        if (ledger.hasExternals) break
        if (this.#time.hasIo()) {
          await this.#time.ioEnded()
          continue
        }
        if (this.#isHeldUp) {
          if ((await pulse.next({ patienceMs: ioGraceMs })) || this.#time.hasIo()) continue
          ledger.losePatience()
        }
        if (!this.#isCalled() && !this.#goOn()) break
      }
    } catch (error) {
      // A runaway loop has no caller of its own, so the error goes to the awaiting calls.
      if (!(error instanceof RunawayError)) throw error
      this.#failedAt = ledger.requests
      ledger.failAwaited(error)
    } finally {
      this.#isRunning = false
    }
  }

  #fireDue(): boolean {
    const { timers, ledger, isRunaway } = this.#time
    const fired = timers.fireDue()
    if (fired === undefined) return false
    if (isRunaway && ledger.requests !== this.#requests) this.#budgets.instant = this.#time.newBudget()
    this.#requests = ledger.requests
    if (isRunaway || this.#isDemanded) this.#budgets.instant.spend(fired.label)
    return true
  }

  /** Busy code may still give a sign of life. */
  get #isHeldUp(): boolean {
    const { ledger } = this.#time
    // The source of a stream may be real I/O too, unless it waits for this clock.
    return ledger.isBusy || (ledger.isReading && !ledger.isSleptOn)
  }

  /** Acts when no sign of life has come. Returns false if nothing is left to do and no call awaits anything. */
  #goOn(): boolean {
    const { ledger, ioGraceMs } = this.#time
    return ledger.isBusy ? ledger.failAwaited(new StillBusyError(ledger.busy, ioGraceMs)) : this.#move()
  }

  /** Moves to the next timer, or reports that none can help. Returns false if no call awaits anything. */
  #move(): boolean {
    const { timers, ledger } = this.#time
    const stuck = this.#time.stuckness(ledger.awaited.map(({ id }) => `"${id}"`).join(', '))
    if (stuck !== undefined && ledger.failAwaited(stuck)) return true
    // A sleeping caller has named its duration, so time passes for it, whatever else times out meanwhile.
    if (!timers.hasForeground) return false
    if (ledger.demands !== this.#demands) {
      // A new demand counts as progress.
      this.#demands = ledger.demands
      this.#budgets.demand = this.#time.newBudget()
    }
    this.#budgets.instant = this.#time.newBudget()
    this.#budgets.demand.before(ledger)
    const fired = timers.fireNext()
    // Upkeep is bounded by the foreground timer after it.
    if (fired?.background === false) this.#budgets.demand.spend(fired.label)
    return true
  }
}
