import type { ChunkRecord, RunRecord, SegmentEnd } from '../../contract/records.ts'
import { StreamInterruptedError } from '../../api/errors.ts'
import { readEffect } from '../../contract/question-keys.ts'
import type { ChunkPage } from '../../api/stream-page.ts'
import { errorToJson } from '../host/error-to-json.ts'
import type { Kernel } from '../kernel.ts'
import type { StreamReader } from './stream-reader.ts'

/** The first and the last chunk of a row. */
type Row = readonly [first: number, last: number]
type IsRecorded = (from: number, to: number) => boolean

/**
 * Reads a stream as if its run had been executed once: without the chunks of lost attempts, but for those that no later attempt
 * writes again, because the effects that wrote them are recorded.
 */
export class LastAttempt {
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #reader: StreamReader
  /** Where the chunks begin that were shown of the segment; a reader that was cut off has seen it from its start. */
  #shownFrom: number | undefined
  #isResumed: boolean
  #attempt = 0
  /** Of a segment that is lost: its effects are recorded, or will not be. */
  #isRecorded: Promise<IsRecorded> | undefined

  constructor(kernel: Kernel, runId: string, reader: StreamReader) {
    this.#kernel = kernel
    this.#runId = runId
    this.#reader = reader
    this.#isResumed = reader.isResumed
  }

  /**
   * What is shown of a page. It ends the stream, or does not end.
   *
   * @throws StreamInterruptedError if chunks were shown that a later attempt writes again.
   */
  async shown(page: ChunkPage, run: RunRecord): Promise<readonly ChunkPage[]> {
    const { attempt, start, first, chunks, isLost, end } = page
    if (attempt !== this.#attempt) {
      this.#attempt = attempt
      this.#isRecorded = undefined
      this.#shownFrom = this.#isResumed ? start : undefined
      this.#isResumed = false
    }
    if (!isLost) {
      this.#shownFrom ??= first
      return end?.reason === 'interrupted' ? [{ ...page, end: await this.#endOf(page, end, run) }] : [page]
    }
    const isRecorded = await (this.#isRecorded ??= this.#recorded())
    if (!isRecorded(this.#shownFrom ?? first, first))
      throw new StreamInterruptedError(this.#reader.key, first)
    this.#shownFrom = first + chunks.length
    // How a lost segment ended is of no interest.
    const { end: _, ...rest } = page
    return rowsOf(chunks, (index) => isRecorded(first + index, first + index + 1)).map(({ index, row }) => ({
      ...rest,
      first: first + index,
      chunks: row,
    }))
  }

  /**
   * How a stream has ended that broke off, and that no later attempt goes on with: a reader that reads again would come to the same
   * end. It is complete if its source was stopped by the task, or if a later attempt had nothing to add.
   */
  async #endOf(
    { attempt, start, first, chunks }: ChunkPage,
    { isIntended }: SegmentEnd & { readonly reason: 'interrupted' },
    run: RunRecord,
  ): Promise<SegmentEnd> {
    const next = first + chunks.length
    if (isIntended === true) return { reason: 'done' }
    if (attempt < run.attempt && (await this.#recorded())(start, next)) return { reason: 'done' }
    return { reason: 'failed', errorJson: errorToJson(new StreamInterruptedError(this.#reader.key, next)) }
  }

  /** Whether recorded effects have written all chunks from one to before another one. */
  async #recorded(): Promise<IsRecorded> {
    const { host } = this.#kernel
    const { tokens } = await this.#kernel.read(() => host.storage.runs.asked(this.#runId))
    const rows = tokens.flatMap(({ key, answeredJson }) => {
      if (readEffect(key?.value) === undefined || answeredJson === undefined) return []
      const written = JSON.parse(answeredJson) as Readonly<Record<string, readonly Row[]>>
      return Object.hasOwn(written, this.#reader.key) ? (written[this.#reader.key] ?? []) : []
    })
    rows.sort(([one], [other]) => one - other)
    return (from, to) => {
      let next = from
      for (const [first, last] of rows) if (first <= next) next = Math.max(next, last + 1)
      return next >= to
    }
  }
}

/** The chunks that are kept: those in a row, with the index of the first. */
function rowsOf(
  chunks: readonly ChunkRecord[],
  isKept: (index: number) => boolean,
): readonly { readonly index: number; readonly row: readonly ChunkRecord[] }[] {
  const rows: { index: number; row: ChunkRecord[] }[] = []
  chunks.forEach((chunk, index) => {
    if (!isKept(index)) return
    const latest = rows.at(-1)
    if (latest !== undefined && latest.index + latest.row.length === index) latest.row.push(chunk)
    else rows.push({ index, row: [chunk] })
  })
  return rows
}
