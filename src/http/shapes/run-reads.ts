import type { RunRecord } from '../../contract/records.ts'
import type { Kernel } from '../../core/kernel.ts'

/** Reads of runs that changed: of all who want to know after the same change, one asks storage. */
export class RunReads {
  readonly #kernel: Kernel
  /** Under way, by run and by what had changed before. */
  readonly #reads = new Map<string, Promise<RunRecord | undefined>>()

  constructor(kernel: Kernel) {
    this.#kernel = kernel
  }

  /** A run as it is after everything that has changed so far. */
  read(id: string): Promise<RunRecord | undefined> {
    const { host, publisher } = this.#kernel
    // One that began before the latest change may not show it.
    const key = `${id} ${publisher.changedRuns.place}`
    const known = this.#reads.get(key)
    if (known !== undefined) return known
    const read = this.#kernel.call(() => host.storage.runs.get(id)).finally(() => this.#reads.delete(key))
    this.#reads.set(key, read)
    return read
  }
}
