import type { Kernel } from '../core/kernel.ts'
import { sha256 } from '../primitives/digest.ts'
import { RunRow } from './run-row.ts'
import type { RunSet } from './run-set.ts'
import type { ShapeNews } from './shape-answer.ts'
import type { ShapeLog } from './shape-log.ts'
import type { ShapeOffset } from './shape-request.ts'

export interface RunSetShapeOptions {
  readonly kernel: Kernel
  readonly log: ShapeLog
  readonly set: RunSet
  /** Who asks. */
  readonly handle: string
}

/**
 * A set of runs as a shape. What each subscriber has seen is remembered for as long as there is room; who is not known,
 * or says another number than the last answer had, because that was lost, is told all rows: that changes nothing for it.
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
    return this.#told(await this.#rows(), { at: 0, number: 0 })
  }

  /** The rows that are not as they were seen, if any. */
  async since(seen: ShapeOffset): Promise<ShapeNews | undefined> {
    const rows = await this.#rows()
    const entry = this.#options.log.get(this.#subscriber)
    const known = entry?.number === seen.number ? entry.versions : new Map<string, number>()
    const isNews = ({ id, version }: RunRow): boolean => known.get(id) !== version
    if (!rows.some(isNews)) return undefined
    return { ...this.#told(rows, seen), rows: rows.filter(isNews) }
  }

  /** Nothing new. */
  unchanged(seen: ShapeOffset): ShapeNews {
    return { rows: [], offset: seen, handle: this.#handle }
  }

  async #rows(): Promise<readonly RunRow[]> {
    const { set, kernel } = this.#options
    return (await set.list(kernel)).map((record) => new RunRow(record))
  }

  #told(rows: readonly RunRow[], seen: ShapeOffset): ShapeNews {
    const number = seen.number + 1
    const versions = new Map(rows.map(({ id, version }) => [id, version]))
    this.#options.log.set(this.#subscriber, { number, versions })
    const at = rows.reduce((latest, { updatedAt }) => Math.max(latest, updatedAt), seen.at)
    return { rows, offset: { at, number }, handle: this.#handle }
  }
}
