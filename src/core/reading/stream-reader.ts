import type { ChunkRecord, SegmentEnd, SegmentRecord, StreamRecord } from '../../contract/records.ts'
import type { ChunksRead } from '../../contract/storage.ts'
import { badness } from '../../contract/segment-ends.ts'
import { StreamLaggedError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import { type ChunkPage, segmentFailure } from '../../api/stream-page.ts'

/** As many chunks as are read at once, to begin with and at most; and how large they may be together, if it can be known. */
const FIRST_CHUNKS = 16
const MOST_CHUNKS = 256
const PAGE_BYTES = 4 * 1_024 * 1_024

/** The stream to read, and where. */
export interface StreamPlace {
  readonly runId: string
  readonly key: string
  /** The sequence number to begin at. Default: 0. */
  readonly from?: number | undefined
  /**
   * Whether the reader was cut off there. Otherwise a reader that begins where an attempt was lost knows that, and asks for
   * the chunks of the next one.
   */
  readonly isResumed?: boolean
  /** Only what no later attempt writes again. */
  readonly isLast?: boolean
}

/** A cursor on one stream: a position, and the segment it stands in. */
export class StreamReader {
  readonly key: string
  readonly isLast: boolean
  readonly isResumed: boolean
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #first: number
  #position: number
  #segment: number | undefined
  #limit = FIRST_CHUNKS

  constructor(kernel: Kernel, { runId, key, from = 0, isResumed = false, isLast = false }: StreamPlace) {
    this.#kernel = kernel
    this.#runId = runId
    this.key = key
    this.isResumed = isResumed
    this.isLast = isLast
    this.#first = from
    this.#position = from
  }

  /**
   * The next chunks there are; a segment that has ended is answered once with its `end`, then the next one follows.
   * `undefined` for a stream that does not exist yet. `isOver` says that the run has ended.
   *
   * @throws StreamLaggedError when the next chunk is no longer kept; the chunks after it come with the next call.
   */
  async take(isOver: boolean): Promise<ChunkPage | undefined> {
    const request = { runId: this.#runId, key: this.key, from: this.#position, limit: this.#limit }
    const read = await this.#kernel.read(() =>
      this.#kernel.streams.read(request, { isOver, attempt: this.#kernel.attempt() }),
    )
    if (read === undefined) return undefined
    this.#limit = nextLimit(read.chunks, this.#limit)
    const missed = read.first - this.#position
    if (missed <= 0) return this.#page(read, isOver)
    this.#position = read.first
    this.#segment = undefined
    throw new StreamLaggedError(this.key, missed, read.first)
  }

  /** The error that the end of a segment is to a reader of one stream; none when its source was done. */
  failureOf(end: SegmentEnd): Error | undefined {
    return segmentFailure(end, { key: this.key, next: this.#position })
  }

  #page({ stream, chunks: read }: ChunksRead, isOver: boolean): ChunkPage {
    const { segments } = stream
    const index = (this.#segment ??= segmentAt(stream, this.#known))
    const isFollowed = segments.length > index + 1
    const next = segments[index + 1]?.first ?? stream.next
    const first = this.#position
    const chunks = read.length > next - first ? read.slice(0, next - first) : read
    this.#position += chunks.length
    const hasNext = this.#position >= next && isFollowed
    const { attempt = 1, first: start = 0, end } = (segments[index] ?? {}) as Partial<SegmentRecord>
    const isLost = isFollowed || (!isOver && isCut(end))
    const page = { attempt, first, chunks, hasNext, start, isLost }
    if (end === undefined || this.#position < next) return page
    if (hasNext) this.#segment = index + 1
    return this.#isKnown(end, isOver) ? page : { ...page, end }
  }

  /** The last position that it knows of. What it had read before it was cut off may be lost. */
  get #known(): number {
    return this.isLast && this.isResumed ? this.#position - 1 : this.#position
  }

  /** Began where a lost attempt broke off, for the chunks of the next one; without any chunk, as long as one may come. */
  #isKnown({ reason }: SegmentEnd, isOver: boolean): boolean {
    const isAtBreak = reason === 'interrupted' && this.#position === this.#first
    return isAtBreak && !this.isResumed && (this.#first > 0 || !isOver)
  }
}

/**
 * How many chunks to read next: as many as the largest of these would fill a page. Only full pages make it larger, step
 * by step: the next chunks may be larger than all before them.
 */
function nextLimit(chunks: readonly ChunkRecord[], limit: number): number {
  if (chunks.length === 0) return limit
  const largest = chunks.reduce((most, { bytes }) => Math.max(most, bytes), 1)
  const fitting = Math.max(1, Math.floor(PAGE_BYTES / largest))
  return Math.min(fitting, chunks.length < limit ? limit : 4 * limit, MOST_CHUNKS)
}

/** The attempt that wrote the segment was lost. */
function isCut(end: SegmentEnd | undefined): boolean {
  return end !== undefined && badness(end) === 2
}

/** The last segment that starts at or before a position. */
function segmentAt({ segments }: StreamRecord, position: number): number {
  let index = segments.length - 1
  while (index > 0 && (segments[index]?.first ?? 0) > position) index -= 1
  return Math.max(0, index)
}
