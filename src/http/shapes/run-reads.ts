import type { RunRecord } from '../../contract/records.ts'
import type { Kernel } from '../../core/kernel.ts'

/** Shares the reads of changed runs: one read serves all subscribers after the same change. */
export class RunReads {
  readonly #kernel: Kernel
  /** Pending reads, by run and by the last change before them. */
  readonly #reads = new Map<string, Promise<RunRecord | undefined>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** A run after all changes reported so far. */
  read(id: string): Promise<RunRecord | undefined> {
    const { host, publisher } = this.#kernel
    // One that began before the latest change may not show it.
    const key = `${id} ${publisher.changedRuns.place}`
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    const read = this.#kernel.read(() => host.storage.runs.get(id)).finally(() => this.#reads.delete(key))
    this.#reads.set(key, read)
    return read
  }
}
