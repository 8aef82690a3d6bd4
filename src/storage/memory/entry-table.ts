import type { KeyRecord } from '../../contract/records.ts'
import type { Page, PageRequest } from '../../contract/storage.ts'
import type { IdRange } from '../made-id.ts'
import { type Grouping, IdIndex, type Listed, pageOfIndexes } from './id-index.ts'

export interface TableEntry extends Listed {
  readonly record: Keyed['record']
  isDropped: boolean
}

export interface TableQuery<Entry> extends IdRange {
  /** Names of strands. Default: all but those in `notStrands`. */
  readonly strands?: readonly string[] | undefined
  readonly notStrands?: readonly string[] | undefined
  /** Names of lists; an entry in any of them may be answered. They are read instead of strands. */
  readonly lists?: readonly string[] | undefined
  /** The name of a family. It is read instead of strands and lists. */
  readonly family?: string | undefined
  /** Only entries of these groups match. */
  readonly groups?: readonly number[] | undefined
  /** Only these, in any lists. */
  readonly among?: readonly Entry[] | undefined
  readonly matches: (entry: Entry) => boolean
  readonly page: PageRequest
}

/** Where an entry is found besides by its id. Its strand, its family and its key never change. */
export interface Indexing<Entry extends Listed> {
  /** Names the one strand it is in. */
  readonly strandOf: (entry: Entry) => string
  /** How strands count their entries. */
  readonly grouping?: Grouping<Entry>
  /** Names the lists it is in; see {@link EntryTable.relist}. */
  readonly listsOf: (entry: Entry) => readonly string[]
  /** Names the family it is in, if it is in one. */
  readonly familyOf?: (entry: Entry) => string | undefined
  /** The key it is to be found by. */
  readonly keyOf: (entry: Entry) => KeyRecord | undefined
}

/** Entries by id, by idempotency key, and in strands, named lists and families that are in the order of ids. */
export class EntryTable<Entry extends TableEntry> {
  readonly #entries = new Map<string, Entry>()
  readonly #keys = new KeyIndex<Entry>()
  readonly #strands = new Map<string, IdIndex<Entry>>()
  readonly #lists = new Map<string, IdIndex<Entry>>()
  readonly #families = new Map<string, IdIndex<Entry>>()
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

  /** The entry that was stored last with `key`, whether or not the key has expired. */
  latest(key: KeyRecord): Entry | undefined {
    return this.#keys.latest(key)
  }

  /** The entries that hold `key`, or held it before. */
  keyed(key: Pick<KeyRecord, 'scope' | 'value'>): readonly Entry[] {
    return this.#keys.all(key)
  }

