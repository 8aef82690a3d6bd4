import type { RunRecord } from '../../contract/records.ts'
import { RunRow } from './run-row.ts'
import type { ShapeNews } from './answer.ts'
import { type ShapeOffset, UNSEEN } from './request.ts'

/**
 * One run as a shape. The server stores nothing about its subscribers: an offset is the version of the row that the
 * subscriber has seen. Any other version is news, also within one millisecond and after a restart.
 */
export class RunShape {
  readonly #find: () => Promise<RunRecord | undefined>
  readonly #handle: string

  constructor(id: string, find: () => Promise<RunRecord | undefined>) {
    this.#find = find
    // The id comes from the request, and goes into a header.
    this.#handle = encodeURIComponent(id)
  }

  /** The current row. */
  async all(): Promise<ShapeNews> {
    const row = await this.#row()
    return this.#news(row === undefined ? [] : [row], row === undefined ? UNSEEN : offsetOf(row))
  }

  /** The row, if it changed since a position; otherwise `undefined`. */
  async since(seen: ShapeOffset): Promise<ShapeNews | undefined> {
    const row = await this.#row()
    if (row === undefined)
      return seen.at === UNSEEN.at ? undefined : { ...this.#news([], UNSEEN), isGone: true }
    const offset = offsetOf(row)
    return offset.at === seen.at && offset.number === seen.number ? undefined : this.#news([row], offset)
  }

  /** An answer without news. */
  unchanged(seen: ShapeOffset): ShapeNews {
    return this.#news([], seen)
  }

  async #row(): Promise<RunRow | undefined> {
    const record = await this.#find()
    return record && new RunRow(record)
  }

  #news(rows: readonly RunRow[], offset: ShapeOffset): ShapeNews {
    return { rows, offset, handle: this.#handle }
  }
}

function offsetOf({ updatedAt, version }: RunRow): ShapeOffset {
  return { at: updatedAt, number: version }
}
