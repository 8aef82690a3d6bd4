import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import { type Few, itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import type { Pulse } from './pulse.ts'
import type { WaitingRun } from './wait-graph.ts'
import type { WitnessedHold } from './witnessed.ts'

/** The test clock's record of busy code, and of callers that wait for time to pass. */
export class HoldLedger {
  readonly #pulse: Pulse
  readonly #held: Record<Hold['kind'], Few<Held>> = {
    executing: undefined,
    draining: undefined,
    parked: undefined,
    reading: undefined,
    awaited: undefined,
    watching: undefined,
    call: undefined,
    scheduled: undefined,
  }
  readonly #failed = new WeakSet<Held | Sleep>()
  readonly #quiet = new WeakSet<Held | Sleep>()
  readonly #sleeps = new Set<Sleep>()
  readonly #externals = new Set<External>()
  #demands = 0
  #calls = 0

  constructor(pulse: Pulse) {
    this.#pulse = pulse
  }

  /** Whether real I/O is in progress. Time then stands still, for at most `standstillMs` if something waits for it. */
  get hasExternals(): boolean {
    return this.#externals.size > 0
  }

  /** Declared real I/O that has not settled for long: time no longer stands still for it, and closing does not wait. */
  giveUpExternals(): readonly External[] {
    const given = [...this.#externals]
    this.#externals.clear()
    return given
  }

  /** Whether the source of a stream is being read and may be real I/O. */
  get isReading(): boolean {
    return itemsOf(this.#held.reading).some((held) => !this.#quiet.has(held))
  }

  /** Treats the sources being read as quiet, because they gave no sign of life for long. Time may move again. */
  losePatience(): void {
    for (const held of itemsOf(this.#held.reading)) this.#quiet.add(held)
    this.loseHope()
  }

  /** Treats runs that only a signal of this clock may abort as asleep: what they wait for does not come. */
  loseHope(): void {
    for (const sleep of this.#sleeps) if (sleep.isSignal === true) this.#quiet.add(sleep)
  }

  /** Whether test code, or a mock, sleeps on this clock. */
  get isSleptOn(): boolean {
    return this.#sleeps.size > 0
  }

  /** Whether a caller outside of runs waits for time to pass. */
  get isDemanded(): boolean {
    return this.#held.awaited !== undefined || this.#isTestAsleep
  }

  /** The number of demands so far. */
  get demands(): number {
    return this.#demands
  }

  /** The number of demands and of calls from outside of runs so far. */
  get requests(): number {
    return this.#demands + this.#calls
  }

  get awaited(): readonly WitnessedHold[] {
    return this.#holds('awaited')
  }

  /** The awaited runs, or else all waiting runs, each with its waits, as far as they are known. */
  get graph(): readonly WaitingRun[] {
    const awaited = runsOf(this.#holds('awaited'))
    return awaited.length > 0 ? awaited : runsOf(this.#holds('parked'))
  }

  /** A run that executes, with all its waits, as far as it is known. */
  executing(runId: string): WaitingRun | undefined {
    return this.#holds('executing')
      .find(({ id }) => id === runId)
      ?.run?.()
  }

  /** All current activities, for reports. */
  get occupations(): readonly string[] {
    return [
      ...Object.values(this.#held).flatMap((few) =>
        itemsOf(few).map(({ hold: { kind, id } }) => `${kind} ${id}`),
      ),
      ...Array.from(this.#externals, ({ label }) => `external ${label}`),
      ...Array.from(this.#sleeps, ({ runId = 'test' }) => `asleep ${runId}`),
    ]
  }

  get isBusy(): boolean {
    const { call, executing } = this.#held
    return call !== undefined || (executing !== undefined && this.busy.length > 0)
  }

  /**
   * The holds that must end in a wait or an end before time may move. A run whose code sleeps on this clock, or waits for
   * another run, is not busy.
   */
  get busy(): readonly WitnessedHold[] {
    const asleep = new Set<string | undefined>()
    for (const sleep of this.#sleeps)
      if (sleep.isSignal !== true || this.#quiet.has(sleep)) asleep.add(sleep.runId)
    for (const { id } of this.#holds('watching')) asleep.add(id)
    const executing = this.#holds('executing').filter(({ id }) => !asleep.has(id))
    return [...executing, ...this.#holds('call')]
  }

  hold(hold: WitnessedHold): ReleaseHold {
    const { kind } = hold
    const held = new Held(hold)
    this.#held[kind] = withItem(this.#held[kind], held)
    if (kind === 'awaited') this.#demands += 1
    if (kind === 'call') this.#calls += 1
    this.#pulse.beat()
    return () => {
      if (held.isReleased) return
      held.isReleased = true
      this.#held[kind] = withoutItem(this.#held[kind], held)
      this.#pulse.beat()
    }
  }

  external(external: External): ReleaseHold {
    this.#externals.add(external)
    this.#pulse.beat()
    return () => {
      this.#externals.delete(external)
      this.#pulse.beat()
    }
  }

  /** A sleep without a run is that of test code, which demands that time passes. */
  sleep(sleep: Sleep): ReleaseHold {
    const { runId } = sleep
    this.#sleeps.add(sleep)
    if (runId === undefined) this.#demands += 1
    this.#pulse.beat()
    return () => {
      this.#sleeps.delete(sleep)
      this.#pulse.beat()
    }
  }

  /** Rejects every awaited call once. Returns whether there was any. */
  failAwaited(error: Error): boolean {
    const open = itemsOf(this.#held.awaited).filter(
      (held) => held.hold.fail !== undefined && !this.#failed.has(held),
    )
    for (const held of open) {
      this.#failed.add(held)
      held.hold.fail?.(error)
    }
    return open.length > 0
  }

  /** Rejects every awaited call, and every sleep of test code, once. Returns whether there was any. */
  failWaiting(error: Error): boolean {
    const sleeps = [...this.#sleeps].filter((sleep) => sleep.runId === undefined && !this.#failed.has(sleep))
    for (const sleep of sleeps) {
      this.#failed.add(sleep)
      sleep.fail(error)
    }
    return this.failAwaited(error) || sleeps.length > 0
  }

  #holds(kind: Hold['kind']): readonly WitnessedHold[] {
    return itemsOf(this.#held[kind]).map(({ hold }) => hold)
  }

  get #isTestAsleep(): boolean {
    for (const sleep of this.#sleeps) if (sleep.runId === undefined) return true
    return false
  }
}

/** A hold that was taken. The caller may take the same hold twice. */
class Held {
  readonly hold: WitnessedHold
  isReleased = false

  constructor(hold: WitnessedHold) {
    this.hold = hold
  }
}

/** The runs of the holds, each once. */
function runsOf(holds: Iterable<WitnessedHold>): readonly WaitingRun[] {
  const runs = new Map<string, WaitingRun>()
  for (const hold of holds) {
    const run = runs.has(hold.id) ? undefined : hold.run?.()
    if (run !== undefined) runs.set(hold.id, run)
  }
  return [...runs.values()]
}

/** A sleep on the clock. */
export interface Sleep {
  /** Whether the code may do something else: a signal that aborts it later. The run is asleep once it gave no sign of life for long. */
  readonly isSignal?: boolean
  /** The run whose code sleeps; none: test code. */
  readonly runId: string | undefined
  readonly fail: (error: Error) => void
}

/** Real I/O that was declared to the clock. */
export interface External {
  readonly label: string
  /** The first line of user code that declared it. */
  readonly origin?: (() => string) | undefined
}
