import type { TokenRecord } from '../../contract/records.ts'
import type { Inside } from '../../core/inside.ts'
import { Batch, type KeptBatch } from './batch.ts'
import { Refusal } from '../refusal.ts'

/** A client sends a batch at once, so this is far more than are open at a time. */
const MOST = 1_000

/**
 * The newest batches, in memory. A batch with all its runs is also in storage, as the output of a record that is bound to
 * its id: another handler finds it there, also after a restart. See docs/decisions/http-and-client.md#3-a-batch-with-all-its-runs-is-stored.
 */
export class BatchStore {
  readonly #inside: Inside
  /** Oldest first. */
  readonly #batches = new Map<string, Batch>()

  constructor(inside: Inside) {
    this.#inside = inside
  }

  /** Creates a batch, or returns the one that this caller announced with this idempotency key, while it is kept. */
  announce(announced: Pick<Batch, 'credential' | 'runCount' | 'idempotencyKey'>): {
    readonly batch: Batch
    readonly isCached: boolean
  } {
    const { credential, idempotencyKey } = announced
    const known = idempotencyKey === undefined ? undefined : this.#byKey(credential, idempotencyKey)
    if (known !== undefined) return { batch: known, isCached: true }
    const { host } = this.#inside
    const batch = new Batch({ ...announced, ...host.made('batch') })
    this.#remember(batch)
    return { batch, isCached: false }
  }

  /** @throws Refusal 404 for a batch that is not known: one that another handler is receiving, or that is no longer kept. */
  async require(id: string): Promise<Batch> {
    const batch = this.#batches.get(id) ?? (await this.#find(id))
    if (batch !== undefined) return batch
    throw new Refusal(404, 'Batch not found')
  }

  /** Stores a batch, once, if all its runs are stored. */
  async keep(batch: Batch): Promise<void> {
    if (batch.isSealed) await batch.keep((kept) => this.#insert(batch, kept))
  }

  async #find(id: string): Promise<Batch | undefined> {
    if (!/^batch_\w{1,64}$/.test(id)) return undefined
    const record = await this.#read(id)
    if (record?.kind !== 'BINDING') return undefined
    // Only `#insert` binds ids of this form.
    const kept = JSON.parse(record.outputJson ?? '') as KeptBatch
    const batch = Batch.kept(record, kept)
    this.#remember(batch)
    return batch
  }

  async #insert({ id, createdAt }: Batch, kept: KeptBatch): Promise<void> {
    const { host } = this.#inside
    const now = host.now()
    const binding = { kind: 'BINDING', status: 'COMPLETED', tags: [], completedAt: now } as const
    const record: TokenRecord = { id, createdAt, ...binding, outputJson: JSON.stringify(kept) }
    try {
      await this.#inside.call(() => host.storage.tokens.insert({ record, now, by: host.owner }))
    } catch (error) {
      // The answer to an earlier call may have been lost.
      if ((await this.#read(id)) === undefined) throw error
    }
  }

  async #read(id: string): Promise<TokenRecord | undefined> {
    const { host } = this.#inside
    return (await this.#inside.read(() => host.storage.tokens.get(id, host.now())))?.record
  }

  #remember(batch: Batch): void {
    this.#batches.set(batch.id, batch)
    const [oldest] = this.#batches.keys()
    if (this.#batches.size > MOST && oldest !== undefined) this.#batches.delete(oldest)
  }

  #byKey(credential: string, key: string): Batch | undefined {
    return [...this.#batches.values()].find(
      (batch) => batch.credential === credential && batch.idempotencyKey === key,
    )
  }
}
