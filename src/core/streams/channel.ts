import type { ChunkRecord, SegmentEnd, SegmentRecord, StreamRecord } from '../../contract/records.ts'
import type { ChunkAppend, ChunksRead, StreamHistory, WriterProgress } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import type { Deferred } from '../../primitives/deferred.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { JsonText, measureJson } from '../../primitives/json.ts'
import { RecentSizes } from '../../primitives/recent-sizes.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { notSerializable } from '../host/serialize.ts'

/** From here on a source is held back until storage has caught up. */
const MOST_PENDING = 1_024

/** The parts of an engine that its streams use. */
export interface ChannelKernel {
  readonly host: Host
  readonly watchers: { wake(topic: string): void; wakeStreams(topic: string, key: string): void }
  readonly events: { error(error: unknown, runId?: string): void }
  readonly outage: Pick<Outage, 'ask' | 'persist' | 'turnOfChunk'>
  readonly reconciler: { stale(attempt: Attempt): void }
}

export interface ChannelOptions {
  readonly attempt: Attempt
  readonly key: string
  readonly history: StreamHistory
  /** The stream as it was opened: its last segment is this attempt's. */
  readonly stream: StreamRecord
}

/**
 * The writing side of one stream in one attempt. Hot: an append is a check and a push; one microtask later all that was
 * appended meanwhile goes to storage in one call, followed by one wake-up of all readers. Readers see what storage has,
 * nothing earlier. The channel keeps the newest chunks for readers that are up to date; without one it keeps nothing.
 */
export class StreamChannel {
  readonly key: string
  readonly #kernel: ChannelKernel
  readonly #options: ChannelOptions
  readonly #topics: readonly [string, string]
  readonly #earlier: readonly SegmentRecord[]
  readonly #segment: SegmentRecord
  readonly #sizes = new RecentSizes()
  readonly #flush = (): void => this.#flushAll()
  readonly #fail = (): void => this.#failed()
  #ring: RingBuffer<ChunkRecord> | undefined
  /** The next chunk when a reader was last up to date. */
  #readAt = 0
  #pending: ChunkRecord[] = []
  /** How far writers outside of the run have got with what is pending; see {@link ChunkAppend.written}. */
  #written: Map<string, number> | undefined
  #next: number
  #tail: number
  /** How the segment ends, as far as its writer knows, and whether storage is still to be told. */
  #end: SegmentEnd | undefined
  #isEndPending = false
  /** How the segment ends, as far as storage knows. */
  #storedEnd: SegmentEnd | undefined
  #isLost = false
  #isFlushing = false
  /** Made for a caller that waits for the flush. */
  #flushed: Deferred<void> | undefined

  constructor(kernel: ChannelKernel, options: ChannelOptions) {
    this.#kernel = kernel
    const { key, attempt, stream } = options
    this.#options = options
    this.key = key
    this.#topics = [streamTopic(attempt.id, key), streamsTopic(attempt.id)]
    const { segments, next } = stream
    this.#earlier = segments.slice(0, -1)
    this.#segment = segments.at(-1) ?? { attempt: attempt.record.attempt, first: next }
    this.#next = next
    this.#tail = next
  }

  /** The sequence number after the last chunk readers can see. */
  get next(): number {
    return this.#next
  }

  /** The sequence number the next chunk appended will get: ahead of `next` while storage is written to. */
  get tail(): number {
    return this.#tail
  }

  /** Whether storage refused a write, and takes no more. */
  get isLost(): boolean {
    return this.#isLost
  }

  /** The chunk that was appended last, in the turn in which it was. */
  get newest(): ChunkRecord | undefined {
    return this.#pending.at(-1)
  }

