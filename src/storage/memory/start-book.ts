import { nextStartAt, withStart } from '../../contract/queue-rates.ts'
import type { QueueRate, QueueStart } from '../../contract/storage.ts'

/** So many lanes are kept before those whose starts are over are looked for: concurrency keys come without end. */
const LANES_KEPT = 1_000
const NONE: readonly QueueStart[] = []

interface LaneStarts {
  readonly starts: readonly QueueStart[]
  /** When all of them are over. */
  readonly overAt: number
}

/** What started in the lanes of queues that have a rate. It outlives the lanes, which go with their runs. */
export class StartBook {
  readonly #lanes = new Map<string, LaneStarts>()
  #mostKept = LANES_KEPT

  of(laneId: string): readonly QueueStart[] {
    return this.#lanes.get(laneId)?.starts ?? NONE
  }

  /** When the next run of a lane may start. */
  nextAt(laneId: string, rate: QueueRate, now: number): number {
    return nextStartAt(this.of(laneId), rate, now)
  }

  /** A run of a lane starts. */
  add(laneId: string, rate: QueueRate, now: number): void {
    const starts = withStart(this.of(laneId), rate, now)
    this.#lanes.set(laneId, { starts, overAt: (starts.at(-1)?.at ?? now) + rate.perMs })
    if (this.#lanes.size > this.#mostKept) this.#forget(now)
  }

  #forget(now: number): void {
    for (const [laneId, { overAt }] of this.#lanes) if (overAt <= now) this.#lanes.delete(laneId)
    this.#mostKept = Math.max(LANES_KEPT, 2 * this.#lanes.size)
  }
}
