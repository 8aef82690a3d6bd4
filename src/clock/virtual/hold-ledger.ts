import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import type { Pulse } from './pulse.ts'
import type { WaitingRun } from './wait-graph.ts'
import type { WitnessedHold } from './witnessed.ts'

/** The test clock's record of busy code, and of callers that wait for time to pass. */
export class HoldLedger {
  readonly #pulse: Pulse
  readonly #holds: Readonly<Record<Hold['kind'], Set<WitnessedHold>>> = {
    executing: new Set(),
    draining: new Set(),
    parked: new Set(),
    reading: new Set(),
    awaited: new Set(),
    watching: new Set(),
    call: new Set(),
    scheduled: new Set(),
  }
  readonly #failed = new WeakSet<WitnessedHold | Sleep>()
  readonly #quiet = new WeakSet<WitnessedHold | Sleep>()
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
    for (const hold of this.#holds.reading) if (!this.#quiet.has(hold)) return true
    return false
  }

  /** Treats the sources being read as quiet, because they gave no sign of life for long. Time may move again. */
  losePatience(): void {
    for (const hold of this.#holds.reading) this.#quiet.add(hold)
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
    return this.#holds.awaited.size > 0 || this.#isTestAsleep
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
    return [...this.#holds.awaited]
  }

  /** The awaited runs, or else all waiting runs, each with its waits, as far as they are known. */
  get graph(): readonly WaitingRun[] {
    const awaited = runsOf(this.#holds.awaited)
    return awaited.length > 0 ? awaited : runsOf(this.#holds.parked)
  }

  /** A run that executes, with all its waits, as far as it is known. */
  executing(runId: string): WaitingRun | undefined {
    for (const hold of this.#holds.executing) if (hold.id === runId) return hold.run?.()
    return undefined
  }

  /** All current activities, for reports. */
  get occupations(): readonly string[] {
    return [
      ...Object.values(this.#holds).flatMap((holds) => Array.from(holds, ({ kind, id }) => `${kind} ${id}`)),
      ...Array.from(this.#externals, ({ label }) => `external ${label}`),
      ...Array.from(this.#sleeps, ({ runId = 'test' }) => `asleep ${runId}`),
    ]
  }

  get isBusy(): boolean {
    const { call, executing } = this.#holds
    return call.size > 0 || (executing.size > 0 && this.busy.length > 0)
  }

  /**
   * The holds that must end in a wait or an end before time may move. A run whose code sleeps on this clock, or waits for
   * another run, is not busy.
   */
  get busy(): readonly WitnessedHold[] {
    const asleep = new Set<string | undefined>()
    for (const sleep of this.#sleeps)
      if (sleep.isSignal !== true || this.#quiet.has(sleep)) asleep.add(sleep.runId)
    for (const { id } of this.#holds.watching) asleep.add(id)
    const executing = [...this.#holds.executing].filter((hold) => !asleep.has(hold.id))
    return [...executing, ...this.#holds.call]
  }

  hold(hold: WitnessedHold): ReleaseHold {
    const holds = this.#holds[hold.kind]
    // A separate object, because the caller may take the same hold twice.
    const held = { ...hold }
    holds.add(held)
    if (held.kind === 'awaited') this.#demands += 1
    if (held.kind === 'call') this.#calls += 1
    this.#pulse.beat()
    return () => {
      if (holds.delete(held)) this.#pulse.beat()
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
    const open = this.awaited.filter((hold) => hold.fail !== undefined && !this.#failed.has(hold))
    for (const hold of open) {
      this.#failed.add(hold)
      hold.fail?.(error)
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

  get #isTestAsleep(): boolean {
    for (const sleep of this.#sleeps) if (sleep.runId === undefined) return true
    return false
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
