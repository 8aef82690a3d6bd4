import type { CancelTimer, HoldingClock, ReleaseHold } from '../contract/clock.ts'
import { type OptionNames, requireOptions, requireWhole, show } from '../primitives/require.ts'
import { AutoMode } from './virtual/auto-mode.ts'
import { CallQueue } from './virtual/call-queue.ts'
import { type ClockCalls, clockCalls, toInstant } from './virtual/calls.ts'
import { LeftoverError } from './virtual/errors.ts'
import type { RealIo } from './real-io.ts'
import { Sleeper } from './virtual/sleeper.ts'
import type { TravelOptions } from './virtual/time-travel.ts'
import { renderTimeline } from './virtual/timeline.ts'
import { VirtualTime } from './virtual/time.ts'
import type { PendingTimer } from './virtual/timers.ts'
import type { WitnessedHold, WitnessedTimer } from './virtual/witnessed.ts'

/** Options of the bare test clock; all have defaults. */
export interface BareTestClockOptions {
  /**
   * The first instant.
   *
   * @unit epoch milliseconds
   * @default the start of the year 2000, UTC
   */
  readonly start?: number | Date | undefined
  /**
   * When time moves.
   *
   * - `auto`: time also moves by itself, while everything is at rest and the test awaits something.
   * - `manual`: time moves in explicit calls only.
   * - `frozen`: time does not move; only what is due at the first instant happens.
   *
   * @default `'auto'`
   */
  readonly mode?: 'auto' | 'manual' | 'frozen' | undefined
  /**
   * Real milliseconds without a sign of life after which a busy run is an error; where only the test moves time, at least `standstillMs`.
   *
   * @default `1_000`
   */
  readonly ioGraceMs?: number | undefined
  /**
   * Real milliseconds without a sign of life after which waiting for a time that stands still is an error. Keep it below
   * the time-out of the test runner.
   *
   * @default `3_000`
   */
  readonly standstillMs?: number | undefined
  /**
   * How many timers one call may fire, and how many calls a run may make of its engine while no time passes (a thousand
   * at least), before that counts as endless.
   *
   * @unit timers, or calls
   * @default `25_000`
   */
  readonly maxSteps?: number | undefined
  /**
   * The effect of a forgotten answer: time reaches the deadline of a token whose timeout no code has named.
   *
   * - `error`: every awaited promise ends with `ERR_STUCK`, and time does not pass.
   * - `timeout`: the token times out.
   *
   * @default `'error'`
   */
  readonly onUnanswered?: 'error' | 'timeout' | undefined
  /**
   * Answers the id of the run whose code is calling, if any: it must not wait for the clock to come to rest.
   *
   * @default none
   */
  readonly currentRun?: (() => string | undefined) | undefined
  /**
   * Captures the place of the calling code, for messages.
   *
   * @default none
   */
  readonly captureOrigin?: (() => () => string) | undefined
  /**
   * Real I/O that holds do not tell of.
   *
   * @default none
   */
  readonly io?: RealIo | undefined
}

/**
 * A clock with virtual time: time passes only when the test lets it, and everything happens in the same order in every
 * execution. See docs/testing.md.
 */
export interface TestClock extends HoldingClock, ClockCalls, AsyncDisposable {
  setTimer(at: number, fire: () => void, about?: WitnessedTimer): CancelTimer
  hold(hold: WitnessedHold): ReleaseHold
  /** Resolves after a duration. For test code, and for mocks of real I/O inside a task. */
  sleep(duration: number | string, options?: TravelOptions): Promise<void>
  /** Aborts with a `TimeoutError` after a duration; like `AbortSignal.timeout`, but on this clock. */
  signal(duration: number | string): AbortSignal
  /** Declares real I/O: time stands still until the promise settles. Returns the promise. */
  external<P extends PromiseLike<unknown>>(promise: P, options?: { readonly label?: string | undefined }): P
  /** The scheduled timers, in firing order; under a fixture with the deadline of every waiting token. */
  pending(): readonly PendingTimer[]
  /** A report for people: the last fired timers, the busy and waiting runs and calls, and the scheduled timers. */
  timeline(): string
}

