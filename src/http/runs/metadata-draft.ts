import { notSerializable } from '../../api/serialize.ts'
import type { MetadataValues } from '../../core/inside.ts'

/** Metadata while the operations of one request change them: each takes as long as its value is large. */
export class MetadataDraft {
  #values: Map<string, unknown>
  readonly #seed: number

  /** With a seed that no sender knows, values that differ cannot be made to have one hash. */
  constructor(values: MetadataValues, seed: number) {
    this.#values = new Map(values)
    this.#seed = seed
  }

  /** The new metadata, for which nothing is copied: no more operations may follow. */
  take(): Map<string, unknown> {
    for (const [key, value] of this.#values)
      if (value instanceof ChangedList) this.#values.set(key, value.take())
    return this.#values
  }

  replace(values: MetadataValues): void {
    this.#values = new Map(values)
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

  /** @throws WaitpointError `ERR_NOT_SERIALIZABLE` for a sum that is infinite. */
  increment(key: string, by: number): void {
    const before = this.#values.get(key)
    const sum = (typeof before === 'number' ? before : 0) + by
    if (!Number.isFinite(sum)) throw notSerializable({ [key]: sum }, 'metadata')
    this.#values.set(key, sum)
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
  /** How many items there were when a value was last removed. */
  readonly #removed = new Map<unknown, number>()
  /** The objects and lists that were removed, by their hash. */
  readonly #alike = new Map<number, Removed[]>()
  readonly #seed: number

  constructor(items: readonly unknown[], seed: number) {
    this.#items = [...items]
    this.#seed = seed
  }

  /** The items that are left, in place and by their index: `filter()` and `entries()` take five times as long. Nothing may follow. */
  take(): readonly unknown[] {
    const items = this.#items
    if (this.#removed.size + this.#alike.size === 0) return items
    let left = 0
    for (let place = 0; place < items.length; place++) {
      const item = items[place]
      if (!this.#isRemoved(item, place)) items[left++] = item
    }
    items.length = left
    return items
  }

  append(value: unknown): void {
    this.#items.push(value)
  }

  remove(value: unknown): void {
    if (!isContainer(value)) {
      this.#removed.set(value, this.#items.length)
      return
    }
    const hash = hashOf(value, this.#seed)
    const alike = this.#alike.get(hash) ?? []
    const before = alike.find((removed) => isEqual(removed.value, value))
    if (before === undefined) alike.push({ value, items: this.#items.length })
    else before.items = this.#items.length
    this.#alike.set(hash, alike)
  }

  #isRemoved(item: unknown, place: number): boolean {
    if (!isContainer(item)) return place < (this.#removed.get(item) ?? 0)
    if (this.#alike.size === 0) return false
    const alike = this.#alike.get(hashOf(item, this.#seed))
    return alike?.some(({ value, items }) => place < items && isEqual(value, item)) === true
  }
}

interface Removed {
  readonly value: object
  /** So many items there were. */
  items: number
}

const PRIME = 0x01000193
const double = new Float64Array(1)
const halves = new Int32Array(double.buffer)

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

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
