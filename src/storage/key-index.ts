import type { KeyRecord } from '../contract/records.ts'

type Key = Pick<KeyRecord, 'scope' | 'value'>

/** What may hold an idempotency key. */
export interface Keyed {
  readonly record: { readonly key?: KeyRecord | undefined }
}

/** Who holds which idempotency key, and who held it before. */
export class KeyIndex<Entry extends Keyed> {
  /** By scope and value: all that were stored with the key, the last one being its holder. */
  readonly #scopes = new Map<string, Map<string, Entry | Entry[]>>()

  /** Who holds `key` at `now`. */
  holder(key: Key, now: number): Entry | undefined {
    const holders = this.#scopes.get(key.scope)?.get(key.value)
    const holder = Array.isArray(holders) ? holders.at(-1) : holders
    const expiresAt = holder?.record.key?.expiresAt
    return expiresAt === undefined || now < expiresAt ? holder : undefined
  }

  /** All that were stored with `key`, the oldest first. */
  all({ scope, value }: Key): readonly Entry[] {
    const holders = this.#scopes.get(scope)?.get(value)
    if (holders === undefined) return []
    return Array.isArray(holders) ? holders : [holders]
  }

  add(entry: Entry, { scope, value }: Key): void {
    let values = this.#scopes.get(scope)
    if (values === undefined) this.#scopes.set(scope, (values = new Map<string, Entry | Entry[]>()))
    const holders = values.get(value)
    if (holders === undefined) values.set(value, entry)
    else if (Array.isArray(holders)) holders.push(entry)
    else values.set(value, [holders, entry])
  }

  drop(entry: Entry, key: Key): void {
    const values = this.#scopes.get(key.scope)
    if (values === undefined) return
    const others = this.all(key).filter((other) => other !== entry)
    const [first] = others
    if (first === undefined) values.delete(key.value)
    else values.set(key.value, others.length === 1 ? first : others)
    if (values.size === 0) this.#scopes.delete(key.scope)
  }
}
