/** Metadata while the operations of one request change them: each takes as long as its value is large. */
export class MetadataDraft {
  #values: Map<string, unknown>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = new Map(Object.entries(values))
  }

  /** Unlike assignments, this makes `__proto__` a key like any other. */
  get values(): Readonly<Record<string, unknown>> {
    const entries = Array.from(this.#values, ([key, value]) => [key, plain(value)] as const)
    return Object.fromEntries(entries)
  }

  replace(values: Readonly<Record<string, unknown>>): void {
    this.#values = new Map(Object.entries(values))
  }

  set(key: string, value: unknown): void {
    this.#values.set(key, value)
  }

  delete(key: string): void {
    this.#values.delete(key)
  }

  append(key: string, value: unknown): void {
    const list = this.#list(key)
    if (list !== undefined) list.append(value)
    else this.#values.set(key, this.#values.has(key) ? [this.#values.get(key), value] : [value])
  }

  /** Removes all items of a list that are equal to the value. A value that is no list stays. */
  remove(key: string, value: unknown): void {
    this.#list(key)?.remove(value)
  }

  increment(key: string, by: number): void {
    const before = this.#values.get(key)
    this.#values.set(key, (typeof before === 'number' ? before : 0) + by)
  }

  /** The list at a key, copied with its first change. */
  #list(key: string): ChangedList | undefined {
    const value = this.#values.get(key)
    if (value instanceof ChangedList) return value
    if (!Array.isArray(value)) return undefined
    const list = new ChangedList(value)
    this.#values.set(key, list)
    return list
  }
}

/** A list that is changed many times. Its items are found by their text, not by looking at all of them each time. */
class ChangedList {
  readonly #items: unknown[]
  /** The places of the items by their text; from the first removal on. */
  #places: Map<string, number[]> | undefined
  readonly #removed = new Set<number>()

  constructor(items: readonly unknown[]) {
    this.#items = [...items]
  }

  get items(): readonly unknown[] {
    return this.#removed.size === 0
      ? this.#items
      : this.#items.filter((_, place) => !this.#removed.has(place))
  }

  append(value: unknown): void {
    this.#items.push(value)
    if (this.#places !== undefined) note(this.#places, value, this.#items.length - 1)
  }

  remove(value: unknown): void {
    const places = (this.#places ??= this.#allPlaces())
    const text = canonicalText(value)
    for (const place of places.get(text) ?? []) this.#removed.add(place)
    places.delete(text)
  }

  #allPlaces(): Map<string, number[]> {
    const places = new Map<string, number[]>()
    for (const [place, item] of this.#items.entries()) note(places, item, place)
    return places
  }
}

function note(places: Map<string, number[]>, item: unknown, place: number): void {
  const text = canonicalText(item)
  const known = places.get(text)
  if (known === undefined) places.set(text, [place])
  else known.push(place)
}

function plain(value: unknown): unknown {
  return value instanceof ChangedList ? value.items : value
}

/** One text for all JSON values that are equal, whatever the order of their keys. */
function canonicalText(value: unknown): string {
  if (typeof value === 'number') return `${value}`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(canonicalText).join()}]`
  const members = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${canonicalText(item)}`)
  return `{${members.sort().join()}}`
}
