import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

/** What came of one of several sources: its next item, or that it has ended. */
export interface MergeStep<Key, Item> {
  readonly key: Key
  readonly result: IteratorResult<Item, unknown>
}

type Arrival<Key, Item> = MergeStep<Key, Item> | { readonly key: Key; readonly error: unknown }

/** Several sources as one, in the order in which they have something. Of each, one item at most is read ahead. */
export class Merge<Key, Item> {
  readonly #sources = new Map<Key, AsyncGenerator<Item>>()
  readonly #arrivals: Arrival<Key, Item>[] = []
  #waiting: Deferred<void> | undefined

  /** Whether a source under this key has not ended. */
  has(key: Key): boolean {
    return this.#sources.has(key)
  }

  get size(): number {
    return this.#sources.size
  }

  /** Reads a source from now on, under a key that has none. */
  add(key: Key, source: AsyncGenerator<Item>): void {
    this.#sources.set(key, source)
    this.#pull(key, source)
  }

  /** The next item, or the end of a source; throws what a source throws. There must be a source. */
  async next(): Promise<MergeStep<Key, Item>> {
    for (;;) {
      const arrival = this.#arrivals.shift()
      if (arrival === undefined) {
        this.#waiting = createDeferred<void>()
        await this.#waiting.promise
        continue
      }
      if ('error' in arrival) throw arrival.error
      const source = this.#sources.get(arrival.key)
      if (arrival.result.done === true) this.#sources.delete(arrival.key)
      else if (source !== undefined) this.#pull(arrival.key, source)
      return arrival
    }
  }

  /** Lets go of all sources. What they were asked for is to be ended by who gave them. */
  close(): void {
    for (const source of this.#sources.values()) source.return(undefined).catch(() => undefined)
    this.#sources.clear()
  }

  #pull(key: Key, source: AsyncGenerator<Item>): void {
    source.next().then(
      (result) => this.#arrived({ key, result }),
      (error: unknown) => this.#arrived({ key, error }),
    )
  }

  #arrived(arrival: Arrival<Key, Item>): void {
    this.#arrivals.push(arrival)
    this.#waiting?.resolve()
  }
}
