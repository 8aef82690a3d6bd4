import { RunawayError, StillBusyError } from './errors.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { inNextTurn } from '../macrotask-turn.ts'
import type { ClockMode } from './mode.ts'
import type { StepBudget } from './step-budget.ts'
import type { VirtualTime } from './time.ts'

export interface AutoModeOptions {
  readonly time: VirtualTime
  /** In mode `auto` time passes by itself on demand. Otherwise only timers due at the current instant fire. */
  readonly mode: ClockMode
  /** Whether an explicit call of the test is in progress. That call then decides alone about time. */
  readonly isCalled: () => boolean
}

/**
 * The behaviour of a test clock between the calls of the test. Due timers fire, one per turn of the event loop. In mode
 * `auto` time also moves on, timer by timer, while all code is at rest and a caller waits for time to pass. In the other
 * modes such a caller gets an error when no call of the test has moved time for long.
 */
export class AutoMode {
  readonly #time: VirtualTime
  readonly #mode: ClockMode
  readonly #isCalled: () => boolean
  readonly #budgets: { instant: StepBudget; demand: StepBudget }
  #demands = 0
  #requests = 0
  /** How many requests there were when a loop without end failed those who await. */
  #failedAt: number | undefined
  #isRunning = false
  /** How many signs of life there were when a step had nothing left to do. */
  #beats = 0
  /** How many calls of the test have ended. */
  #calls = 0
  /** The instant of the budget for due timers. */
  #instant: number | undefined

  constructor({ time, mode, isCalled }: AutoModeOptions) {
    this.#time = time
    this.#mode = mode
    this.#isCalled = isCalled
    this.#budgets = { instant: time.newBudget(), demand: time.newBudget() }
  }

  /** Continues if there is work. Called after every change. */
  wake(): void {
    if (!this.#isRunning && this.#isWanted) this.#takeTurn()
  }

  /** A call of the test has ended: it may have moved time. */
  called(): void {
    this.#calls += 1
    this.wake()
  }

  get #isDemanded(): boolean {
    return this.#time.ledger.isDemanded
  }

  get #isWanted(): boolean {
    if (this.#isCalled()) return false
    const { isRunaway, isHalted, ledger, timers } = this.#time
    const hasFailed = isRunaway && ledger.requests === this.#failedAt
    if (this.#isDemanded && !hasFailed) return true
    // A loop without end would keep the process busy for ever.
    return timers.isDue && !isHalted
  }

  /** Takes one turn after the other until only a sign of life can change anything. */
  #takeTurn(): void {
    this.#isRunning = true
    const { beats } = this.#time.pulse
    // Without promises, which would be a third of those of a lone wait.
    inNextTurn(() => unawaited(() => chain(this.#step(beats), this.#stepped), this.#failed))
  }

  /** The decision to stop and the end of the turns are one synchronous step; otherwise a sign of life in between would be missed. */
  readonly #stepped = (mayGoOn: boolean): void => {
    // A sign of life may have come since the step has ended.
    if (this.#isWanted && (mayGoOn || this.#time.pulse.beats !== this.#beats)) this.#takeTurn()
    else this.#isRunning = false
  }

  readonly #failed = (error: unknown): void => {
    const { ledger } = this.#time
    try {
      // A runaway loop has no caller of its own, so the error goes to the awaiting calls.
      if (!(error instanceof RunawayError)) throw error
      this.#failedAt = ledger.requests
      ledger.failAwaited(error)
    } finally {
      this.#isRunning = false
    }
  }

  /**
   * A turn has passed.
   *
   * @param beats how many signs of life there were before it.
   * @returns false if nothing is left to do and no call awaits anything.
   */
  #step(beats: number): Awaitable<boolean> {
    const { pulse, ledger } = this.#time
    if (this.#isCalled() || this.#fireDue() || pulse.beats !== beats || !this.#isDemanded) return true
    const isAtRest = !ledger.hasExternals && !this.#time.hasIo() && !this.#isHeldUp
    return isAtRest && this.#mode === 'auto' ? this.#goOn() : this.#wait()
  }

  /** Waits in real time for a sign of life. Returns false if nothing is left to do and no call awaits anything. */
  async #wait(): Promise<boolean> {
    if (this.#time.ledger.hasExternals) return (await this.#hasMoved()) || this.#failWaiting()
    if (this.#time.hasIo()) {
      await this.#time.ioEnded()
      return true
    }
    if ((await this.#hasLived()) || this.#isCalled()) return true
    return this.#goOn()
  }

  /** Whether there was a sign of life before patience ended. */
  async #hasLived(): Promise<boolean> {
    const { pulse, ledger } = this.#time
    if (this.#isHeldUp) {
      if ((await pulse.next({ patienceMs: this.#busyPatienceMs })) || this.#time.hasIo()) return true
      ledger.losePatience()
    }
    return this.#mode !== 'auto' && !ledger.isBusy && (await this.#hasMoved())
  }

  #fireDue(): boolean {
    const { timers, ledger, isRunaway } = this.#time
    const fired = this.#time.fireDue()
    if (fired === undefined) return false
    if ((isRunaway && ledger.requests !== this.#requests) || timers.now !== this.#instant)
      this.#budgets.instant = this.#time.newBudget()
    this.#instant = timers.now
    this.#requests = ledger.requests
    if (!fired.background && (isRunaway || this.#isDemanded)) this.#budgets.instant.spend(fired.label)
    return true
  }

  /** Whether there was a sign of life, or a call of the test, before patience with a time that stands still ended. */
  async #hasMoved(): Promise<boolean> {
    const { pulse, standstillMs } = this.#time
    const calls = this.#calls
    const hasBeat = await pulse.next({ patienceMs: standstillMs })
    return hasBeat || this.#isCalled() || this.#calls !== calls || this.#time.hasIo()
  }

  /** Time stands still. Returns false if no call awaits anything. */
  #failWaiting(): boolean {
    this.#beats = this.#time.pulse.beats
    return this.#time.ledger.failWaiting(this.#time.standstill(this.#mode))
  }

  /** How long busy code may give no sign of life. Where time does not move by itself, nothing is in a hurry. */
  get #busyPatienceMs(): number {
    const { ioGraceMs, standstillMs } = this.#time
    return this.#mode === 'auto' ? ioGraceMs : Math.max(ioGraceMs, standstillMs)
  }

  /** Busy code may still give a sign of life. */
  get #isHeldUp(): boolean {
    const { ledger } = this.#time
    // The source of a stream may be real I/O too, unless it waits for this clock.
    return ledger.isBusy || (ledger.isReading && !ledger.isSleptOn)
  }

  /** Acts when no sign of life has come. Returns false if nothing is left to do and no call awaits anything. */
  #goOn(): boolean {
    const { ledger, pulse } = this.#time
    this.#beats = pulse.beats
    if (ledger.isBusy) return ledger.failWaiting(new StillBusyError(ledger.busy, this.#busyPatienceMs))
    return this.#mode === 'auto' ? this.#move() : this.#failWaiting()
  }

  /** Moves to the next timer, or reports that none can help. Returns false if no call awaits anything. */
  #move(): boolean {
    const { timers, ledger } = this.#time
    const stuck = this.#time.stuckness(() => ledger.awaited.map(({ id }) => `"${id}"`).join(', '))
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
