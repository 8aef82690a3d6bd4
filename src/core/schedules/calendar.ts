import { Cron } from 'croner'

/** The instants of a cron pattern in a time zone, in epoch milliseconds. It reads no clock. */
export class Calendar {
  readonly #cron: Cron
  /** Consecutive instants that are known, the first one after `#from`. */
  #known: number[] = []
  #from = 0

  constructor({ cron, timezone }: { readonly cron: string; readonly timezone: string }) {
    // Without a function it computes, and starts nothing. A step without a range, as in "5/15", goes on to the end.
    this.#cron = new Cron(cron, { timezone, paused: true, mode: '5-or-6-parts', sloppyRanges: true })
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
      const next = this.#cron.nextRun(new Date(this.#known.at(-1) ?? at))
      if (next === null) break
      this.#known.push(next.getTime())
    }
    return this.#known.slice(0, count)
  }

  /** The last instant before `at`. */
  before(at: number): number | undefined {
    return this.#cron.previousRuns(1, new Date(at))[0]?.getTime()
  }
}
