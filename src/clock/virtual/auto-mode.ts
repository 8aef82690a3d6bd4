import { RunawayError, StillBusyError } from './errors.ts'
import { macrotaskTurn } from '../macrotask-turn.ts'
import type { StepBudget } from './step-budget.ts'
import type { VirtualTime } from './time.ts'

export interface AutoModeOptions {
  readonly time: VirtualTime
  /** Whether time passes by itself while something is demanded; if not, only what is due at this instant happens. */
  readonly mayMove: boolean
  /** An explicit call of the test is under way: it decides alone what happens next. */
  readonly isCalled: () => boolean
}

/**
 * What a test clock does between the calls of the test. Timers that are due fire, one per turn of the event loop; and
 * in mode `auto` time moves on, timer by timer, while everybody is at rest and somebody waits for the future.
 */
export class AutoMode {
  readonly #time: VirtualTime
  readonly #mayMove: boolean
  readonly #isCalled: () => boolean
  readonly #budgets: { instant: StepBudget; demand: StepBudget }
  #demands = 0
  #isRunning = false

  constructor({ time, mayMove, isCalled }: AutoModeOptions) {
    this.#time = time
    this.#mayMove = mayMove
    this.#isCalled = isCalled
    this.#budgets = { instant: time.newBudget(), demand: time.newBudget() }
  }

  /** Goes on if there is anything to do; called whenever there might be. */
  wake(): void {
    if (!this.#isRunning && this.#isWanted) void this.#run()
  }

  get #isDemanded(): boolean {
    return this.#mayMove && this.#time.ledger.isDemanded
  }

  get #isWanted(): boolean {
    return !this.#isCalled() && (this.#time.timers.isDue || this.#isDemanded)
  }

  /**
   * One turn after the other, until nothing will happen before the next sign of life. That decision and the end of
   * this are one synchronous step, or a sign of life in between would wake nobody.
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
      // What runs away is told to whoever waits: there is no other caller.
      if (!(error instanceof RunawayError)) throw error
      ledger.failAwaited(error)
    } finally {
      this.#isRunning = false
    }
  }

  #fireDue(): boolean {
    const fired = this.#time.timers.fireDue()
    if (fired !== undefined && this.#isDemanded) this.#budgets.instant.spend(fired.label)
    return fired !== undefined
  }

  /** Somebody is at work who may give a sign of life. */
  get #isHeldUp(): boolean {
    const { ledger } = this.#time
    // Sources of streams are real I/O as well, unless what they wait for is this clock.
    return ledger.isBusy || (ledger.isReading && !ledger.isSleptOn)
  }

  /** Nobody gives one: false when there is nothing left to do and nobody to tell. */
  #goOn(): boolean {
    const { ledger, ioGraceMs } = this.#time
    return ledger.isBusy ? ledger.failAwaited(new StillBusyError(ledger.busy, ioGraceMs)) : this.#move()
  }

  /** On to the next timer, or the end of all hope; false when nobody is left to tell. */
  #move(): boolean {
    const { timers, ledger } = this.#time
    const stuck = this.#time.stuckness(ledger.awaited.map(({ id }) => `"${id}"`).join(', '))
    if (stuck !== undefined && ledger.failAwaited(stuck)) return true
    // Whoever only sleeps has said how long: for them time passes whatever else times out meanwhile.
    if (!timers.hasForeground) return false
    if (ledger.demands !== this.#demands) {
      // A new demand is progress.
      this.#demands = ledger.demands
      this.#budgets.demand = this.#time.newBudget()
    }
    this.#budgets.instant = this.#time.newBudget()
    const fired = timers.fireNext()
    // Upkeep is bounded by the timer it happens on the way to.
    if (fired?.background === false) this.#budgets.demand.spend(fired.label)
    return true
  }
}
