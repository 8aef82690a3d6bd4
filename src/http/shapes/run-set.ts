import type { RunRecord } from '../../contract/records.ts'
import { type Inside, sizeOfRun, type Turns } from '../../core/inside.ts'
import { sha256 } from '../../primitives/digest.ts'
import type { RunReads } from './run-reads.ts'
import { RunRow } from './run-row.ts'
import type { ReadAgain, ShapeChanges, ShownRow } from './answer.ts'
import type { ShapeEntry, ShapeLog } from './log.ts'
import type { ShapeOffset } from './request.ts'
import { keptSize, SetPage } from './set-page.ts'

/** From this number of changed runs on, paging through the set is cheaper than single reads. */
const MANY = 100
/** A followed set is read completely after this time, in case a hint was lost. */
const REREAD_MS = 60_000
/** Runs are kept up to this size of all between reading and sending them. Those beyond it are read again when they are sent. */
const KEPT_BYTES = 4 * 1_024 * 1_024

export interface RunSetShapeOptions {
  readonly inside: Inside
  readonly log: ShapeLog
  readonly reads: RunReads
  readonly set: RunSet
  readonly turns: Turns
  /** Identifies the subscriber. */
  readonly handle: string
}

/**
 * A set of runs as a shape. The server remembers the knowledge of each subscriber while there is room, so that after a
 * change only changed runs are read. An unknown subscriber, or one whose position does not match the last answer
 * because that answer was lost, receives all rows, which is harmless.
 */
export class RunSetShape {
  readonly #options: RunSetShapeOptions
  readonly #handle: string
  /** The key of the subscriber in the log; shorter than the tags may be. */
  readonly #subscriber: string

  constructor(options: RunSetShapeOptions) {
    const { handle, set } = options
    this.#options = options
    this.#handle = handle
    this.#subscriber = sha256(`${handle} ${set.name}`, 'base64url')
  }

  /** All current rows. */
  async all(): Promise<ShapeChanges> {
    const { rows, ...place } = await this.#listed()
    return this.#told(rows, { ...place, number: 1, versions: versionsOf(rows) }, 0)
  }

  /** The rows that changed since a position, or `undefined` if there are none. */
  async since(seen: ShapeOffset): Promise<ShapeChanges | undefined> {
    const { log } = this.#options
    const entry = log.get(this.#subscriber)
    const known = entry?.number === seen.number ? entry : undefined
    const { rows, isAll, ...place } = await this.#current(known)
    const changed = rows.filter(({ id, version }) => known?.versions.get(id) !== version)
    if (changed.length === 0) {
      if (known !== undefined) log.set(this.#subscriber, { ...known, ...place })
      return undefined
    }
    // Runs that left the set are forgotten. They are known after the whole set was read.
    const versions = new Map([...((isAll ? undefined : known?.versions) ?? []), ...versionsOf(rows)])
    return this.#told(changed, { ...place, number: seen.number + 1, versions }, seen.at)
  }

  /** An answer without changes. */
  unchanged(seen: ShapeOffset): ShapeChanges {
    return { rows: [], offset: seen, handle: this.#handle }
  }

  /** The rows that may have changed for a subscriber; all rows if the changes are not known. */
  async #current(known: ShapeEntry | undefined): Promise<CurrentRows> {
    const { inside, set } = this.#options
    const { host, news } = inside
    const { place } = news.changedRuns
    const isOld = known === undefined || host.now() - known.readAt >= REREAD_MS
    const changed = isOld ? undefined : news.changedRuns.since(known.place)
    if (isOld || changed === undefined) return this.#listed()
    const ids = set.among(changed)
    if (ids.length > MANY) return this.#listed()
    return { rows: await this.#rowsOf(this.#pagesOf(ids)), isAll: false, place, readAt: known.readAt }
  }

  async #listed(): Promise<CurrentRows> {
    const { inside, set } = this.#options
    const { host, news } = inside
    const { place } = news.changedRuns
    const readAt = host.now()
    return { rows: await this.#rowsOf(set.pages()), isAll: true, place, readAt }
  }

  /** The runs of these that belong to the set. */
  async *#pagesOf(ids: readonly string[]): AsyncGenerator<readonly RunRecord[]> {
    const { set, reads } = this.#options
    const page = new SetPage()
    for (let at = 0; at < ids.length;) {
      const asked = ids.slice(at, at + page.size)
      at += asked.length
      const records = (await Promise.all(asked.map((id) => reads.read(id)))).filter(
        (record) => record !== undefined,
      )
      page.read(records)
      yield records.filter((record) => set.has(record))
    }
  }

  /** Of large sets most rows are not kept: they are read again when they are sent. */
  async #rowsOf(pages: AsyncIterable<readonly RunRecord[]>): Promise<readonly ShownRow[]> {
    const rows: ShownRow[] = []
    let bytes = 0
    for await (const records of pages) {
      for (const record of records) {
        bytes += keptSize(record)
        await this.#options.turns.next(sizeOfRun(record))
        const row = new RunRow(record)
        const { id, updatedAt, version } = row
        rows.push({ id, updatedAt, version, row: bytes > KEPT_BYTES ? undefined : row })
      }
    }
    return rows
  }

  readonly #readAgain: ReadAgain = async (id) => {
    const { inside, turns } = this.#options
    const record = await inside.read(() => inside.host.storage.runs.get(id))
    if (record === undefined) return undefined
    await turns.next(sizeOfRun(record))
    return new RunRow(record)
  }

  #told(rows: readonly ShownRow[], entry: ShapeEntry, seenAt: number): ShapeChanges {
    this.#options.log.set(this.#subscriber, entry)
    const at = rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), seenAt)
    const readAgain = this.#readAgain
    return { rows, readAgain, offset: { at, number: entry.number }, handle: this.#handle }
  }
}

/** Current rows, and the state of the change counter before they were read. */
interface CurrentRows extends Pick<ShapeEntry, 'place' | 'readAt'> {
  readonly rows: readonly ShownRow[]
  readonly isAll: boolean
}

function versionsOf(rows: readonly ShownRow[]): ReadonlyMap<string, number> {
  return new Map(rows.map(({ id, version }) => [id, version]))
}

/** A set of runs that subscribers follow together. */
export interface RunSet {
  /** Equal for equal sets. */
  readonly name: string
  /** All runs of the set. A page is as many of them as are in memory at once. */
  pages(): AsyncIterable<readonly RunRecord[]>
  /** Selects the changed runs that are worth reading. */
  among(ids: ReadonlySet<string>): readonly string[]
  /** Whether a run belongs to the set. */
  has(record: RunRecord): boolean
}
