import type { Inside, SeenAttempt } from '../../core/inside.ts'

/** So many writers of a stream are kept in memory. */
const MOST_WRITERS = 1_000

/** How far a writer has got with its chunks, by their numbers; -1 is before the first one. */
export interface WriterState {
  /** Later chunks are new. */
  taken: number
  stored: number
  /** Settles once everything that was taken is stored. */
  storing: Promise<unknown>
}

/**
 * The writers of one stream during one attempt. Those of earlier attempts, and those that wrote long ago, are found in storage.
 */
export class KnownWriters {
  readonly #inside: Inside
  readonly #attempt: SeenAttempt
  readonly #key: string
  /** The writer that began longest ago comes first. */
  readonly #known = new Map<string, WriterState>()
  /** Whether storage may know writers that are not known here. */
  #areSomeStored: boolean

  constructor(inside: Inside, attempt: SeenAttempt, key: string) {
    this.#inside = inside
    this.#attempt = attempt
    this.#key = key
    this.#areSomeStored = attempt.record.attempt > 1
  }

  /** Calls `act` with how far a writer has got. It is forgotten here only while nothing of it is being stored. */
  async with<Result>(
    writer: string,
    act: (progress: WriterState) => Result | Promise<Result>,
  ): Promise<Result> {
    for (;;) {
      const progress = this.#known.get(writer)
      if (progress !== undefined) return act(progress)
      await this.#load(writer)
    }
  }

  /** Reads how far a writer has got. */
  async #load(writer: string): Promise<void> {
    const last = this.#areSomeStored ? await this.#lastOf(writer) : -1
    // Another request may have been faster, and gone on since.
    if (this.#known.has(writer)) return
    this.#forget()
    this.#known.set(writer, { taken: last, stored: last, storing: Promise.resolve() })
  }

  /** Makes room for one more, unless all write at this moment. */
  #forget(): void {
    if (this.#known.size < MOST_WRITERS) return
    for (const [writer, { taken, stored }] of this.#known) {
      if (taken !== stored) continue
      this.#known.delete(writer)
      this.#areSomeStored = true
      return
    }
  }

  async #lastOf(writer: string): Promise<number> {
    const { storage } = this.#inside.host
    const request = { runId: this.#attempt.id, key: this.#key, from: 0, limit: 0, writer }
    const read = await this.#inside.call(() => storage.chunks.read(request))
    return read?.written ?? -1
  }
}
