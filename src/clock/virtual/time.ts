import { throwIfAborted } from '../../primitives/abort.ts'
import type { ClockMode } from './mode.ts'
import { RunawayError, StandstillError, StillBusyError, StuckError } from './errors.ts'
import { HoldLedger } from './hold-ledger.ts'
import { InstantCalls } from './instant-calls.ts'
import { macrotaskTurn } from '../macrotask-turn.ts'
import { Pulse } from './pulse.ts'
import type { RealIo } from '../real-io.ts'
import { StepBudget } from './step-budget.ts'
import type { ClockView } from './timeline.ts'
import { type FiredTimer, VirtualTimers } from './timers.ts'

export interface VirtualTimeOptions {
  readonly start: number
  readonly ioGraceMs: number
  readonly standstillMs: number
  readonly maxSteps: number
  /** Whether a forgotten answer is an error, raised before the default timeout passes. */
  readonly failsUnanswered: boolean
  readonly io?: RealIo | undefined
  /** Captures the place of the calling code. */
  readonly captureOrigin?: (() => () => string) | undefined
}

/** An engine asks whether a turn is due for one in so many calls of its runs. */
const CALLS_A_QUESTION = 16
/** However few steps are allowed: a run may make a thousand calls at one instant. */
const FEWEST_QUESTIONS = 64

export interface SettleOptions {
  readonly signal?: AbortSignal | undefined
  /** Ends the settling early; checked between steps. */
  readonly isMet?: (() => boolean) | undefined
}

/**
 * The current instant of a test clock, with its scheduled timers and busy code, and the ways to let it come to rest.
 */
export class VirtualTime {
  readonly timers: VirtualTimers
  readonly ledger: HoldLedger
  readonly pulse: Pulse = new Pulse()
  readonly ioGraceMs: number
  readonly standstillMs: number
  readonly #maxSteps: number
  readonly #failsUnanswered: boolean
  readonly #io: RealIo | undefined
  readonly #instantCalls: InstantCalls
  /** Where a budget was last spent, and how many requests there were by then. */
  #runaway: { readonly at: number; readonly requests: number } | undefined

  constructor(options: VirtualTimeOptions) {
    const { start, ioGraceMs, standstillMs, maxSteps, failsUnanswered, io } = options
    const { captureOrigin } = options
    this.timers = new VirtualTimers({ start, pulse: this.pulse })
    this.ledger = new HoldLedger(this.pulse)
    this.ioGraceMs = ioGraceMs
    this.standstillMs = standstillMs
    this.#maxSteps = maxSteps
    this.#failsUnanswered = failsUnanswered
    this.#io = io
    const most = Math.max(maxSteps / CALLS_A_QUESTION, FEWEST_QUESTIONS)
    this.#instantCalls = new InstantCalls({ most, captureOrigin })
  }

  get view(): ClockView {
    const { timers, ledger } = this
    return { now: timers.now, fired: timers.fired, pending: timers.pending, occupations: ledger.occupations }
  }

  /**
   * The reason why the passing of time up to `limit` cannot help: no timer is left, or the next one is the deadline of
   * a token whose answer was forgotten.
   */
  stuckness(awaited: () => string, limit: number = Infinity): StuckError | undefined {
    const forgotten = this.#failsUnanswered ? this.timers.forgottenBy(limit) : undefined
    if (forgotten === undefined && this.timers.hasForeground) return undefined
    return new StuckError({ awaited: awaited(), view: this.view, graph: this.ledger.graph, forgotten })
  }

  /** The error of callers that wait although time stands still: for real I/O that was declared, or in this mode. */
  standstill(mode: ClockMode): StandstillError {
    const { ledger, standstillMs, view } = this
    const { awaited, graph } = ledger
    const externals = ledger.giveUpExternals()
    return new StandstillError({ awaited, externals, mode, standstillMs, view, graph })
  }

  newBudget(): StepBudget {
    return new StepBudget(this.#maxSteps, this.#haltHere)
  }

  readonly #haltHere = (): void => {
    this.#runaway = { at: this.timers.now, requests: this.ledger.requests }
  }

  /** Whether a call of a run is to let go of the event loop, because the run has made many at this instant. */
  isTurnDue(runId: string | undefined): boolean {
    return runId !== undefined && this.#instantCalls.isTurnDue(runId, this.timers.now)
  }

  /** Fires the earliest timer if it is due. @throws RunawayError when the calls of a run at this instant have no end. */
  fireDue(): FiredTimer | undefined {
    const endless = this.#instantCalls.takeEndless(this.timers.now)
    if (endless === undefined) return this.timers.fireDue()
    this.#haltHere()
    const run = this.ledger.executing(endless.runId)
    throw new RunawayError({ maxSteps: this.#maxSteps, endless: { ...endless, run } })
  }

  /** Whether timers at this instant were found to set timers without end. */
  get isRunaway(): boolean {
    return this.#runaway?.at === this.timers.now
  }

  /** Whether that was reported, and no caller has asked for anything since. */
  get isHalted(): boolean {
    return this.isRunaway && this.#runaway?.requests === this.ledger.requests
  }

  /** Whether real I/O without a hold is in progress. Wait for `ioEnded` before any decision. */
  hasIo(): boolean {
    return this.#io?.isUnderWay === true
  }

  async ioEnded(): Promise<void> {
    await this.#io?.ended()
  }

  /**
   * Lets all code run that can run at the current instant: until a turn of the event loop passes in which nothing
   * happened, no timer is due and no code is busy.
   *
   * @throws StillBusyError when code stays busy and nothing happens for `ioGraceMs` of real time.
   * @throws StandstillError when declared real I/O does not settle and nothing happens for `standstillMs`.
   */
  async settle({ signal, isMet }: SettleOptions = {}): Promise<void> {
    const budget = this.newBudget()
    while (isMet?.() !== true) {
      throwIfAborted(signal)
      const { beats } = this.pulse
      await macrotaskTurn()
      const fired = this.fireDue()
      if (fired !== undefined) budget.spend(fired.label)
      else if (this.hasIo()) await this.ioEnded()
      else if (this.pulse.beats === beats && (await this.#isAtRest(signal))) return
    }
  }

  async #isAtRest(signal: AbortSignal | undefined): Promise<boolean> {
    const { ledger, pulse, ioGraceMs, standstillMs } = this
    const { hasExternals } = ledger
    if (!hasExternals && !ledger.isBusy) return true
    const hasMoved = await pulse.next({ patienceMs: hasExternals ? standstillMs : ioGraceMs, signal })
    if (hasMoved || this.hasIo()) return false
    if (hasExternals) throw this.standstill('auto')
    ledger.loseHope()
    if (ledger.isBusy) throw new StillBusyError(ledger.busy, ioGraceMs)
    return true
  }
}
