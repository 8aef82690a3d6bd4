import type { CancelTimer, ReleaseHold } from '../../contract/clock.ts'
import type { KeyRecord } from '../../contract/records.ts'
import { unawaited } from '../../primitives/awaitable.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { TaskSchedule } from '../../api/schedule.ts'
import type { Host } from '../host/host.ts'
import { Calendar } from './calendar.ts'
import type { LastRuns } from './last-runs.ts'

/** An instant that is seen so late was missed: the process was held up, or its machine was suspended. */
const ON_TIME_MS = 60_000
/** A key holds for this long after its run was due, or was triggered: no process is further behind. */
const KEY_MS = 3_600_000
const RETRY_MS = 1_000
const MOST_CAUGHT_UP = 1_000
const UPCOMING = 10

/** The parts of an engine that a schedule uses. */
export interface ScheduleKernel {
  readonly host: Host
  readonly events: { error(error: unknown): void }
  readonly retention: { readonly maxAgeMs: number }
}

/** Stores a run that a schedule has triggered, unless its key has a run already. */
export type StoreScheduled = (
  id: string,
  run: { readonly payload: unknown; readonly key: KeyRecord },
) => unknown

/** What the timers of an engine share. */
export interface TimerTools {
  readonly kernel: ScheduleKernel
  readonly store: StoreScheduled
  readonly lastRuns: LastRuns
}

/** What a timer triggers. */
export interface TimedSchedule extends Omit<TaskSchedule, 'nextAt'> {
  /** The scope of the keys of its runs. No key of a user is in it. */
  readonly scope: string
  /** Runs of older instants are of another schedule, which had the same id. */
  readonly createdAt: number
  /** The instant from which on it is in force: what was due before was not missed. */
  since(): Awaitable<number>
  /** Looks whether it is still in force. One that is not any more is stopped meanwhile. */
  look?(): Promise<void>
}

/**
 * A schedule in one engine: a timer that stands at the next instant. All engines of a storage do this. The key of a run is
 * its instant, so that storage decides which engine triggers it.
 */
export class ScheduleTimer {
  readonly schedule: TimedSchedule
  readonly #tools: TimerTools
  readonly #kernel: ScheduleKernel
  readonly #calendar: Calendar
  /** Instants up to here are triggered, owed, or were missed. */
  #seen = 0
  /** Instants that are to be triggered, in order. */
  #owed: number[] = []
  /** The last instant that there is a run for, as far as this engine knows. */
  #last: number | undefined
  #cancel: CancelTimer | undefined
  #release: ReleaseHold | undefined
  #isStopped = false

  constructor(tools: TimerTools, schedule: TimedSchedule) {
    this.#tools = tools
    this.#kernel = tools.kernel
    this.schedule = schedule
    this.#calendar = new Calendar(schedule)
  }

