import type { RunRecord } from '../../contract/records.ts'
import { RunRow } from './run-row.ts'
import type { ShapeChanges } from './answer.ts'
import { type ShapeOffset, UNSEEN } from './request.ts'

/**
 * One run as a shape. The server stores nothing about its subscribers: an offset is the version of the row that the
 * subscriber has seen. Any other version is a change, also within one millisecond and after a restart.
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
  async all(): Promise<ShapeChanges> {
    const row = await this.#row()
    return this.#changes(row === undefined ? [] : [row], row === undefined ? UNSEEN : offsetOf(row))
  }

  /** The row, if it changed since a position; otherwise `undefined`. */
  async since(seen: ShapeOffset): Promise<ShapeChanges | undefined> {
    const row = await this.#row()
    if (row === undefined)
      return seen.at === UNSEEN.at ? undefined : { ...this.#changes([], UNSEEN), isGone: true }
    const offset = offsetOf(row)
    return offset.at === seen.at && offset.number === seen.number ? undefined : this.#changes([row], offset)
  }

  /** An answer without changes. */
  unchanged(seen: ShapeOffset): ShapeChanges {
    return this.#changes([], seen)
  }

  async #row(): Promise<RunRow | undefined> {
    const record = await this.#find()
    return record && new RunRow(record)
  }

  #changes(rows: readonly RunRow[], offset: ShapeOffset): ShapeChanges {
    const shown = rows.map((row) => ({ id: row.id, updatedAt: row.updatedAt, version: row.version, row }))
    return { rows: shown, offset, handle: this.#handle }
  }
}

function offsetOf({ updatedAt, version }: RunRow): ShapeOffset {
  return { at: updatedAt, number: version }
}
