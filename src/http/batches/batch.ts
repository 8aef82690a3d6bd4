/** What is kept of a batch, besides its id and its age. */
export interface KeptBatch {
  /** The ids of all runs, in batch order. */
  readonly runs: readonly string[]
  readonly idempotencyKey?: string | undefined
}

/**
 * The runs of one batch. A batch is announced with its size; then its runs arrive one by one, some of them more than
 * once.
 */
export class Batch {
  readonly id: string
  readonly runCount: number
  readonly idempotencyKey: string | undefined
  /** The credential that announced the batch. */
  readonly credential: string
  readonly createdAt: number
  /** Run ids by position in the batch; a promise while a run is being stored. */
  readonly #runs = new Map<number, Promise<string>>()
  readonly #stored = new Set<string>()
  #keeping: Promise<void> | undefined

  constructor(options: Pick<Batch, 'id' | 'runCount' | 'idempotencyKey' | 'credential' | 'createdAt'>) {
    const { id, runCount, idempotencyKey, credential, createdAt } = options
    this.id = id
    this.runCount = runCount
    this.idempotencyKey = idempotencyKey
    this.credential = credential
    this.createdAt = createdAt
  }

  /** A batch that was sealed and kept, with its runs in batch order. */
  static kept(
    { id, createdAt }: Pick<Batch, 'id' | 'createdAt'>,
    { runs, idempotencyKey }: KeptBatch,
  ): Batch {
    const batch = new Batch({ id, createdAt, idempotencyKey, runCount: runs.length, credential: '' })
    for (const [place, run] of runs.entries()) {
      batch.#runs.set(place, Promise.resolve(run))
      batch.#stored.add(run)
    }
    batch.#keeping = Promise.resolve()
    return batch
  }

  get size(): number {
    return this.#runs.size
  }

  /** Whether all announced runs have arrived. */
  get isSealed(): boolean {
    return this.size === this.runCount
  }

  /** Whether a stored run belongs to this batch. */
  has(runId: string): boolean {
    return this.#stored.has(runId)
  }

  /**
   * Triggers the run at a position, once. Returns its id if this call triggered it. A run that failed to trigger may be
   * sent again.
   */
  async add(place: number, trigger: () => Promise<string>): Promise<string | undefined> {
    const known = this.#runs.get(place)
    if (known !== undefined) {
      await known
      return undefined
    }
    const run = trigger()
    this.#runs.set(place, run)
    try {
      const id = await run
      this.#stored.add(id)
      return id
    } catch (error) {
      this.#runs.delete(place)
      throw error
    }
  }

  /** Keeps the batch, once, if all its runs are stored. If that fails, the next call tries it again. */
  async keep(store: (kept: KeptBatch) => Promise<void>): Promise<void> {
    const runs = await this.runIds()
    // A run that another request sent may have failed meanwhile: it will be sent again.
    if (runs.length < this.runCount) return
    const keeping = (this.#keeping ??= store({ runs, idempotencyKey: this.idempotencyKey }))
    try {
      await keeping
    } catch (error) {
      if (this.#keeping === keeping) this.#keeping = undefined
      throw error
    }
  }

  /** The ids of the stored runs, in batch order. */
  async runIds(): Promise<readonly string[]> {
    const inOrder = [...this.#runs].sort(([a], [b]) => a - b).map(([, run]) => run)
    const stored = await Promise.allSettled(inOrder)
    return stored.flatMap((run) => (run.status === 'fulfilled' ? [run.value] : []))
  }
}
