import { parseDuration } from '../../primitives/duration.ts'
import { StillBusyError, VirtualTimeoutError } from './errors.ts'
import { type Goal, type WatchedGoal, watchGoal } from './goal.ts'
import type { VirtualTime } from './time.ts'
import type { FiredTimer, VirtualTimers } from './timers.ts'

/** Options of every call that moves a test clock. */
export interface TravelOptions {
  /**
   * Gives up; the call rejects with the reason, and time stays where it got to.
   *
   * @default none
   */
  readonly signal?: AbortSignal | undefined
}

/** Options of `clock.until`. */
export interface UntilOptions extends TravelOptions {
  /**
   * The virtual time it may take at most: milliseconds or `'5m'`.
   *
   * @unit milliseconds
   * @default no limit
   */
  readonly within?: number | string | undefined
}

/** The ways in which a test moves virtual time, timer by timer. Only one may be in progress at a time. */
export class TimeTravel {
  readonly #time: VirtualTime
  readonly #timers: VirtualTimers

  constructor(time: VirtualTime) {
    this.#time = time
    this.#timers = time.timers
  }

  async advanceTo(target: number, { signal }: TravelOptions): Promise<void> {
    await this.#time.settle({ signal })
    while (this.#timers.fireNext(target) !== undefined) await this.#time.settle({ signal })
    // All code is at rest, and no timer is due up to the target, so the move has no side effect.
    this.#timers.moveTo(target)
  }

  async next({ signal }: TravelOptions): Promise<FiredTimer | null> {
    await this.#time.settle({ signal })
    const fired = this.#timers.fireNext()
    if (fired === undefined) return null
    await this.#time.settle({ signal })
    return fired
  }

  async until<T>(goal: Goal<T>, { within, signal }: UntilOptions): Promise<T> {
    const limit = within === undefined ? Infinity : this.#timers.now + parseDuration(within, 'within')
    const budget = this.#time.newBudget()
    const watched = watchGoal(goal, () => this.#time.pulse.beat())
    const { isMet, read } = watched
    for (;;) {
      await this.#time.settle({ signal, isMet })
      watched.ask()
      await this.#answered(watched, signal)
      if (isMet()) return read()
      const stuck = this.#time.stuckness(() => 'the goal of `until`', limit)
      if (stuck !== undefined) throw stuck

      budget.before(this.#time.ledger)
      const fired = this.#timers.fireNext(limit)
      if (fired?.background === false) budget.spend(fired.label)
      if (fired !== undefined) continue
      if (within !== undefined && this.#timers.now >= limit)
        throw new VirtualTimeoutError(within, this.#time.view)
      this.#timers.moveTo(limit)
    }
  }

  /** Waits for the answer of a condition that is asked. One that waits for time to pass itself gets it later. */
  async #answered<T>({ isAsked, isMet }: WatchedGoal<T>, signal: AbortSignal | undefined): Promise<void> {
    const { ledger, pulse, ioGraceMs } = this.#time
    while (isAsked()) {
      await this.#time.settle({ signal, isMet })
      if (!isAsked() || ledger.isDemanded) return
      if (!(await pulse.next({ patienceMs: ioGraceMs, signal })) && !this.#time.hasIo())
        throw new StillBusyError([{ kind: 'call', id: 'the condition of `until`' }], ioGraceMs)
    }
  }

  async runAll({ signal }: TravelOptions): Promise<void> {
    const budget = this.#time.newBudget()
    await this.#time.settle({ signal })
    while (this.#timers.hasForeground) {
      budget.before(this.#time.ledger)
      const fired = this.#timers.fireNext()
      if (fired?.background === false) budget.spend(fired.label)
      await this.#time.settle({ signal })
    }
  }

  /** Changes the current instant in either direction. Timers that become overdue fire late, in order. */
  async stepTo(instant: number, { signal }: TravelOptions): Promise<void> {
    this.#timers.moveTo(instant)
    await this.#time.settle({ signal })
  }
}
