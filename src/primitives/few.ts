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
