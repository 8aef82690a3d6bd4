/** None, one or several of something. A set is made for the second only: nearly all have one at most. */
export type Few<T extends object> = T | Set<T> | undefined

const NONE: readonly never[] = []

/** `few` with `item` in it. */
export function withItem<T extends object>(few: Few<T>, item: T): Few<T> {
  if (few === undefined || few === item) return item
  if (isSet(few)) return few.add(item)
  return new Set([few, item])
}

/** `few` without `item`. */
export function withoutItem<T extends object>(few: Few<T>, item: T): Few<T> {
  if (few === item) return undefined
  if (!isSet(few)) return few
  few.delete(item)
  return few.size === 0 ? undefined : few
}

export function countOf<T extends object>(few: Few<T>): number {
  if (few === undefined) return 0
  return isSet(few) ? few.size : 1
}

/** The items in the order they came, as a list that later changes do not touch. */
export function itemsOf<T extends object>(few: Few<T>): readonly T[] {
  if (few === undefined) return NONE
  return isSet(few) ? [...few] : [few]
}

/** The first item that `isWanted`. */
export function findItem<T extends object>(few: Few<T>, isWanted: (item: T) => boolean): T | undefined {
  if (few === undefined) return undefined
  if (!isSet(few)) return isWanted(few) ? few : undefined
  for (const item of few) {
    if (isWanted(item)) return item
  }
  return undefined
}

/** A map from keys to what there is of something under each. */
export interface MapOfFew<T extends object> {
  get(key: string): Few<T>
  set(key: string, few: Few<T>): unknown
  delete(key: string): unknown
}

/** Puts `item` under `key`, beside what is there. */
export function addTo<T extends object>(map: MapOfFew<T>, key: string, item: T): void {
  map.set(key, withItem(map.get(key), item))
}

/** Takes `item` from under `key`, and the key away with the last one. */
export function removeFrom<T extends object>(map: MapOfFew<T>, key: string, item: T): void {
  const others = withoutItem(map.get(key), item)
  if (others === undefined) map.delete(key)
  else map.set(key, others)
}

function isSet<T extends object>(few: Few<T>): few is Set<T> {
  return few instanceof Set
}

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
