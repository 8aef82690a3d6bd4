import type { RunRecord } from '../../contract/records.ts'
import type { Kernel } from '../../core/kernel.ts'
import { sha256 } from '../../primitives/digest.ts'
import type { RunReads } from './run-reads.ts'
import { RunRow } from './run-row.ts'
import type { ShapeNews } from './answer.ts'
import type { ShapeEntry, ShapeLog } from './log.ts'
import type { ShapeOffset } from './request.ts'
/** From so many changed runs on it is less to page through the set. */
const MANY = 100
/** However well all changes are known, what is followed for so long is read once more: nobody may have been told. */
const REREAD_MS = 60_000

export interface RunSetShapeOptions {
  readonly kernel: Kernel
  readonly log: ShapeLog
  readonly reads: RunReads
  readonly set: RunSet
  /** Who asks. */
  readonly handle: string
}

/**
 * A set of runs as a shape. What each subscriber has seen is remembered for as long as there is room, so that after a
 * change only what changed is read; who is not known, or says another number than the last answer had, because that was
 * lost, is told all rows: that changes nothing for it.
 */
export class RunSetShape {
  readonly #options: RunSetShapeOptions
  readonly #handle: string
  /** What the log knows it by: not as long as the tags may be. */
  readonly #subscriber: string

  constructor(options: RunSetShapeOptions) {
    const { handle, set } = options
    this.#options = options
    this.#handle = handle
    this.#subscriber = sha256(`${handle} ${set.name}`, 'base64url')
  }

  /** What there is. */
  async all(): Promise<ShapeNews> {
    const { rows, ...place } = await this.#listed()
    return this.#told(rows, { ...place, number: 1, versions: versionsOf(rows) }, 0)
  }

  /** The rows that are not as they were seen, if any. */
  async since(seen: ShapeOffset): Promise<ShapeNews | undefined> {
    const { log } = this.#options
    const entry = log.get(this.#subscriber)
    const known = entry?.number === seen.number ? entry : undefined
    const { rows, isAll, ...place } = await this.#current(known)
    const news = rows.filter(({ id, version }) => known?.versions.get(id) !== version)
    if (news.length === 0) {
      if (known !== undefined) log.set(this.#subscriber, { ...known, ...place })
      return undefined
    }
    // What is no longer in the set need not be remembered; that is known once all of it was read.
    const versions = new Map([...((isAll ? undefined : known?.versions) ?? []), ...versionsOf(rows)])
    return this.#told(news, { ...place, number: seen.number + 1, versions }, seen.at)
  }

  /** Nothing new. */
  unchanged(seen: ShapeOffset): ShapeNews {
    return { rows: [], offset: seen, handle: this.#handle }
  }

  /** What may have changed for a subscriber; all there is if nobody knows what that is. */
  async #current(known: ShapeEntry | undefined): Promise<CurrentRows> {
    const { kernel, set, reads } = this.#options
    const { host, publisher } = kernel
    const { place } = publisher.changedRuns
    const isOld = known === undefined || host.now() - known.readAt >= REREAD_MS
    const changed = isOld ? undefined : publisher.changedRuns.since(known.place)
    if (isOld || changed === undefined) return this.#listed()
    const ids = set.among(changed)
    if (ids.length > MANY) return this.#listed()
    const records = await Promise.all(ids.map((id) => reads.read(id)))
    const own = records.filter((record) => record !== undefined && set.has(record)) as readonly RunRecord[]
    return { rows: rowsOf(own), isAll: false, place, readAt: known.readAt }
  }

  async #listed(): Promise<CurrentRows> {
    const { kernel, set } = this.#options
    const { host, publisher } = kernel
    const { place } = publisher.changedRuns
    const readAt = host.now()
    return { rows: rowsOf(await set.list()), isAll: true, place, readAt }
  }

  #told(rows: readonly RunRow[], entry: ShapeEntry, seenAt: number): ShapeNews {
    this.#options.log.set(this.#subscriber, entry)
    const at = rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), seenAt)
    return { rows, offset: { at, number: entry.number }, handle: this.#handle }
  }
}

/** Rows as they are now, and how far the changes were known before they were read. */
interface CurrentRows extends Pick<ShapeEntry, 'place' | 'readAt'> {
  readonly rows: readonly RunRow[]
  readonly isAll: boolean
}

function rowsOf(records: readonly RunRecord[]): readonly RunRow[] {
  return records.map((record) => new RunRow(record))
}

function versionsOf(rows: readonly RunRow[]): ReadonlyMap<string, number> {
  return new Map(rows.map(({ id, version }) => [id, version]))
}

/** Several runs that somebody follows at once. */
export interface RunSet {
  /** The same text for the same set. */
  readonly name: string
  /** All that there are. */
  list(): Promise<readonly RunRecord[]>
  /** Of runs that changed, those that are worth reading. */
  among(ids: ReadonlySet<string>): readonly string[]
  /** Whether a run is one of them. */
  has(record: RunRecord): boolean
}
