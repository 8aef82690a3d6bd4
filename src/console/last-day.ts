import type { RunRecord, RunStatus } from '../contract/records.ts'
import { RUN_STATUSES } from '../contract/run-states.ts'
import type { StatusCount } from '../contract/storage.ts'
import type { Engine } from '../core/engine.ts'
import type { Inside } from '../core/inside.ts'
import { durationsOf, FAILURES } from './outcome.ts'

const HOUR_MS = 3_600_000
const HOURS = 24
/** So many runs of an hour and a status are counted: of 24 hours that is what a page has time for. */
const MOST_OF_AN_HOUR = 2_000
/** So many of the newest runs are looked at for what is said of all. */
const SAMPLE = 50
/** So long the same figures are shown, and those of hours that are over. */
const KEPT_MS = 2_000
const PAST_KEPT_MS = 60_000

/** The runs that were made in an hour. */
export interface Hour {
  readonly from: number
  readonly made: StatusCount
  readonly failed: StatusCount
}

/** What has happened since this time of yesterday. */
export interface DayFigures {
  /** The oldest first; the last one has just begun. */
  readonly hours: readonly Hour[]
  /** The task of more than half of the newest runs that failed. */
  readonly oftenFailed: string | undefined
  /** Milliseconds that the newest runs took that completed, the shortest first. */
  readonly took: readonly number[]
}

/** The last 24 hours of the runs of a storage, as it has kept them. */
export class LastDay {
  readonly #engine: Engine
  readonly #inside: Inside
  readonly #figures = new Kept<DayFigures>(KEPT_MS)
  readonly #past = new Kept<readonly Hour[]>(PAST_KEPT_MS)

  constructor(engine: Engine, inside: Inside) {
    this.#engine = engine
    this.#inside = inside
  }

  /** The figures of this moment. Absent: the storage does not count. */
  figures(now: number): Promise<DayFigures> | undefined {
    if (this.#inside.host.storage.counts === undefined) return undefined
    return this.#figures.get(now, () => this.#read(now))
  }

  async #read(now: number): Promise<DayFigures> {
    const thisHour = now - (now % HOUR_MS)
    const since = thisHour - (HOURS - 1) * HOUR_MS
    const past = await this.#past.get(now, () => this.#hours(since, thisHour))
    // An hour may have passed since they were counted.
    const hours = [...past, ...(await this.#hours((past.at(-1)?.from ?? since) + HOUR_MS, now + 1))].slice(
      -HOURS,
    )
    const [failed, completed] = await Promise.all([
      this.#newest(FAILURES, since),
      this.#newest(['COMPLETED'], since),
    ])
    return { hours, oftenFailed: mostOf(failed), took: durationsOf(completed) }
  }

  async #hours(from: number, until: number): Promise<readonly Hour[]> {
    const hours: Hour[] = []
    const turns = this.#inside.turns(1)
    for (let at = from; at < until; at += HOUR_MS) {
      await turns.next()
      hours.push(await this.#hour(at))
    }
    return hours
  }

  async #hour(from: number): Promise<Hour> {
    const counts = await this.#engine.runs.counts({
      from: new Date(from),
      // The last instant of it: both ends belong to a list.
      to: new Date(from + HOUR_MS - 1),
      atMost: MOST_OF_AN_HOUR,
    })
    const sumOf = (statuses: readonly RunStatus[]): StatusCount => ({
      count: statuses.reduce((sum, status) => sum + counts[status].count, 0),
      isMore: statuses.some((status) => counts[status].isMore),
    })
    return { from, made: sumOf(RUN_STATUSES), failed: sumOf(FAILURES) }
  }

  async #newest(status: readonly RunStatus[], from: number): Promise<readonly RunRecord[]> {
    const { runs } = this.#inside.host.storage
    const page = await this.#inside.read(() => runs.list({ status, from }, { limit: SAMPLE }))
    return page.records
  }
}

function mostOf(records: readonly RunRecord[]): string | undefined {
  const tasks = records.map(({ taskId }) => taskId).sort()
  // Of more than half of a list the middle is one.
  const middle = tasks[Math.floor(tasks.length / 2)]
  return tasks.filter((each) => each === middle).length * 2 > tasks.length ? middle : undefined
}

/** An answer that serves all who ask for it within a time. A failure is asked for again. */
class Kept<Value> {
  readonly #forMs: number
  #value: Promise<Value> | undefined
  #until = -Infinity

  constructor(forMs: number) {
    this.#forMs = forMs
  }

  get(now: number, ask: () => Promise<Value>): Promise<Value> {
    if (this.#value !== undefined && now < this.#until) return this.#value
    const value = ask()
    this.#value = value
    this.#until = now + this.#forMs
    value.catch(() => (this.#until = -Infinity))
    return value
  }
}
