import type { CancelTimer, ReleaseHold } from '../../contract/clock.ts'
import type { KeyRecord } from '../../contract/records.ts'
import { unawaited } from '../../primitives/awaitable.ts'
import type { TaskSchedule } from '../../api/schedule.ts'
import type { ScheduledDefinition } from '../attempt/task-definition.ts'
import type { ScheduleDefinition } from '../attempt/schedule-definition.ts'
import type { Host } from '../host/host.ts'
import { Calendar } from './calendar.ts'

/** An instant that is seen so late was missed: the process was held up, or its machine was suspended. */
const ON_TIME_MS = 60_000
/** A key holds for this long after its run was due, or was triggered: no process is further behind. */
const KEY_MS = 3_600_000
const RETRY_MS = 1_000
const MOST_CAUGHT_UP = 1_000
const UPCOMING = 10
const PAGE = 100
const MOST_PAGES = 10

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

/**
 * The schedule of one task in one engine: a timer that stands at the next instant. All engines of a storage do this. The
 * key of a run is its instant, so that storage decides which engine triggers it.
 */
export class ScheduleTimer {
  readonly id: string
  readonly taskId: string
  readonly #kernel: ScheduleKernel
  readonly #definition: ScheduleDefinition
  readonly #store: StoreScheduled
  readonly #calendar: Calendar
  /** No key of a user is in this scope. */
  readonly #scope: string
  /** Instants up to here are triggered, owed, or were missed. */
  #seen = 0
  /** Instants that are to be triggered, in order. */
  #owed: number[] = []
  /** The last instant that there is a run for, as far as this engine knows. */
  #last: number | undefined
  #cancel: CancelTimer | undefined
  #release: ReleaseHold | undefined

  constructor(kernel: ScheduleKernel, { id: taskId, schedule }: ScheduledDefinition, store: StoreScheduled) {
    this.id = schedule.id
    this.taskId = taskId
    this.#kernel = kernel
    this.#definition = schedule
    this.#store = store
    this.#calendar = new Calendar(schedule)
    this.#scope = `schedules/${taskId}`
  }

  /** The schedule as users see it. */
  get view(): TaskSchedule {
    const { id, taskId } = this
    const { cron, timezone, catchUp } = this.#definition
    return { id, taskId, cron, timezone, catchUp, nextAt: new Date(this.#nextAfter(this.#kernel.host.now())) }
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
    const { cron, timezone } = this.#definition
    const name = `schedule ${this.taskId} ${cron} ${timezone}`
    // What was due before the schedule was there was not missed.
    const firstSeen = Number(await host.storage.settings.getOrInsert(name, String(now)))
    this.#last = await this.#lastRun()
    // A run that is no longer kept may have been there: instants that old are not triggered again.
    const since = Math.max(firstSeen, this.#last ?? now - retention.maxAgeMs)
    this.#owed = await this.#missed({ since, before: now + 1 })
    this.#seen = now
    await this.#triggerOwed()
    this.#arm()
    if (!host.isClosing) this.#release ??= host.clock.hold?.({ kind: 'scheduled', id: this.id })
  }

  stop(): void {
    this.#cancel?.()
    this.#release?.()
    this.#cancel = this.#release = undefined
  }

  #nextAfter(at: number): number {
    const next = this.#calendar.next(at)
    if (next !== undefined) return next
    throw new RangeError(
      `Cannot use cron "${this.#definition.cron}" of the schedule of task "${this.taskId}": it has no instant`,
    )
  }

  #arm(at: number = this.#nextAfter(this.#seen)): void {
    const { host } = this.#kernel
    this.#cancel?.()
    this.#cancel = undefined
    if (host.isClosing) return
    const fire = (): void =>
      unawaited(
        () => this.#fire(),
        (error) => this.#failed(error),
      )
    const about = { label: `schedule of task ${this.taskId}`, background: true }
    this.#cancel = host.clock.setTimer(at, fire, about)
  }

  /** Storage is away: what is owed stays owed. */
  #failed(error: unknown): void {
    const { host, events } = this.#kernel
    if (host.isClosing) return
    events.error(error)
    this.#arm(host.now() + RETRY_MS)
  }

  async #fire(): Promise<void> {
    const { host } = this.#kernel
    if (host.isClosing) return
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
    if (onTime.length > 0 && this.#definition.catchUp === 'last') return onTime
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
    const { catchUp } = this.#definition
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
            `Cannot catch up on all that the schedule of task "${this.taskId}" has missed: the last ${MOST_CAUGHT_UP} instants have runs, older ones have none`,
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
    for (let at = this.#owed[0]; at !== undefined && !host.isClosing; at = this.#owed[0]) {
      await this.#trigger(at)
      this.#owed.shift()
      await this.#turnIfDue()
    }
  }

  async #trigger(at: number): Promise<void> {
    const upcoming = this.#calendar.after(at, UPCOMING)
    const payload = {
      type: 'DECLARATIVE',
      scheduleId: this.id,
      timestamp: toText(at),
      ...(this.#last === undefined || this.#last >= at ? {} : { lastTimestamp: toText(this.#last) }),
      timezone: this.#definition.timezone,
      upcoming: upcoming.map(toText),
    }
    // The last run is kept until there is one after it: it tells an engine that opens what was missed.
    const expiresAt = Math.max(this.#kernel.host.now(), at, upcoming[1] ?? 0) + KEY_MS
    await this.#store(this.taskId, { payload, key: { scope: this.#scope, value: String(at), expiresAt } })
    this.#last = at
  }

  /** The instant of the newest run of the schedule. Other runs of the task are passed over, a thousand at most. */
  async #lastRun(): Promise<number | undefined> {
    const { storage } = this.#kernel.host
    let after: string | undefined
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const { records, next } = await storage.runs.list({ taskIds: [this.taskId] }, { limit: PAGE, after })
      const newest = records.find(({ key }) => key?.scope === this.#scope)
      if (newest !== undefined || next === undefined) return newest && Number(newest.key?.value)
      after = next
    }
    return undefined
  }

  async #turnIfDue(): Promise<void> {
    const { host } = this.#kernel
    if (host.isTurnDue)
      await new Promise<void>((resolve) => host.afterTurn(`schedule of task ${this.taskId}`, resolve))
  }
}

function toText(at: number): string {
  return new Date(at).toISOString()
}
