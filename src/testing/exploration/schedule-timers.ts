import type { CancelTimer, TimerAbout } from '../../contract/clock.ts'
import { TimerCallback } from '../../clock/timer-callback.ts'
import type { Names } from './names.ts'
import type { Process } from './process.ts'
import { InvariantViolation } from './violation.ts'

/** The first instant of every schedule: the start of the year 2000, UTC. */
export const FIRST_INSTANT: number = Date.UTC(2000, 0, 1)

/** A timer that has not fired. */
export interface ScheduledTimer {
  readonly at: number
  readonly label: string
  /** Upkeep; no caller waits for it. */
  readonly background: boolean
  readonly callback: TimerCallback
  /** The owner. The timers of a dead process are dropped. The test's own timers have none. */
  readonly process: Process | undefined
  /** Set by an engine, which must cancel it before it is closed. User code may leave timers. */
  readonly isEngines: boolean
}

/** Time in one schedule. It moves when a later timer fires. Timers fire one by one. */
export class ScheduleTimers {
  readonly #names: Names
  readonly #timers = new Set<ScheduledTimer>()
  #now = FIRST_INSTANT

  constructor(names: Names) {
    this.#names = names
  }

  get now(): number {
    return this.#now
  }

  get size(): number {
    return this.#timers.size
  }

  /** Whether a timer is left that a caller waits for. */
  get hasForeground(): boolean {
    for (const { background } of this.#timers) if (!background) return true
    return false
  }

  /** @param about The description of the timer. Ids in it are replaced by names. */
  set(
    fire: () => void,
    { at, label, background = false, process, isEngines = false }: TimerAbout & NewTimer,
  ): CancelTimer {
    const timer: ScheduledTimer = {
      // Instants are whole milliseconds, and a timer never fires early.
      at: Math.ceil(at),
      label: this.#names.label('time', this.#names.readable(label)),
      background,
      callback: new TimerCallback(fire),
      process,
      isEngines,
    }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** The due timers in order of creation. */
  due(): ScheduledTimer[] {
    const due: ScheduledTimer[] = []
    for (const timer of this.#timers) if (timer.at <= this.#now && mayFire(timer)) due.push(timer)
    return due
  }

  /** The timers of the earliest future instant, in order of creation. */
  upcoming(): ScheduledTimer[] {
    return this.#earliest((timer) => timer.at > this.#now)
  }

  /** The timers of the earliest future instant with a foreground timer, without upkeep. */
  upcomingForeground(): ScheduledTimer[] {
    return this.#earliest((timer) => timer.at > this.#now && !timer.background)
  }

  /** Fires a timer. Time moves to its instant; timers due on the way fire before it, in order. */
  fire(timer: ScheduledTimer): void {
    if (!this.#timers.has(timer)) {
      throw new InvariantViolation('timers never early, never twice', `"${timer.label}" fired twice`)
    }
    for (let passed = this.#before(timer); passed !== undefined; passed = this.#before(timer))
      this.#fire(passed)
    this.#fire(timer)
  }

  #before({ at }: ScheduledTimer): ScheduledTimer | undefined {
    return this.#earliest((timer) => timer.at < at && timer.at > this.#now)[0]
  }

  #fire(timer: ScheduledTimer): void {
    this.#timers.delete(timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.callback.run()
  }

  #earliest(isWanted: (timer: ScheduledTimer) => boolean): ScheduledTimer[] {
    let earliest = Infinity
    let found: ScheduledTimer[] = []
    for (const timer of this.#timers) {
      if (timer.at > earliest || !mayFire(timer) || !isWanted(timer)) continue
      if (timer.at < earliest) found = []
      earliest = timer.at
      found.push(timer)
    }
    return found
  }

  /** Drops the timers of a dead process. */
  drop(process: Process): void {
    for (const timer of this.#timers) if (timer.process === process) this.#timers.delete(timer)
  }

  /** The timers that the engine of this process has set and not canceled. */
  of(process: Process): ScheduledTimer[] {
    return [...this.#timers].filter((timer) => timer.isEngines && timer.process === process)
  }
}

/** The timers of a process that stands still fire when it goes on. */
function mayFire({ process }: ScheduledTimer): boolean {
  return process?.isPaused !== true
}

interface NewTimer {
  readonly at: number
  readonly process?: Process | undefined
  readonly isEngines?: boolean
}
