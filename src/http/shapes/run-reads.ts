import type { RunRecord } from '../../contract/records.ts'
import type { Inside } from '../../core/inside.ts'

/** Shares the reads of changed runs: one read serves all subscribers after the same change. */
export class RunReads {
  readonly #inside: Inside
  /** Pending reads, by run and by the last change before them. */
  readonly #reads = new Map<string, Promise<RunRecord | undefined>>()

  constructor(inside: Inside) {
    this.#inside = inside
  }

  /** A run after all changes reported so far. */
  read(id: string): Promise<RunRecord | undefined> {
    const { host, news } = this.#inside
    // One that began before the latest change may not show it.
    const key = `${id} ${news.changedRuns.place}`
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    const read = this.#inside.read(() => host.storage.runs.get(id)).finally(() => this.#reads.delete(key))
    this.#reads.set(key, read)
    return read
  }
}
