/**
 * Values by key. Made for few at a time: a single one is held in two fields, and a `Map` is made for the second only.
 *
 * Hot: a `Map` makes itself a new table whenever its last entry goes, which is 150 bytes and as many nanoseconds; in a
 * program with one run at a time each of them is emptied with every run.
 *
 * @example
 * ```ts
 * const prices = new FewMap<number>()
 * prices.set('tea', 3)
 * prices.delete('tea') // and no table was made for it
 * ```
 */
export class FewMap<Value> {
  /** The only entry, if there is one and `#entries` is not made. */
  #key: string | undefined
  #value: Value | undefined
  #entries: Map<string, Value> | undefined

  get size(): number {
    return this.#entries?.size ?? (this.#key === undefined ? 0 : 1)
  }

  get(key: string): Value | undefined {
    return this.#key === key ? this.#value : this.#entries?.get(key)
  }

  set(key: string, value: Value): void {
    if (this.#entries !== undefined) this.#entries.set(key, value)
    else if (this.#key === undefined || this.#key === key) {
      this.#key = key
      this.#value = value
    } else {
      this.#entries = new Map(this.entries()).set(key, value)
      this.#forget()
    }
  }

  delete(key: string): void {
    if (this.#key === key) this.#forget()
    this.#entries?.delete(key)
    if (this.#entries?.size === 0) this.#entries = undefined
  }

  /** In the order they came, as a list that later changes do not touch. */
  entries(): readonly (readonly [key: string, value: Value])[] {
    if (this.#entries !== undefined) return [...this.#entries]
    // The value was set with the key.
    return this.#key === undefined ? [] : [[this.#key, this.#value as Value]]
  }

  #forget(): void {
    this.#key = undefined
    this.#value = undefined
  }
}
