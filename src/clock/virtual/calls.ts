import { parseDuration } from '../../primitives/duration.ts'
import { throwIfAborted } from '../../primitives/abort.ts'
import { type OptionNames, requireOptions, requireSignal, show } from '../../primitives/require.ts'
import type { CallQueue } from './call-queue.ts'
import { ClockReentryError } from './errors.ts'
import type { Goal } from './goal.ts'
import { TimeTravel, type TravelOptions, type UntilOptions } from './time-travel.ts'
import type { VirtualTime } from './time.ts'
import type { FiredTimer } from './timers.ts'

/**
 * The calls by which a test moves virtual time, or lets it rest. They are carried out one after the other. They reject
 * with the reason of their `signal`, and with a {@link ClockReentryError} when task code makes them. Durations are
 * milliseconds or strings such as `'1h30m'`; instants are epoch milliseconds or a `Date`. See docs/testing.md.
 */
export interface ClockCalls {
  /**
   * Lets all code run that can run at the current instant. Rejects with `ERR_STILL_BUSY` when code does not come to
   * rest.
   */
  settle(options?: TravelOptions): Promise<void>
  /**
   * Moves time on by a duration. Every timer on the way fires at its own instant, one at a time, followed by a settle.
   */
  advance(duration: number | string, options?: TravelOptions): Promise<void>
  /** Moves time on to an instant, like `advance`. Rejects with a `RangeError` for an instant in the past. */
  advanceTo(instant: number | Date, options?: TravelOptions): Promise<void>
  /** Moves time on to the earliest timer, fires only that timer, settles, and returns it; null if there is none. */
  next(options?: TravelOptions): Promise<FiredTimer | null>
  /**
   * Moves time on until a goal is met, and returns its result: the value of a promise, the outcome of a run, or the
   * value of a condition, which may be asynchronous. Rejects at once with `ERR_STUCK` when the goal can never be met, and with
   * `ERR_VIRTUAL_TIMEOUT` when `within` has passed.
   */
  until<T>(goal: Goal<T>, options?: UntilOptions): Promise<T>
  /** Moves time on until only upkeep is scheduled. Rejects with `ERR_RUNAWAY` after `maxSteps` timers. */
  runAll(options?: TravelOptions): Promise<void>
  /** Simulates a suspended machine: time moves first, then all overdue timers fire, in order. */
  jump(duration: number | string, options?: TravelOptions): Promise<void>
  /** Simulates a change of the wall clock, forwards or backwards. The instants of timers stay as they are. */
  setWall(instant: number | Date, options?: TravelOptions): Promise<void>
}

export interface ClockCallsOptions {
  readonly time: VirtualTime
  readonly queue: CallQueue
  readonly isFrozen: boolean
  /** The id of the run whose code is calling, if any. */
  readonly currentRun: () => string | undefined
}

const TRAVEL_NAMES: OptionNames<TravelOptions> = { signal: true }
const UNTIL_NAMES: OptionNames<UntilOptions> = { signal: true, within: true }

export function clockCalls({ time, queue, isFrozen, currentRun }: ClockCallsOptions): ClockCalls {
  const travel = new TimeTravel(time)

  async function rest<T>(name: string, options: TravelOptions, call: () => Promise<T>): Promise<T> {
    requireOptions(options, `the options of clock.${name}`, name === 'until' ? UNTIL_NAMES : TRAVEL_NAMES)
    const { signal } = options
    requireSignal(signal, 'signal')
    const runId = currentRun()
    if (runId !== undefined) throw new ClockReentryError(name, runId)
    return queue.run(() => {
      throwIfAborted(signal)
      return call()
    })
  }

  async function move<T>(name: string, options: TravelOptions, call: () => Promise<T>): Promise<T> {
    if (isFrozen)
      throw new TypeError(`Cannot call \`clock.${name}\`: the clock is "frozen", use mode "manual"`)
    return rest(name, options, call)
  }

  return {
    settle: (options = {}) => rest('settle', options, () => time.settle({ signal: options.signal })),
    async advance(duration, options = {}) {
      const ms = parseDuration(duration, 'duration')
      return move('advance', options, () => travel.advanceTo(time.timers.now + ms, options))
    },
    async advanceTo(instant, options = {}) {
      const target = toInstant(instant)
      return move('advanceTo', options, () => {
        assertAhead(target, time.timers.now)
        return travel.advanceTo(target, options)
      })
    },
    next: (options = {}) => move('next', options, () => travel.next(options)),
    until: (goal, options = {}) => move('until', options, () => travel.until(goal, options)),
    runAll: (options = {}) => move('runAll', options, () => travel.runAll(options)),
    async jump(duration, options = {}) {
      const ms = parseDuration(duration, 'duration')
      return move('jump', options, () => travel.stepTo(time.timers.now + ms, options))
    },
    async setWall(instant, options = {}) {
      const target = toInstant(instant)
      return move('setWall', options, () => travel.stepTo(target, options))
    },
  }
}

/** Reads an instant as whole epoch milliseconds. */
export function toInstant(value: number | Date): number {
  const isReadable = typeof value === 'number' || (value as unknown) instanceof Date
  const instant = isReadable ? Number(value) : Number.NaN
  if (Number.isNaN(new Date(instant).getTime()) || !Number.isInteger(instant)) {
    throw new RangeError(`Cannot read instant ${show(value)}: use whole epoch milliseconds or a Date`)
  }
  return instant
}

function assertAhead(target: number, now: number): void {
  if (target >= now) return
  const spelled = [target, now].map((instant) => new Date(instant).toISOString())
  throw new RangeError(`Cannot advance to "${spelled[0]}": it is in the past, now is "${spelled[1]}"`)
}
