import type { RunRecord } from '../../contract/records.ts'
import type { Inside } from '../../core/inside.ts'
import type { Batch } from '../batches/batch.ts'
import type { RunSet } from './run-set.ts'
import { SetPage } from './set-page.ts'

/** The runs of a batch that are stored so far. */
export class BatchRuns implements RunSet {
  readonly #inside: Inside
  readonly #batch: Batch

  constructor(inside: Inside, batch: Batch) {
    this.#inside = inside
    this.#batch = batch
  }

  get name(): string {
    return this.#batch.id
  }

  /** In batch order. */
  async *pages(): AsyncGenerator<readonly RunRecord[]> {
    const { runs } = this.#inside.host.storage
    const ids = await this.#batch.runIds()
    const page = new SetPage()
    for (let at = 0; at < ids.length;) {
      const asked = ids.slice(at, at + page.size)
      at += asked.length
      const records = await Promise.all(asked.map((id) => this.#inside.read(() => runs.get(id))))
      const stored = records.filter((record) => record !== undefined)
      page.read(stored)
      yield stored
    }
  }

  among(ids: ReadonlySet<string>): readonly string[] {
    return [...ids].filter((id) => this.#batch.has(id))
  }

  has(): boolean {
    return true
  }
}
