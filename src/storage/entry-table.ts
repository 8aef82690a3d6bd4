import type { KeyRecord } from '../contract/records.ts'
import type { Page, PageRequest } from '../contract/storage.ts'
import { IdIndex, type Listed, readPage } from './id-index.ts'

export interface TableEntry extends Listed {
  readonly record: { readonly key?: KeyRecord | undefined }
  isDropped: boolean
}

export interface TableQuery<Entry> {
  /** Names of lists; an entry in any of them may be answered. */
  readonly lists: readonly string[]
  /** Only what holds this key, or held it before. */
  readonly key?: Pick<KeyRecord, 'scope' | 'value'> | undefined
  readonly matches: (entry: Entry) => boolean
  readonly page: PageRequest
}

/** Entries by id, by idempotency key and in named lists that are in the order of ids. */
export class EntryTable<Entry extends TableEntry> {
  readonly #entries = new Map<string, Entry>()
  /** All that were stored with a key, the last one being its holder. */
  readonly #keys = new Map<string, Entry | Entry[]>()
  readonly #lists = new Map<string, IdIndex<Entry>>()
  readonly #noun: string
  readonly #listsOf: (entry: Entry) => readonly string[]

  /** `listsOf` names the lists an entry is in: the same ones at any time. */
  constructor(noun: string, listsOf: (entry: Entry) => readonly string[]) {
    this.#noun = noun
    this.#listsOf = listsOf
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** Who holds `key` at `now`. */
  holder(key: KeyRecord, now: number): Entry | undefined {
    const held = this.#keys.get(nameOf(key))
    const holder = Array.isArray(held) ? held.at(-1) : held
    const expiresAt = holder?.record.key?.expiresAt
    return expiresAt === undefined || now < expiresAt ? holder : undefined
  }

  /** @throws Error when the id is taken. */
  add(entry: Entry): void {
    if (this.#entries.has(entry.id)) {
      throw new Error(`Cannot insert ${this.#noun} "${entry.id}": there is one of this id already`)
    }
    this.#entries.set(entry.id, entry)
    for (const name of this.#listsOf(entry)) {
      let list = this.#lists.get(name)
      if (list === undefined) this.#lists.set(name, (list = new IdIndex()))
      list.add(entry)
    }
    if (entry.record.key !== undefined) this.#addKey(entry, nameOf(entry.record.key))
  }

  drop(entry: Entry): void {
    entry.isDropped = true
    this.#entries.delete(entry.id)
    for (const name of this.#listsOf(entry)) {
      const list = this.#lists.get(name)
      list?.remove()
      if (list?.size === 0) this.#lists.delete(name)
    }
    if (entry.record.key !== undefined) this.#dropKey(entry, nameOf(entry.record.key))
  }

  /** One page, newest first. */
  list({ lists, key, matches, page }: TableQuery<Entry>): Page<Entry> {
    if (key === undefined) {
      const indexes = lists.map((name) => this.#lists.get(name)).filter((list) => list !== undefined)
      return readPage({ indexes, matches, page })
    }
    const index = new IdIndex<Entry>()
    for (const entry of [this.#keys.get(nameOf(key)) ?? []].flat()) index.add(entry as Entry)
    return readPage({ indexes: [index], matches, page })
  }

  #addKey(entry: Entry, name: string): void {
    const held = this.#keys.get(name)
    if (held === undefined) this.#keys.set(name, entry)
    else if (Array.isArray(held)) held.push(entry)
    else this.#keys.set(name, [held, entry])
  }

  #dropKey(entry: Entry, name: string): void {
    const held = this.#keys.get(name)
    if (!Array.isArray(held)) {
      if (held === entry) this.#keys.delete(name)
      return
    }
    const others = held.filter((other) => other !== entry)
    if (others.length === 0) this.#keys.delete(name)
    else this.#keys.set(name, others)
  }
}

function nameOf({ scope, value }: Pick<KeyRecord, 'scope' | 'value'>): string {
  return `${scope.length}:${scope}${value}`
}
