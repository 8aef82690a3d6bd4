import type { KeyRecord } from '../../contract/records.ts'
import type { Page, PageRequest } from '../../contract/storage.ts'
import { IdIndex, type Listed, readPage } from './id-index.ts'
import { type Keyed, KeyIndex } from '../key-index.ts'

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

  /** Who holds `key` at `now`. */
  holder(key: KeyRecord, now: number): Entry | undefined {
    return this.#keys.holder(key, now)
  }

  /** What holds `key`, or held it before. */
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
      return readPage({ indexes, matches, page })
    }
    const index = new IdIndex<Entry>()
    for (const entry of among) index.add(entry)
    return readPage({ indexes: [index], matches, page })
  }
}
