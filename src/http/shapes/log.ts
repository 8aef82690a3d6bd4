/** What a subscriber has seen: the version of each run, and which answer told it last. */
export interface ShapeEntry {
  readonly number: number
  /** How many changes of runs had been told of when it was read. */
  readonly place: number
  /** When all of it was read. */
  readonly readAt: number
  readonly versions: ReadonlyMap<string, number>
}

/**
 * What the subscribers to sets of runs have seen. Bounded: who has not come for long is forgotten first, and is told
 * everything again.
 */
export class ShapeLog {
  readonly #most: number
  readonly #entries = new Map<string, ShapeEntry>()
  #versions = 0

  /** @param most Versions that are kept, of all subscribers together. */
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

/** A subscriber who has seen nothing is something to keep, too. */
function weightOf({ versions }: ShapeEntry): number {
  return versions.size + 1
}
