import type { Host } from '../../core/host/host.ts'
import { Batch } from './batch.ts'
import { Refusal } from '../refusal.ts'

/** Batches are sent at once; this many are more than are sent at a time. */
const MOST = 1_000

/** The newest batches, in memory: what becomes of their runs is the runs' own matter. */
export class BatchStore {
  readonly #host: Pick<Host, 'newId' | 'now'>
  /** The oldest first. */
  readonly #batches = new Map<string, Batch>()

  constructor(host: Pick<Host, 'newId' | 'now'>) {
    this.#host = host
  }

  /** A new batch; or the one that this caller announced under the same key, as long as it is known. */
  announce(announced: Pick<Batch, 'credential' | 'runCount' | 'idempotencyKey'>): {
    readonly batch: Batch
    readonly isCached: boolean
  } {
    const { credential, idempotencyKey } = announced
    const known = idempotencyKey === undefined ? undefined : this.#byKey(credential, idempotencyKey)
    if (known !== undefined) return { batch: known, isCached: true }
    const createdAt = this.#host.now()
    const batch = new Batch({ ...announced, id: this.#host.newId('batch', createdAt), createdAt })
    this.#batches.set(batch.id, batch)
    const [oldest] = this.#batches.keys()
    if (this.#batches.size > MOST && oldest !== undefined) this.#batches.delete(oldest)
    return { batch, isCached: false }
  }

  /** @throws Refusal 404 for one that this handler does not know, or no longer. */
  require(id: string): Batch {
    const batch = this.#batches.get(id)
    if (batch !== undefined) return batch
    throw new Refusal(404, 'Batch not found')
  }

  #byKey(credential: string, key: string): Batch | undefined {
    return [...this.#batches.values()].find(
      (batch) => batch.credential === credential && batch.idempotencyKey === key,
    )
  }
}