/**
 * Creates a test clock without knowledge of engines. It touches no globals; any number of clocks live side by side.
 *
 * @example
 * ```ts
 * const clock = testClock()
 * clock.setTimer(clock.now() + 60_000, () => console.log('a minute later'))
 * await clock.advance('1m')
 * ```
 */
export function bareTestClock(options: BareTestClockOptions = {}): TestClock {
  requireOptions(options, 'the options of testClock', NAMES)
  const { start = FIRST_INSTANT, ioGraceMs = 1_000, standstillMs = 3_000, maxSteps = 25_000 } = options
  const mode = requireOneOf('mode', options.mode, MODES)
  const failsUnanswered = requireOneOf('onUnanswered', options.onUnanswered, UNANSWERED) === 'error'
  requireWhole(ioGraceMs, 'ioGraceMs', { from: 0 })
  requireWhole(standstillMs, 'standstillMs', { from: 0 })
  requireWhole(maxSteps, 'maxSteps', { from: 1 })
  const currentRun = options.currentRun ?? (() => undefined)

  const { io, captureOrigin } = options
  const time = new VirtualTime({
    start: toInstant(start),
    ioGraceMs,
    standstillMs,
    maxSteps,
    failsUnanswered,
    io,
    captureOrigin,
  })
  const queue = new CallQueue()
  const autoMode = new AutoMode({ time, mode, isCalled: () => !queue.isIdle })
  time.pulse.onBeat(() => autoMode.wake())
  queue.onIdle(() => autoMode.called())

  const { timers, ledger } = time
  const calls = clockCalls({ time, queue, currentRun, isFrozen: mode === 'frozen' })
  const sleeper = new Sleeper({ time, currentRun })
  return {
    now: () => timers.now,
    setTimer: (at, fire, about) => timers.set(at, fire, about),
    isTurnDue: (runId) => time.isTurnDue(runId),
    hold: (hold) => ledger.hold(hold),
    ...calls,
    sleep: (duration, options) => sleeper.sleep(duration, options),
    signal: (duration) => sleeper.signal(duration),
    external(promise, options = {}) {
      requireOptions(options, 'the options of clock.external', { label: true })
      if (typeof (promise as Partial<PromiseLike<unknown>> | null | undefined)?.then !== 'function')
        throw new TypeError(`Cannot wait for ${show(promise)}: it is not a promise`)
      const end = ledger.external({ label: options.label ?? 'external', origin: captureOrigin?.() })
      promise.then(end, end)
      return promise
    },
    pending: () => timers.pending,
    timeline: () => renderTimeline(time.view),
    async [Symbol.asyncDispose]() {
      await calls.settle()
      sleeper.dropSignals()
      const left = timers.pending.filter(({ background }) => !background)
      timers.clear()
      if (left.length > 0 || ledger.awaited.length > 0) throw new LeftoverError(left, ledger.awaited)
    },
  }
}

const NAMES: OptionNames<BareTestClockOptions> = {
  start: true,
  mode: true,
  ioGraceMs: true,
  standstillMs: true,
  maxSteps: true,
  onUnanswered: true,
  currentRun: true,
  captureOrigin: true,
  io: true,
}
const FIRST_INSTANT = Date.UTC(2000, 0, 1)
const MODES = ['auto', 'manual', 'frozen'] as const
const UNANSWERED = ['error', 'timeout'] as const

/** Checks that a value is one of the choices. The first choice is the default. */
function requireOneOf<Choice extends string>(
  name: string,
  value: Choice | undefined,
  choices: readonly [Choice, ...Choice[]],
): Choice {
  if (value === undefined) return choices[0]
  if (choices.includes(value)) return value
  throw new RangeError(`Cannot use ${name} ${show(value)} of testClock: use ${choices.join(', ')}`)
}
