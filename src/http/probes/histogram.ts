/** So many values of a label are told apart. */
export const MOST_LABELS = 100
/** The label of all others. */
export const OTHER = 'other'

/** Durations of what has one value of a label. */
export interface Durations {
  /** How many are within each boundary, but not within the one before; last, how many are beyond all. */
  readonly counts: number[]
  /** In seconds. */
  sum: number
}

/** How many durations are within each of some boundaries, by the value of a label. */
export class Histogram {
  /** In seconds. */
  readonly boundaries: readonly number[]
  readonly byLabel: Map<string, Durations> = new Map()

  constructor(boundaries: readonly number[]) {
    this.boundaries = boundaries
  }

  add(label: string, ms: number): void {
    // The clock may be set back meanwhile.
    const seconds = Math.max(0, ms) / 1_000
    const durations = this.#durationsOf(label)
    const within = this.boundaries.findIndex((boundary) => seconds <= boundary)
    const at = within === -1 ? this.boundaries.length : within
    durations.counts[at] = (durations.counts[at] ?? 0) + 1
    durations.sum += seconds
  }

  #durationsOf(label: string): Durations {
    const { byLabel } = this
    const known = byLabel.get(label)
    if (known !== undefined) return known
    if (byLabel.size >= MOST_LABELS && label !== OTHER) return this.#durationsOf(OTHER)
    const made: Durations = { counts: Array.from({ length: this.boundaries.length + 1 }, () => 0), sum: 0 }
    byLabel.set(label, made)
    return made
  }
}
