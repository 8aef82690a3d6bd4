import type { KeyRecord } from '../../contract/records.ts'
import type { Page, PageRequest } from '../../contract/storage.ts'
import { IdIndex, type Listed, pageOfIndexes } from './id-index.ts'

export interface TableEntry extends Listed, Keyed {
  isDropped: boolean
}

export interface TableQuery<Entry> {
  /** Names of lists; an entry in any of them may be answered. */
  readonly lists: readonly string[]
  /** Only these, in whatever lists. */
  readonly among?: readonly Entry[] | undefined
  readonly matches: (entry: Entry) => boolean
  readonly page: PageRequest
}

/** Where an entry is found besides by its id: the same at any time. */
export interface Indexing<Entry> {
  /** Names the lists it is in. */
  readonly listsOf: (entry: Entry) => readonly string[]
  /** The key it is to be found by. */
  readonly keyOf: (entry: Entry) => KeyRecord | undefined
}

/** Entries by id, by idempotency key and in named lists that are in the order of ids. */
export class EntryTable<Entry extends TableEntry> {
  readonly #entries = new Map<string, Entry>()
  readonly #keys = new KeyIndex<Entry>()
  readonly #lists = new Map<string, IdIndex<Entry>>()
  /** No entry has a greater id. */
  #newest = ''
  readonly #noun: string
  readonly #indexing: Indexing<Entry>

  constructor(noun: string, indexing: Indexing<Entry>) {
    this.#noun = noun
    this.#indexing = indexing
  }

  get(id: string): Entry | undefined {
    return this.#entries.get(id)
  }

  /** The holder of `key` at `now`. */
  holder(key: KeyRecord, now: number): Entry | undefined {
    return this.#keys.holder(key, now)
  }

  /** The entries that hold `key`, or held it before. */
  keyed(key: Pick<KeyRecord, 'scope' | 'value'>): readonly Entry[] {
    return this.#keys.all(key)
  }

  /** @throws Error when the id is taken. */
  add(entry: Entry): void {
    // Ids are in the order of time: one that is not the newest is looked up first.
    const isNewest = this.#newest < entry.id
    if (isNewest) this.#newest = entry.id
    else if (this.#entries.has(entry.id)) {
      throw new Error(`Cannot insert ${this.#noun} "${entry.id}": there is one of this id already`)
    }
    this.#entries.set(entry.id, entry)
    for (const name of this.#indexing.listsOf(entry)) {
      let list = this.#lists.get(name)
      if (list === undefined) this.#lists.set(name, (list = new IdIndex()))
      list.add(entry)
    }
    const key = this.#indexing.keyOf(entry)
    if (key !== undefined) this.#keys.add(entry, key)
  }

  drop(entry: Entry): void {
    entry.isDropped = true
    this.#entries.delete(entry.id)
    for (const name of this.#indexing.listsOf(entry)) {
      const list = this.#lists.get(name)
      list?.remove()
      if (list?.size === 0) this.#lists.delete(name)
    }
    const key = this.#indexing.keyOf(entry)
    if (key !== undefined) this.#keys.drop(entry, key)
  }

  /** Of all entries, those that match, in the order they were added. */
  filter(matches: (entry: Entry) => boolean): readonly Entry[] {
    return [...this.#entries.values()].filter(matches)
  }

  /** One page, newest first. */
  list({ lists, among, matches, page }: TableQuery<Entry>): Page<Entry> {
    if (among === undefined) {
      const indexes = lists.map((name) => this.#lists.get(name)).filter((list) => list !== undefined)
      return pageOfIndexes({ indexes, matches, page })
    }
    const index = new IdIndex<Entry>()
    for (const entry of among) index.add(entry)
    return pageOfIndexes({ indexes: [index], matches, page })
  }
}

type Key = Pick<KeyRecord, 'scope' | 'value'>

/** An entry that may hold an idempotency key. */
export interface Keyed {
  readonly record: { readonly key?: KeyRecord | undefined }
}

/** All that were stored with one key, in that order. */
class Holders<Entry> {
  readonly #kept: Set<Entry>
  /** The entries, and some that were dropped: never more of these than of the others. */
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

/** The holders of idempotency keys, present and past. */
export class KeyIndex<Entry extends Keyed> {
  /** By scope and value; nearly every key has one only. */
  readonly #scopes = new Map<string, Map<string, Entry | Holders<Entry>>>()

  /** The holder of `key` at `now`. */
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
