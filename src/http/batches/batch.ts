/** Runs that are triggered together: announced by their number, then sent one by one, some of them again. */
export class Batch {
  readonly id: string
  readonly runCount: number
  readonly idempotencyKey: string | undefined
  /** Whoever announced it. */
  readonly credential: string
  readonly createdAt: number
  /** By their place in the batch; a promise while a run is being stored. */
  readonly #runs = new Map<number, Promise<string>>()
  readonly #stored = new Set<string>()

  constructor(options: Pick<Batch, 'id' | 'runCount' | 'idempotencyKey' | 'credential' | 'createdAt'>) {
    const { id, runCount, idempotencyKey, credential, createdAt } = options
    this.id = id
    this.runCount = runCount
    this.idempotencyKey = idempotencyKey
    this.credential = credential
    this.createdAt = createdAt
  }

  get size(): number {
    return this.#runs.size
  }

  /** All runs that were announced have come. */
  get isSealed(): boolean {
    return this.size === this.runCount
  }

  /** Whether a run that is stored is one of it. */
  has(runId: string): boolean {
    return this.#stored.has(runId)
  }

  /** Triggers the run of a place, once; answers its id if it was this call. One that fails may be sent again. */
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

  /** The ids of the runs that are stored, in their order. */
  async runIds(): Promise<readonly string[]> {
    const inOrder = [...this.#runs].sort(([a], [b]) => a - b).map(([, run]) => run)
    const stored = await Promise.allSettled(inOrder)
    return stored.flatMap((run) => (run.status === 'fulfilled' ? [run.value] : []))
  }
}
