import type { Host } from '../../core/host/host.ts'
import { Batch } from './batch.ts'
import { Refusal } from '../refusal.ts'

/** A client sends a batch at once, so this is far more than are open at a time. */
const MOST = 1_000

/** The newest batches, in memory. Their runs are in storage and do not depend on this store. */
export class BatchStore {
  readonly #host: Pick<Host, 'newId' | 'now'>
  /** Oldest first. */
  readonly #batches = new Map<string, Batch>()

  constructor(host: Pick<Host, 'newId' | 'now'>) {
    this.#host = host
  }

  /** Creates a batch, or returns the one that this caller announced with this idempotency key, while it is kept. */
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

  /** @throws Refusal 404 for a batch that this handler does not know, or no longer keeps. */
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
