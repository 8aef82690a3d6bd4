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
  /** The places of the items by what tells them apart; from the first removal on. */
  #places: Map<unknown, number | number[]> | undefined
  readonly #removed = new Set<number>()
  readonly #identities = new Identities()

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
    if (this.#places !== undefined) this.#note(this.#places, value, this.#items.length - 1)
  }

  remove(value: unknown): void {
    const places = (this.#places ??= this.#allPlaces())
    const identity = this.#identities.of(value)
    const found = places.get(identity)
    if (typeof found === 'number') this.#removed.add(found)
    else for (const place of found ?? []) this.#removed.add(place)
    places.delete(identity)
  }

  #allPlaces(): Map<unknown, number | number[]> {
    const places = new Map<unknown, number | number[]>()
    for (const [place, item] of this.#items.entries()) this.#note(places, item, place)
    return places
  }

  #note(places: Map<unknown, number | number[]>, item: unknown, place: number): void {
    const identity = this.#identities.of(item)
    const known = places.get(identity)
    if (known === undefined) places.set(identity, place)
    else if (typeof known === 'number') places.set(identity, [known, place])
    else known.push(place)
  }
}

function plain(value: unknown): unknown {
  return value instanceof ChangedList ? value.items : value
}

/** A key, and its text with its length. */
type Named = readonly [key: string, text: string]

/** Tells the items of one list apart. Most have the keys of the one before: these are put in order once. */
class Identities {
  #keys: readonly string[] = []
  #inOrder: readonly Named[] = []

  /** Equal for JSON values that are equal, whatever the order of their keys, and for no others. */
  of(value: unknown): unknown {
    if (typeof value === 'string') return textOf(value)
    return typeof value === 'object' && value !== null ? this.#textOf(value) : value
  }

  #textOf(value: object): string {
    if (Array.isArray(value))
      return value.reduce<string>((text, item) => `${text}${this.#part(item)}`, '[') + ']'
    const members = value as Readonly<Record<string, unknown>>
    let text = '{'
    for (const [key, name] of this.#named(Object.keys(value))) text += `${name}${this.#part(members[key])}`
    return text + '}'
  }

  #part(value: unknown): string {
    return `${String(this.of(value))},`
  }

  #named(keys: readonly string[]): readonly Named[] {
    const known = this.#keys
    if (keys.length === known.length && keys.every((key, at) => key === known[at])) return this.#inOrder
    this.#keys = keys
    return (this.#inOrder = [...keys].sort().map((key) => [key, textOf(key)]))
  }
}

/** No text begins with that of another one. */
function textOf(text: string): string {
  return `"${text.length}:${text}`
}