  /** The schedule as users see it. */
  get view(): TaskSchedule {
    const { id, type, taskId, cron, timezone, catchUp, isActive, externalId, deduplicationKey } =
      this.schedule
    return {
      id,
      type,
      taskId,
      cron,
      timezone,
      catchUp,
      isActive,
      ...(externalId === undefined ? {} : { externalId }),
      ...(deduplicationKey === undefined ? {} : { deduplicationKey }),
      ...(isActive ? { nextAt: new Date(this.#nextAfter(this.#kernel.host.now())) } : {}),
    }
  }

  /**
   * Triggers what was missed, if the task wants that, and sets the timer. It may be called again after it has failed.
   *
   * @throws RangeError for a pattern that has no instant.
   */
  async start(): Promise<void> {
    const { host, retention } = this.#kernel
    const now = host.now()
    this.#nextAfter(now)
    const inForce = await this.schedule.since()
    this.#last = await this.#lastRun()
    // A run that is no longer kept may have been there: instants that old are not triggered again.
    const since = Math.max(inForce, this.#last ?? now - retention.maxAgeMs)
    this.#owed = await this.#missed({ since, before: now + 1 })
    this.#seen = now
    await this.#triggerOwed()
    this.#begin()
  }

  /** Takes over from the timer of the schedule as it was before, or of one that is new since `from`. */
  follow(from: number, before?: ScheduleTimer): void {
    const { host } = this.#kernel
    // What the other one still owes comes first.
    this.#seen = Math.max(from, before === undefined ? 0 : (before.#owed[0] ?? before.#seen + 1) - 1)
    if (before !== undefined) this.#last = before.#last
    if (!host.isClosing) this.#begin()
  }

  #begin(): void {
    const { host } = this.#kernel
    this.#arm()
    if (!host.isClosing && !this.#isStopped)
      this.#release ??= host.clock.hold?.({ kind: 'scheduled', id: this.schedule.id })
  }

  /** For good. */
  stop(): void {
    this.#isStopped = true
    this.#cancel?.()
    this.#release?.()
    this.#cancel = this.#release = undefined
  }

  #nextAfter(at: number): number {
    const next = this.#calendar.next(at)
    if (next !== undefined) return next
    throw new RangeError(
      `Cannot use cron "${this.schedule.cron}" of the schedule of task "${this.schedule.taskId}": it has no instant`,
    )
  }

  #arm(at: number = this.#nextAfter(this.#seen)): void {
    const { host } = this.#kernel
    this.#cancel?.()
    this.#cancel = undefined
    if (host.isClosing || this.#isStopped) return
    const fire = (): void =>
      unawaited(
        () => this.#fire(),
        (error) => this.#failed(error),
      )
    const about = { label: this.#label, background: true }
    this.#cancel = host.clock.setTimer(at, fire, about)
  }

  /** Storage is away: what is owed stays owed. */
  #failed(error: unknown): void {
    const { host, events } = this.#kernel
    if (host.isClosing || this.#isStopped) return
    events.error(error)
    this.#arm(host.now() + RETRY_MS)
  }

  async #fire(): Promise<void> {
    const { host } = this.#kernel
    await this.schedule.look?.()
    if (host.isClosing || this.#isStopped) return
    if (this.#owed.length === 0) {
      const now = host.now()
      this.#owed = await this.#due(now)
      this.#seen = now
    }
    await this.#triggerOwed()
    this.#arm()
  }

  /** The instants that have come since the last look. */
  async #due(now: number): Promise<number[]> {
    const onTimeFrom = now - ON_TIME_MS
    if (this.#nextAfter(this.#seen) >= onTimeFrom) return this.#between(this.#seen, now)
    const onTime = this.#between(onTimeFrom - 1, now)
    if (onTime.length > 0 && this.schedule.catchUp === 'last') return onTime
    // Another engine may have been there.
    this.#last = await this.#lastRun()
    const since = Math.max(this.#seen, this.#last ?? 0)
    return [...(await this.#missed({ since, before: onTimeFrom })), ...onTime]
  }

  /** The instants after one and up to another. */
  #between(from: number, to: number): number[] {
    const instants: number[] = []
    for (let at = this.#nextAfter(from); at <= to; at = this.#nextAfter(at)) instants.push(at)
    return instants
  }

  /** The missed instants that are to be triggered all the same. */
  async #missed({ since, before }: { readonly since: number; readonly before: number }): Promise<number[]> {
    const { catchUp } = this.schedule
    if (catchUp === 'none') return []
    const missed: number[] = []
    for (
      let at = this.#calendar.before(before);
      at !== undefined && at > since;
      at = this.#calendar.before(at)
    ) {
      if (missed.length === MOST_CAUGHT_UP) {
        this.#kernel.events.error(
          new Error(
            `Cannot catch up on all that the schedule of task "${this.schedule.taskId}" has missed: the last ${MOST_CAUGHT_UP} instants have runs, older ones have none`,
          ),
        )
        break
      }
      missed.push(at)
      if (catchUp === 'last') break
      await this.#turnIfDue()
    }
    return missed.reverse()
  }

  async #triggerOwed(): Promise<void> {
    const { host } = this.#kernel
    for (
      let at = this.#owed[0];
      at !== undefined && !host.isClosing && !this.#isStopped;
      at = this.#owed[0]
    ) {
      await this.#trigger(at)
      this.#owed.shift()
      await this.#turnIfDue()
    }
  }

  async #trigger(at: number): Promise<void> {
    const { id, type, taskId, timezone, externalId, scope } = this.schedule
    const upcoming = this.#calendar.after(at, UPCOMING)
    const payload = {
      type,
      scheduleId: id,
      timestamp: toText(at),
      ...(this.#last === undefined || this.#last >= at ? {} : { lastTimestamp: toText(this.#last) }),
      timezone,
      ...(externalId === undefined ? {} : { externalId }),
      upcoming: upcoming.map(toText),
    }
    // The last run is kept until there is one after it: it tells an engine that opens what was missed.
    const expiresAt = Math.max(this.#kernel.host.now(), at, upcoming[1] ?? 0) + KEY_MS
    await this.#tools.store(taskId, { payload, key: { scope, value: String(at), expiresAt } })
    this.#last = at
  }

  /** The instant of the newest run of the schedule. */
  async #lastRun(): Promise<number | undefined> {
    const { taskId, scope, createdAt } = this.schedule
    const newest = await this.#tools.lastRuns.newest(taskId, scope)
    return newest !== undefined && newest >= createdAt ? newest : undefined
  }

  get #label(): string {
    return `schedule of task ${this.schedule.taskId}`
  }

  async #turnIfDue(): Promise<void> {
    const { host } = this.#kernel
    if (host.isTurnDue) await new Promise<void>((resolve) => host.afterTurn(this.#label, resolve))
  }
}

function toText(at: number): string {
  return new Date(at).toISOString()
}
