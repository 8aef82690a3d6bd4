import { RingBuffer } from '../primitives/ring-buffer.ts'

/** Whoever is further behind reads everything. */
const MOST = 1_000

/**
 * Which runs changed lately, one change after the other, for whoever follows many runs and would read them all again.
 * Kept from when somebody first asks how far it is.
 */
export class ChangedRuns {
  readonly #ids: RingBuffer<string>
  #isKept = false

  /** @param most Changes that are kept. */
  constructor(most: number = MOST) {
    this.#ids = new RingBuffer({ capacity: most })
  }

  /** How far it is: to be asked before the runs are read, so that no change falls between the two. */
  get place(): number {
    this.#isKept = true
    return this.#ids.next
  }

  /** A run changed. */
  add(runId: string): void {
    if (this.#isKept) this.#ids.push(runId)
  }

  /** Any run may have changed. */
  lose(): void {
    this.#ids.push('')
    this.#ids.clear()
  }

  /** The runs that changed from a place on; nothing when any may have. */
  since(place: number): ReadonlySet<string> | undefined {
    if (place < this.#ids.first) return undefined
    return new Set(this.#ids.read(place, Infinity))
  }
}
