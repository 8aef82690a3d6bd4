import { Cron } from 'croner'
import { offsetAt } from '../../primitives/time-zones.ts'

const DAY_MS = 86_400_000
/** No time zone has changed its clocks twice in less than a week, or by more than a day. */
const LOOK_MS = 5 * DAY_MS
/** All changes of one time zone together move its clocks by less: Apia's were moved by 25 hours. */
const SHIFTS_MS = 2 * DAY_MS

/** A time without a change of the clocks: `from` is its first instant, `to` the first one after it. */
interface Span {
  readonly from: number
  readonly to: number
  readonly offset: number
  /** The first of the times on the clocks that belong to it. */
  readonly opens: number
}

/**
 * The instants of a cron pattern in a time zone, in epoch milliseconds. It reads no clock.
 *
 * The pattern is compared with what the clocks show, as if they were never changed. Each time that fits is then found in the
 * time zone. A time that the clocks skip belongs to the span after the gap, and is due at its begin. A time that comes
 * twice belongs to the first span, those of an interval to both.
 */
export class Calendar {
  readonly #times: Cron
  readonly #timezone: string
  readonly #isInterval: boolean
  /** As a rule that of the next question too. */
  #span: Span = { from: 0, to: 0, offset: 0, opens: 0 }
  /** Consecutive instants that are known, the first one after `#from`. */
  #known: number[] = []
  #from = 0

  constructor({ cron, timezone }: { readonly cron: string; readonly timezone: string }) {
    // Without a function it computes, and starts nothing. A step without a range, as in "5/15", goes on to the end.
    this.#times = new Cron(cron, { utcOffset: 0, paused: true, mode: '5-or-6-parts', sloppyRanges: true })
    this.#timezone = timezone
    this.#isInterval = cron === '@hourly' || cron.split(/\s+/).slice(0, -3).join().includes('*')
  }

  /** The first instant after `at`; none for a pattern such as the 30th of February. */
  next(at: number): number | undefined {
    return this.after(at, 1)[0]
  }

  /** The first instants after `at`. As a rule the last ones asked for are still known, and one is computed. */
  after(at: number, count: number): readonly number[] {
    const last = this.#known.at(-1)
    if (last === undefined || at < this.#from || at >= last) this.#known = []
    this.#from = at
    this.#known = this.#known.filter((instant) => instant > at)
    while (this.#known.length < count) {
      const next = this.#first((this.#known.at(-1) ?? at) + 1)
      if (next === undefined) break
      this.#known.push(next)
    }
    return this.#known.slice(0, count)
  }

  /** The last instant before `at`. */
  before(at: number): number | undefined {
    for (let end = at; ;) {
      const { from, offset, opens } = this.#spanAt(end - 1)
      const time = this.#times.previousRuns(1, new Date(end + offset))[0]?.getTime()
      if (time === undefined) return undefined
      if (time >= opens) return Math.max(from, time - offset)
      end = end - from < DAY_MS ? from : Math.min(from, time - offset + SHIFTS_MS + 1)
    }
  }

  /** The first instant that is not before `at`. */
  #first(at: number): number | undefined {
    for (let begin = at; ;) {
      const { from, to, offset, opens } = this.#spanAt(begin)
      const earliest = begin === from ? opens : Math.max(opens, begin + offset)
      const time = this.#times.nextRun(new Date(earliest - 1))?.getTime()
      if (time === undefined) return undefined
      const instant = Math.max(from, time - offset)
      if (instant < to) return instant
      // Nothing fits until then: months are passed over at once. Times that were shown before may come again for a day.
      begin = to - begin < DAY_MS ? to : Math.max(to, time - offset - SHIFTS_MS)
    }
  }

  #spanAt(at: number): Span {
    if (at < this.#span.from || at >= this.#span.to) this.#span = this.#findSpan(at)
    return this.#span
  }

  /** The part of some days around `at`. Times come twice for up to a day after a change. */
  #findSpan(at: number): Span {
    const from = Math.floor(at / LOOK_MS) * LOOK_MS
    const to = from + LOOK_MS
    let last = from - DAY_MS - 1
    let change = to - 1
    const before = offsetAt(this.#timezone, last)
    const after = offsetAt(this.#timezone, change)
    if (before === after) return { from, to, offset: after, opens: from + after }
    while (change - last > 1) {
      const middle = Math.floor((last + change) / 2)
      if (offsetAt(this.#timezone, middle) === before) last = middle
      else change = middle
    }
    if (at < change) return { from, to: change, offset: before, opens: from + before }
    return { from: change, to, offset: after, opens: change + (this.#isInterval ? after : before) }
  }
}
