import type { CancelTimer, ReleaseHold } from '../../contract/clock.ts'
import type { KeyRecord } from '../../contract/records.ts'
import { unawaited } from '../../primitives/awaitable.ts'
import type { TaskSchedule } from '../../api/schedule.ts'
import type { Kernel } from '../kernel.ts'
import { Calendar } from './calendar.ts'

/** An instant that the timer comes to so late was missed: the process was held up, or its machine was suspended. */
const ON_TIME_MS = 60_000
/** A run is kept for this long after it was due, or was triggered, and its key with it: no process is further behind. */
const KEY_MS = 3_600_000
const RETRY_MS = 1_000
/** So many instants of one schedule are triggered late, at most. */
const MOST_OWED = 1_000
const UPCOMING = 10

/** Stores a run that a schedule has triggered, unless its key has a run already. */
export type StoreScheduled = (
  id: string,
  run: { readonly payload: unknown; readonly key: KeyRecord; readonly mark: number },
) => unknown

/** What the timers of an engine share. */
export interface TimerTools {
  readonly kernel: Kernel
  readonly store: StoreScheduled
}

/** What a timer triggers. */
export interface TimedSchedule extends Omit<TaskSchedule, 'nextAt'> {
  /** The scope of the keys of its runs. No key of a user is in it. */
  readonly scope: string
  /** Runs of older instants are of another schedule, which had the same id. */
  readonly createdAt: number
  /** Looks whether it is still in force. One that is not any more is stopped meanwhile. */
  look?(): Promise<void>
}

/** Instants after one and before another that the timer did not come to in time. */
interface Gap {
  readonly since: number
  readonly before: number
}

/**
 * A schedule in one engine: a timer that stands at the next instant. All engines of a storage do this. The key of a run is
 * its instant, so that storage decides which engine triggers it.
 *
 * An instant that the timer comes to in time is owed from then on. Storage is asked apart from that, and again while it is away: an
 * outage makes no instant late.
 */
