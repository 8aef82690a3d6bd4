import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import type { Pulse } from './pulse.ts'
import type { WaitingRun } from './wait-graph.ts'
import type { WitnessedHold } from './witnessed.ts'

/** What a test clock knows of who is busy, and of who waits for time to pass. */
export class HoldLedger {
  readonly #pulse: Pulse
  readonly #holds: Readonly<Record<Hold['kind'], Set<WitnessedHold>>> = {
    executing: new Set(),
    draining: new Set(),
    parked: new Set(),
    reading: new Set(),
    awaited: new Set(),
    call: new Set(),
  }
  readonly #failed = new WeakSet<WitnessedHold>()
  readonly #quiet = new WeakSet<WitnessedHold>()
  readonly #sleeps = new Set<Sleep>()
  readonly #externals = new Set<{ readonly label: string }>()
  #demands = 0

  constructor(pulse: Pulse) {
    this.#pulse = pulse
  }

  /** Real I/O is out: time stands still, and nobody loses patience. */
  get hasExternals(): boolean {
    return this.#externals.size > 0
  }

  /** A source of a stream is being read, and is not known to be quiet: it may be real I/O. */
  get isReading(): boolean {
    for (const hold of this.#holds.reading) if (!this.#quiet.has(hold)) return true
    return false
  }

  /** What is being read gave no sign of life for long: time need not stand still for it any more. */
  losePatience(): void {
    for (const hold of this.#holds.reading) this.#quiet.add(hold)
  }

  /** Test code, or code it stands in for, sleeps on this clock. */
  get isSleptOn(): boolean {
    return this.#sleeps.size > 0
  }

  /** Somebody outside a run waits for something to happen. */
  get isDemanded(): boolean {
    return this.#holds.awaited.size > 0 || this.#isTestAsleep
  }

  /** How often something was demanded so far. */
  get demands(): number {
    return this.#demands
  }

  get awaited(): readonly WitnessedHold[] {
    return [...this.#holds.awaited]
  }

  /** The runs that somebody awaits, or else all that wait, each with what it waits for; as far as that is known. */
  get graph(): readonly WaitingRun[] {
    const awaited = runsOf(this.#holds.awaited)
    return awaited.length > 0 ? awaited : runsOf(this.#holds.parked)
  }

  /** Everything that is going on, for people. */
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

  /** Who must come to a wait or an end before time may move. A run whose code sleeps on this clock is not busy. */
  get busy(): readonly WitnessedHold[] {
    const asleep = new Set(Array.from(this.#sleeps, (sleep) => sleep.runId))
    const executing = [...this.#holds.executing].filter((hold) => !asleep.has(hold.id))
    return [...executing, ...this.#holds.call]
  }

  hold(hold: WitnessedHold): ReleaseHold {
    const holds = this.#holds[hold.kind]
    // An object of its own: the caller's may be held twice.
    const held = { ...hold }
    holds.add(held)
    if (held.kind === 'awaited') this.#demands += 1
    this.#pulse.beat()
    return () => {
      if (holds.delete(held)) this.#pulse.beat()
    }
  }

  external(label: string): ReleaseHold {
    const external = { label }
    this.#externals.add(external)
    this.#pulse.beat()
    return () => {
      this.#externals.delete(external)
      this.#pulse.beat()
    }
  }

  /** @param runId The run whose code falls asleep; without one it is test code, which demands to wake up. */
  sleep(runId: string | undefined): ReleaseHold {
    const sleep: Sleep = { runId }
    this.#sleeps.add(sleep)
    if (runId === undefined) this.#demands += 1
    this.#pulse.beat()
    return () => {
      this.#sleeps.delete(sleep)
      this.#pulse.beat()
    }
  }

  /** Ends what is awaited with an error, each once; answers whether anything ended. */
  failAwaited(error: Error): boolean {
    const open = this.awaited.filter((hold) => hold.fail !== undefined && !this.#failed.has(hold))
    for (const hold of open) {
      this.#failed.add(hold)
      hold.fail?.(error)
    }
    return open.length > 0
  }

  get #isTestAsleep(): boolean {
    for (const sleep of this.#sleeps) if (sleep.runId === undefined) return true
    return false
  }
}

/** Each run once. */
function runsOf(holds: Iterable<WitnessedHold>): readonly WaitingRun[] {
  const runs = new Map<string, WaitingRun>()
  for (const hold of holds) {
    const run = runs.has(hold.id) ? undefined : hold.run?.()
    if (run !== undefined) runs.set(hold.id, run)
  }
  return [...runs.values()]
}

interface Sleep {
  readonly runId: string | undefined
}
