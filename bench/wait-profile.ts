import { pauseReal } from '../src/storage/real-timer.ts'
import type { BenchPool } from './postgres-bed.ts'

const EVERY_MS = 50

/** One thing that statements under way were found at: how many of them at a time, on average. */
export interface WaitShare {
  /** `type: event` of `pg_stat_activity`, or `no wait`: they had a CPU or waited for one. */
  readonly what: string
  readonly average: number
}

/** Samples what the statements of a server are waiting for. */
export class WaitProfile {
  readonly #pool: BenchPool
  readonly #found = new Map<string, number>()
  #looks = 0
  #isOver = false
  #looking: Promise<void> | undefined

  constructor(pool: BenchPool) {
    this.#pool = pool
  }

  /** Samples until `stop`. Samples of several courses add up. */
  start(): void {
    this.#isOver = false
    this.#looking = this.#lookOn()
  }

  async stop(): Promise<void> {
    this.#isOver = true
    await this.#looking
  }

  /** The most frequent first. */
  get shares(): readonly WaitShare[] {
    return [...this.#found]
      .map(([what, times]) => ({ what, average: times / Math.max(1, this.#looks) }))
      .sort((one, other) => other.average - one.average)
  }

  async #lookOn(): Promise<void> {
    while (!this.#isOver) {
      const { rows } = await this.#pool.query(
        `SELECT coalesce(wait_event_type || ': ' || wait_event, 'no wait') AS what, count(*)::int AS times
         FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() GROUP BY 1`,
      )
      this.#looks += 1
      for (const { what, times } of rows as readonly { readonly what: string; readonly times: number }[])
        this.#found.set(what, (this.#found.get(what) ?? 0) + times)
      await pauseReal(EVERY_MS)
    }
  }
}