export class ScheduleTimer {
  readonly schedule: TimedSchedule
  readonly #tools: TimerTools
  readonly #kernel: Kernel
  readonly #calendar: Calendar
  /** From here on it is in force as it is: what was due before was not missed. */
  #since = 0
  /** Instants up to here are triggered, owed, in a gap, or were missed. */
  #seen = 0
  /** Instants that are to be triggered, in order. */
  #owed: number[] = []
  /** More were owed than are triggered, which was told. */
  #isCut = false
  #gaps: Gap[] = []
  /** The last instant that there is a run for, as far as this engine knows. */
  #last: number | undefined
  #working: Promise<void> | undefined
  #retryAt = Infinity
  #isBegun = false
  /** The schedule and its mark were read just now. */
  #isFresh = false
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
   * Sets the timer, for good: what comes from now on is not missed.
   *
   * @param since The instant from which on it is in force.
   * @param mark The mark of its scope.
   * @throws RangeError for a pattern that has no instant.
   */
  start(since: number, mark: number | undefined): void {
    if (this.#isBegun) return
    const now = this.#kernel.host.now()
    this.#nextAfter(now)
    this.#last = this.#own(mark)
    this.#since = since
    this.#gaps = [{ since: Math.max(since, this.#last ?? 0), before: now + 1 }]
    this.#seen = now
    this.#isFresh = true
    this.#begin()
  }

  /** Triggers what is owed, and what was missed, if the task wants that. It may be called again after it has failed. */
  work(): Promise<void> {
    return (this.#working ??= this.#workOff().finally(() => {
      this.#working = undefined
    }))
  }

  /** Takes over from the timer of the schedule as it was before, or of one that is new since `since`. */
  follow(since: number, before?: ScheduleTimer): void {
    this.#since = this.#seen = since
    if (before?.schedule.createdAt === this.schedule.createdAt) this.#takeOver(before)
    if (!this.#kernel.host.isClosing) this.#begin()
  }

  #takeOver(before: ScheduleTimer): void {
    this.#last = before.#last
    if (before.#since === this.#since) {
      this.#seen = Math.max(before.#seen, this.#since)
      this.#gaps = [...before.#gaps]
    }
    // What has come since it is in force is not of the schedule as it was.
    if (before.schedule.taskId === this.schedule.taskId)
      this.#owed = before.#owed.filter((at) => at <= this.#seen)
    if (this.#isBehind) this.#retryAt = this.#kernel.host.now()
  }

  #begin(): void {
    const { host } = this.#kernel
    this.#isBegun = true
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

  #arm(): void {
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
    this.#cancel = host.clock.setTimer(Math.min(this.#nextAfter(this.#seen), this.#retryAt), fire, about)
  }

  /** Storage is away: what is owed stays owed. */
  #failed(error: unknown): void {
    const { host, events } = this.#kernel
    if (host.isClosing || this.#isStopped) return
    events.error(error)
    this.#retryAt = host.now() + RETRY_MS
    this.#arm()
  }

  async #fire(): Promise<void> {
    this.#see(this.#kernel.host.now())
    this.#retryAt = Infinity
    this.#arm()
    if (this.#isBehind && this.#working === undefined) await this.work()
  }

  /** Takes note of the instants that have come since the last look. */
  #see(now: number): void {
    const { catchUp } = this.schedule
    const since = this.#seen
    const onTimeFrom = now - ON_TIME_MS
    const isLate = this.#nextAfter(since) < onTimeFrom
    const onTime = this.#between(isLate ? onTimeFrom - 1 : since, now)
    const isAsked = catchUp === 'all' || (catchUp === 'last' && onTime.length === 0)
    if (isLate && isAsked) this.#gaps.push({ since, before: onTimeFrom })
    this.#seen = Math.max(since, now)
    this.#owe(onTime)
  }

  get #isBehind(): boolean {
    return this.#owed.length > 0 || this.#gaps.length > 0
  }

  /** Adds instants to those that are owed: so many at most. */
  #owe(instants: readonly number[]): void {
    this.#owed = [...this.#owed, ...instants].sort((one, other) => one - other)
    const surplus = this.#owed.splice(0, Math.max(0, this.#owed.length - MOST_OWED))
    if (surplus.length === 0 || this.#isCut) return
    this.#isCut = true
    this.#kernel.events.error(
      new Error(
        `Cannot catch up on all instants of the schedule of task "${this.schedule.taskId}": the last ${MOST_OWED} instants have runs, older ones have none`,
      ),
    )
  }

  async #workOff(): Promise<void> {
    const isFresh = this.#isFresh
    this.#isFresh = false
    if (!isFresh) await this.schedule.look?.()
    await this.#fillGaps(isFresh)
    await this.#triggerOwed()
  }

  /** Owes what was missed and is to be triggered all the same. */
  async #fillGaps(isFresh: boolean): Promise<void> {
    if (this.#gaps.length === 0) return
    // Another engine may have been there.
    if (!isFresh) this.#last = await this.#readMark()
    for (let gap = this.#gaps[0]; gap !== undefined && !this.#isOver; gap = this.#gaps[0]) {
      const missed = await this.#missed({ ...gap, since: Math.max(gap.since, this.#last ?? 0) })
      this.#gaps.shift()
      this.#owe(missed)
    }
  }

  get #isOver(): boolean {
    return this.#kernel.host.isClosing || this.#isStopped
  }

  /** The instants after one and up to another. */
  #between(from: number, to: number): number[] {
    const instants: number[] = []
    for (let at = this.#nextAfter(from); at <= to; at = this.#nextAfter(at)) instants.push(at)
    return instants
  }

  /** The missed instants that are to be triggered all the same: one too many, if they are too many. */
  async #missed({ since, before }: Gap): Promise<number[]> {
    const { catchUp } = this.schedule
    const most = { none: 0, last: 1, all: MOST_OWED + 1 }[catchUp]
    const missed: number[] = []
    for (
      let at = this.#calendar.before(before);
      at !== undefined && at > since && missed.length < most;
      at = this.#calendar.before(at)
    ) {
      missed.push(at)
      await this.#kernel.breath.next()
    }
    return missed
  }

  async #triggerOwed(): Promise<void> {
    for (let at = this.#owed[0]; at !== undefined && !this.#isOver; at = this.#owed[0]) {
      await this.#trigger(at)
      // It may have been one too many meanwhile.
      if (this.#owed[0] === at) this.#owed.shift()
      await this.#kernel.breath.next()
    }
    if (this.#owed.length === 0) this.#isCut = false
  }

  async #trigger(at: number): Promise<void> {
    const { id, type, taskId, timezone, externalId, scope } = this.schedule
    this.#last ??= await this.#readMark()
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
    const expiresAt = Math.max(this.#kernel.host.now(), at) + KEY_MS
    await this.#tools.store(taskId, { payload, key: { scope, value: String(at), expiresAt }, mark: at })
    this.#last = at
  }

  async #readMark(): Promise<number | undefined> {
    const [mark] = await this.#kernel.host.storage.runs.marks([this.schedule.scope])
    return this.#own(mark)
  }

  /** The instant of the last run of the schedule, and not that of one that had its id before. */
  #own(mark: number | undefined): number | undefined {
    return mark !== undefined && mark >= this.schedule.createdAt ? mark : undefined
  }

  get #label(): string {
    return `schedule of task ${this.schedule.taskId}`
  }
}

function toText(at: number): string {
  return new Date(at).toISOString()
}
