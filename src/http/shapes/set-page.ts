import type { RunRecord } from '../../contract/records.ts'
import { sizeOfRun } from '../../core/inside.ts'

/** As many runs are read at once, to begin with and at most; and how large they may be together, if it can be known. */
const FIRST_RUNS = 16
const MOST_RUNS = 250
const PAGE_BYTES = 4 * 1_024 * 1_024

/** How many runs of a set to read at once: as many as the largest of the last ones would fill a page. */
export class SetPage {
  #size = FIRST_RUNS

  get size(): number {
    return this.#size
  }

  /** Only small runs make the next page larger, step by step. */
  read(records: readonly RunRecord[]): void {
    const largest = records.reduce((most, record) => Math.max(most, keptSize(record)), 1)
    const fitting = Math.max(1, Math.floor(PAGE_BYTES / largest))
    this.#size = Math.min(fitting, 4 * this.#size, MOST_RUNS)
  }
}

/** What it takes to keep a run. */
export function keptSize(record: RunRecord): number {
  return 1_000 + sizeOfRun(record)
}
