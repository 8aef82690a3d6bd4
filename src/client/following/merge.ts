import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

/** The next item of one of several sources, or its end. */
export interface MergeStep<Key, Item> {
  readonly key: Key
  readonly result: IteratorResult<Item, unknown>
}

type Arrival<Key, Item> = MergeStep<Key, Item> | { readonly key: Key; readonly error: unknown }

/** Several sources as one, in order of arrival. It reads at most one item of each source ahead. */
export class Merge<Key, Item> {
  readonly #sources = new Map<Key, AsyncGenerator<Item>>()
  readonly #arrivals: Arrival<Key, Item>[] = []
  #waiting: Deferred<void> | undefined

  /** Whether the source with this key is still open. */
  has(key: Key): boolean {
    return this.#sources.has(key)
  }

  get size(): number {
    return this.#sources.size
  }

  /** Adds a source under a new key and starts reading it. */
  add(key: Key, source: AsyncGenerator<Item>): void {
    this.#sources.set(key, source)
    this.#pull(key, source)
  }

  /** The next item, or the end of a source. Throws the error of a source. At least one source must be open. */
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

  /** Forgets all sources. The caller ends their pending reads. */
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
