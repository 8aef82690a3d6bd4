/** The knowledge of one subscriber: the version of each run, and the answer that reported it. */
export interface ShapeEntry {
  readonly number: number
  /** The number of reported changes when the rows were read. */
  readonly place: number
  /** The instant at which the whole set was last read. */
  readonly readAt: number
  readonly versions: ReadonlyMap<string, number>
}

/**
 * The knowledge of the subscribers to sets of runs. Its size is bounded: the subscriber that was silent for longest is
 * forgotten first, and later receives all rows again.
 */
export class ShapeLog {
  readonly #most: number
  readonly #entries = new Map<string, ShapeEntry>()
  #versions = 0

  /** @param most The number of versions kept for all subscribers together. */
  constructor(most: number = 200_000) {
    this.#most = most
  }

  get size(): number {
    return this.#entries.size
  }

  get(subscriber: string): ShapeEntry | undefined {
    return this.#entries.get(subscriber)
  }

  set(subscriber: string, entry: ShapeEntry): void {
    this.#drop(subscriber)
    this.#entries.set(subscriber, entry)
    this.#versions += weightOf(entry)
    for (const oldest of this.#entries.keys()) {
      if (this.#versions <= this.#most || oldest === subscriber) return
      this.#drop(oldest)
    }
  }

  #drop(subscriber: string): void {
    const entry = this.#entries.get(subscriber)
    if (entry === undefined) return
    this.#entries.delete(subscriber)
    this.#versions -= weightOf(entry)
  }
}

/** A subscriber without versions also takes memory. */
function weightOf({ versions }: ShapeEntry): number {
  return versions.size + 1
}
