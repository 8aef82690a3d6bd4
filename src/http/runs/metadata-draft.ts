/** Metadata while the operations of one request change them: each takes as long as its value is large. */
export class MetadataDraft {
  #values: Map<string, unknown>
  readonly #seed: number

  /** With a seed that no sender knows, values that differ cannot be made to have one hash. */
  constructor(values: Readonly<Record<string, unknown>>, seed: number) {
    this.#values = new Map(Object.entries(values))
    this.#seed = seed
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
    const list = new ChangedList(value, this.#seed)
    this.#values.set(key, list)
    return list
  }
}

/** A list that is changed many times. One look at its items finds all that were removed, however many removals there are. */
class ChangedList {
  readonly #items: unknown[]
  /** The values that were removed, by their hash. */
  readonly #removed = new Map<number, Removed[]>()

  readonly #seed: number

  constructor(items: readonly unknown[], seed: number) {
    this.#items = [...items]
    this.#seed = seed
  }

  get items(): readonly unknown[] {
    return this.#removed.size === 0
      ? this.#items
      : this.#items.filter((item, place) => !this.#isRemoved(item, place))
  }

  append(value: unknown): void {
    this.#items.push(value)
  }

  remove(value: unknown): void {
    const hash = hashOf(value, this.#seed)
    const alike = this.#removed.get(hash) ?? []
    const before = alike.find((removed) => isEqual(removed.value, value))
    if (before === undefined) alike.push({ value, items: this.#items.length })
    else before.items = this.#items.length
    this.#removed.set(hash, alike)
  }

  #isRemoved(item: unknown, place: number): boolean {
    const alike = this.#removed.get(hashOf(item, this.#seed))
    return alike?.some(({ value, items }) => place < items && isEqual(value, item)) === true
  }
}

interface Removed {
  readonly value: unknown
  /** So many items there were. */
  items: number
}

function plain(value: unknown): unknown {
  return value instanceof ChangedList ? value.items : value
}

const PRIME = 0x01000193
const double = new Float64Array(1)
const halves = new Int32Array(double.buffer)

/** Equal for JSON values that are equal, whatever the order of their keys. */
function hashOf(value: unknown, seed: number): number {
  if (typeof value === 'string') return hashText(value, seed)
  if (typeof value === 'number') return hashNumber(value, seed)
  if (typeof value !== 'object' || value === null) return mix(seed, value === null ? 2 : Number(value))
  if (Array.isArray(value)) return value.reduce<number>((hash, item) => mix(hash, hashOf(item, seed)), seed)
  let sum = PRIME
  for (const [key, member] of Object.entries(value)) sum += mix(hashText(key, seed), hashOf(member, seed))
  return sum | 0
}

/** Zero and minus zero are equal. */
function hashNumber(value: number, seed: number): number {
  if ((value | 0) === value) return mix(seed, value)
  double[0] = value + 0
  return mix(mix(seed, halves[0] ?? 0), halves[1] ?? 0)
}

function hashText(text: string, seed: number): number {
  let hash = seed
  for (let at = 0; at < text.length; at++) hash = mix(hash, text.charCodeAt(at))
  return hash
}

function mix(hash: number, more: number): number {
  return Math.imul(hash ^ more, PRIME)
}

/** Whether two JSON values are equal, whatever the order of their keys. */
function isEqual(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null)
    return one === other
  const [keys, others] = [Object.keys(one), Object.keys(other)]
  if (Array.isArray(one) !== Array.isArray(other) || keys.length !== others.length) return false
  return keys.every((key) => Object.hasOwn(other, key) && isEqual(memberOf(one, key), memberOf(other, key)))
}

function memberOf(value: object, key: string): unknown {
  return (value as Readonly<Record<string, unknown>>)[key]
}