  /** The entries that hold, or held, any key of a scope. */
  scoped(scope: string): readonly Entry[] {
    return this.#keys.scoped(scope)
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
    const { strandOf, listsOf, familyOf, grouping } = this.#indexing
    const name = strandOf(entry)
    let strand = this.#strands.get(name)
    if (strand === undefined) this.#strands.set(name, (strand = new IdIndex(grouping)))
    strand.add(entry)
    for (const list of listsOf(entry)) indexIn(this.#lists, list).add(entry)
    const family = familyOf?.(entry)
    if (family !== undefined) indexIn(this.#families, family).add(entry)
    const key = this.#indexing.keyOf(entry)
    if (key !== undefined) this.#keys.add(entry, key)
  }

  drop(entry: Entry): void {
    entry.isDropped = true
    this.#entries.delete(entry.id)
    const { strandOf, listsOf, familyOf } = this.#indexing
    const name = strandOf(entry)
    const strand = this.#strands.get(name)
    strand?.remove(entry)
    if (strand?.size === 0) this.#strands.delete(name)
    for (const list of listsOf(entry)) leave(this.#lists, list, (index) => index.remove(entry))
    const family = familyOf?.(entry)
    if (family !== undefined) leave(this.#families, family, (index) => index.remove(entry))
    const key = this.#indexing.keyOf(entry)
    if (key !== undefined) this.#keys.drop(entry, key)
  }

  /** Counts an entry in another group of its strand. */
  regroup(entry: Entry, position: number, groups: { readonly before: number; readonly after: number }): void {
    this.#strands.get(this.#indexing.strandOf(entry))?.regroup(position, groups)
  }

  /** Puts an entry into the lists it is in now, and takes it out of the others it was in before. */
  relist(entry: Entry, before: readonly string[]): void {
    const lists = this.#indexing.listsOf(entry)
    for (const name of lists) if (!before.includes(name)) indexIn(this.#lists, name).add(entry)
    for (const name of before)
      if (!lists.includes(name)) leave(this.#lists, name, (index) => index.takeOut(entry))
  }

  /** Of all entries, those that match, in the order they were added. */
  filter(matches: (entry: Entry) => boolean): readonly Entry[] {
    return [...this.#entries.values()].filter(matches)
  }

  /** How many entries of a group there are in some strands, or in all of them. */
  count(group: number, strands: readonly string[] | undefined): number {
    return this.#indexes({ strands }).reduce((total, index) => total + index.count(group), 0)
  }

  /** Shows entries that match to `see`, those of each list or strand newest first, and `most` of them. Answers whether these are all. */
  look(
    { matches, floor, ceiling, groups, ...query }: Omit<TableQuery<Entry>, 'page' | 'among'>,
    most: number,
    see: (entry: Entry) => void,
  ): boolean {
    const lists = query.lists?.filter((name) => this.#lists.has(name)) ?? []
    const names = [...new Set(lists)]
    let left = most
    return this.#indexes(query).every((index, at) => {
      const earlier = names.slice(0, at)
      const isPast = (entry: Entry): boolean => {
        if (!matches(entry) || (earlier.length > 0 && this.#isInAny(entry, earlier))) return false
        if (left === 0) return true
        left -= 1
        see(entry)
        return false
      }
      return index.older(undefined, { count: 1, matches: isPast, floor, ceiling, groups }).length === 0
    })
  }

  #isInAny(entry: Entry, lists: readonly string[]): boolean {
    return this.#indexing.listsOf(entry).some((name) => lists.includes(name))
  }

  /** One page, newest first. */
  list({ among, ...query }: TableQuery<Entry>): Page<Entry> {
    if (among === undefined) return pageOfIndexes({ indexes: this.#indexes(query), ...query })
    const index = new IdIndex<Entry>()
    for (const entry of among) index.add(entry)
    return pageOfIndexes({ indexes: [index], ...query })
  }

  #indexes({
    family,
    lists,
    strands,
    notStrands = [],
  }: Pick<TableQuery<Entry>, 'family' | 'lists' | 'strands' | 'notStrands'>): readonly IdIndex<Entry>[] {
    const named = (all: ReadonlyMap<string, IdIndex<Entry>>, names: readonly string[]): IdIndex<Entry>[] =>
      [...new Set(names)].map((name) => all.get(name)).filter((index) => index !== undefined)
    if (family !== undefined) return named(this.#families, [family])
    if (lists !== undefined) return named(this.#lists, lists)
    const names = strands ?? [...this.#strands.keys()]
    return named(
      this.#strands,
      names.filter((name) => !notStrands.includes(name)),
    )
  }
}

type NamedIndexes<Entry extends Listed> = Map<string, IdIndex<Entry>>

function indexIn<Entry extends Listed>(indexes: NamedIndexes<Entry>, name: string): IdIndex<Entry> {
  let index = indexes.get(name)
  if (index === undefined) indexes.set(name, (index = new IdIndex()))
  return index
}

function leave<Entry extends Listed>(
  indexes: NamedIndexes<Entry>,
  name: string,
  act: (index: IdIndex<Entry>) => void,
): void {
  const index = indexes.get(name)
  if (index === undefined) return
  act(index)
  if (index.size === 0) indexes.delete(name)
}

/** A list for each tag, named like it. */
export function tagLists({
  record: { tags },
}: {
  readonly record: { readonly tags: readonly string[] }
}): readonly string[] {
  return tags.length < 2 ? tags : [...new Set(tags)]
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
    const holder = this.latest(key)
    const expiresAt = holder?.record.key?.expiresAt
    return expiresAt === undefined || now < expiresAt ? holder : undefined
  }

  /** The one that was stored last with `key`. */
  latest({ scope, value }: Key): Entry | undefined {
    const holders = this.#scopes.get(scope)?.get(value)
    return holders instanceof Holders ? holders.last : holders
  }

  /** All that were stored with `key`, the oldest first. */
  all({ scope, value }: Key): readonly Entry[] {
    const holders = this.#scopes.get(scope)?.get(value)
    if (holders === undefined) return []
    return holders instanceof Holders ? holders.all : [holders]
  }

  /** All that were stored with any key of a scope. */
  scoped(scope: string): readonly Entry[] {
    const values = this.#scopes.get(scope)?.values() ?? []
    return [...values].flatMap((holders) => (holders instanceof Holders ? holders.all : holders))
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