  /**
   * Adds a chunk; a segment that has ended goes on. Answers a promise when the caller should wait before it adds more.
   * `progress` is stored with the chunk.
   *
   * @throws WaitpointError `ERR_NOT_SERIALIZABLE` with the path of what is not JSON.
   */
  append(value: unknown, progress?: WriterProgress): void | Promise<void> {
    const bytes = isBytes(value) ? -1 : measureJson(value)
    if (bytes < 0) throw refusal(value, this.key)
    if (progress !== undefined) (this.#written ??= new Map()).set(progress.writer, progress.last)
    this.#end = undefined
    this.#sizes.add(bytes)
    this.#tail += 1
    this.#pending.push(JsonText.ofValue(value, bytes))
    if (!this.#isFlushing) this.#beginFlush()
    if (this.#pending.length >= MOST_PENDING) return this.flushed()
  }

  /** Ends the segment: its readers learn it right after the last chunk. */
  end(end: SegmentEnd): Promise<void> {
    if (this.#end !== undefined) return this.flushed()
    this.#end = end
    this.#isEndPending = true
    if (!this.#isFlushing) this.#beginFlush()
    return this.flushed()
  }

  /** Resolves when everything appended so far is stored, or never can be. */
  flushed(): Promise<void> {
    if (!this.#isFlushing) return Promise.resolve()
    this.#flushed ??= createDeferred<void>()
    return this.#flushed.promise
  }

  /** The chunks that readers can see from `from` on; `undefined` when storage has to be asked. */
  read(from: number, limit: number): ChunksRead | undefined {
    const { chunks: capacity, bytes: maxBytes } = this.#options.history
    const ring = (this.#ring ??= new RingBuffer({ capacity, maxBytes, first: this.#next }))
    if (from < ring.first) return undefined
    this.#readAt = this.#next
    const chunks = from >= ring.next ? [] : ring.read(from, limit)
    return { stream: this.#record(), first: from, chunks }
  }

  /**
   * Whether the chunk at `sequence` is more than a few behind, or might be pushed out of the history by the next one,
   * unless that is larger than half of the history.
   */
  isFarBehind(sequence: number): boolean {
    const { chunks, bytes } = this.#options.history
    const count = this.#tail - sequence
    return count >= chunks || this.#sizes.ofLast(count) * 2 > bytes
  }

  #record(): StreamRecord {
    const { attempt, key, stream } = this.#options
    const end = this.#storedEnd
    const segment = end === undefined ? this.#segment : { ...this.#segment, end }
    return {
      runId: attempt.id,
      key,
      first: stream.first,
      next: this.#next,
      segments: [...this.#earlier, segment],
    }
  }

  #beginFlush(): void {
    this.#isFlushing = true
    READY.then(this.#flush, this.#fail)
  }

  /** Until nothing is left: in one go on a storage that answers at once. */
  #flushAll(): void {
    while ((this.#pending.length > 0 || this.#isEndPending) && !this.#isLost) {
      const stored = this.#store()
      if (!isPromise(stored)) continue
      stored.then(this.#flush, this.#fail)
      return
    }
    // In the same step as the last look: chunks appended from now on find no flush under way.
    if (this.#isLost) this.#pending = []
    this.#isFlushing = false
    this.#flushed?.resolve()
    this.#flushed = undefined
  }

  /** The failure was reported, and there will be no other try: the engine is closed. */
  #failed(): void {
    this.#isLost = true
    this.#flushAll()
  }

  #store(): void | Promise<void> {
    const { host } = this.#kernel
    if (host.isClosed) {
      this.#isLost = true
      return
    }
    const { attempt, key, history } = this.#options
    const chunks = this.#pending
    const end = this.#isEndPending ? this.#end : undefined
    const written = this.#written && progressOf(this.#written)
    this.#pending = []
    this.#written = undefined
    this.#isEndPending = false
    const append: ChunkAppend = {
      runId: attempt.id,
      key,
      epoch: attempt.record.epoch,
      first: this.#next,
      chunks,
      end,
      written,
      history,
      by: host.owner,
    }
    const stored = this.#kernel.outage.persist(attempt, () => host.storage.chunks.append(append))
    return chain(stored, (answer) => this.#stored(chunks, end, answer))
  }

  #stored(chunks: readonly ChunkRecord[], end: SegmentEnd | undefined, answer: 'appended' | 'stale'): void {
    if (answer === 'stale') {
      this.#isLost = true
      this.#kernel.reconciler.stale(this.#options.attempt)
      return
    }
    if (this.#ring !== undefined) this.#keep(this.#ring, chunks)
    this.#next += chunks.length
    this.#storedEnd = end
    this.wake()
  }

  /** A reader that stands still for a whole history will have to ask storage: nothing is kept for it here. */
  #keep(ring: RingBuffer<ChunkRecord>, chunks: readonly ChunkRecord[]): void {
    if (this.#next - this.#readAt > this.#options.history.chunks) this.#ring = undefined
    else for (const chunk of chunks) ring.push(chunk, chunk.bytes)
  }

  /** One wake-up for all readers, however many chunks came. */
  wake(): void {
    const { watchers } = this.#kernel
    const [one, all] = this.#topics
    watchers.wake(one)
    watchers.wakeStreams(all, this.key)
  }
}

const READY = Promise.resolve()

function progressOf(written: ReadonlyMap<string, number>): readonly WriterProgress[] {
  return Array.from(written, ([writer, last]) => ({ writer, last }))
}

/** A Buffer would pass: it has a `toJSON`, from which bytes cannot be made again without knowing. */
function isBytes(value: unknown): boolean {
  if (typeof value !== 'object') return false
  return ArrayBuffer.isView(value) || value instanceof ArrayBuffer
}

function refusal(value: unknown, key: string): WaitpointError {
  const subject = `a chunk of stream "${key}"`
  if (!isBytes(value)) return notSerializable(value, subject)
  const message =
    `Cannot store ${subject}: $ is not JSON: raw bytes; pipe them through \`new TextDecoderStream()\`, ` +
    'or set the encoding of a Node stream'
  return new WaitpointError('ERR_NOT_SERIALIZABLE', message)
}

/** The topic that a reader of one stream watches. */
export function streamTopic(runId: string, key: string): string {
  return `${runId} stream ${key}`
}

/** The topic that a reader of all streams of a run watches. */
export function streamsTopic(runId: string): string {
  return `${runId} streams`
}
