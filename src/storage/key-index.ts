import type { KeyRecord } from '../contract/records.ts'

type Key = Pick<KeyRecord, 'scope' | 'value'>

/** What may hold an idempotency key. */
export interface Keyed {
  readonly record: { readonly key?: KeyRecord | undefined }
}

/** All that were stored with one key, in that order. */
class Holders<Entry> {
  readonly #kept: Set<Entry>
  /** The same, and some that were dropped: never more of these than of the others. */
  #order: Entry[]

  constructor(entries: readonly Entry[]) {
    this.#kept = new Set(entries)
    this.#order = [...entries]
  }

  get all(): readonly Entry[] {
    return [...this.#kept]
  }

  get size(): number {
    return this.#kept.size
  }

  /** The one that was stored last. */
  get last(): Entry | undefined {
    return this.#order.at(-1)
  }

  add(entry: Entry): void {
    this.#kept.add(entry)
    this.#order.push(entry)
  }

  /** Costs the same however many there are, taken over many calls. */
  drop(entry: Entry): void {
    this.#kept.delete(entry)
    for (let last = this.last; last !== undefined && !this.#kept.has(last); last = this.last)
      this.#order.pop()
    if (this.#order.length > 2 * this.#kept.size) this.#order = [...this.#kept]
  }
}

/** Who holds which idempotency key, and who held it before. */
export class KeyIndex<Entry extends Keyed> {
  /** By scope and value; nearly every key has one only. */
  readonly #scopes = new Map<string, Map<string, Entry | Holders<Entry>>>()

  /** Who holds `key` at `now`. */
  holder(key: Key, now: number): Entry | undefined {
    const holders = this.#scopes.get(key.scope)?.get(key.value)
    const holder = holders instanceof Holders ? holders.last : holders
    const expiresAt = holder?.record.key?.expiresAt
    return expiresAt === undefined || now < expiresAt ? holder : undefined
  }

  /** All that were stored with `key`, the oldest first. */
  all({ scope, value }: Key): readonly Entry[] {
    const holders = this.#scopes.get(scope)?.get(value)
    if (holders === undefined) return []
    return holders instanceof Holders ? holders.all : [holders]
  }

  add(entry: Entry, { scope, value }: Key): void {
    let values = this.#scopes.get(scope)
    if (values === undefined) this.#scopes.set(scope, (values = new Map<string, Entry | Holders<Entry>>()))
    const holders = values.get(value)
    if (holders === undefined) values.set(value, entry)
    else if (holders instanceof Holders) holders.add(entry)
    else values.set(value, new Holders([holders, entry]))
  }

  drop(entry: Entry, { scope, value }: Key): void {
    const values = this.#scopes.get(scope)
    const holders = values?.get(value)
    if (values === undefined || holders === undefined) return
    if (holders instanceof Holders) {
      holders.drop(entry)
      if (holders.size > 0) return
    } else if (holders !== entry) return
    values.delete(value)
    if (values.size === 0) this.#scopes.delete(scope)
  }
}
