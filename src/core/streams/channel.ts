import type {
  ChunkRecord,
  RunRecord,
  SegmentEnd,
  SegmentRecord,
  StreamRecord,
} from '../../contract/records.ts'
import type { ChunksMoved, ChunksRead, StreamHistory, WriterProgress } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import type { Deferred } from '../../primitives/deferred.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { JsonText, measureJson } from '../../primitives/json.ts'
import { RecentSizes } from '../../primitives/recent-sizes.ts'
import { RingBuffer } from '../../primitives/ring-buffer.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Watchers } from '../changes/watchers.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import type { Attempt } from '../attempt/attempt.ts'
import { isFinal } from '../../contract/run-states.ts'
import { runNotFound } from '../../api/not-found.ts'
import { notSerializable } from '../../api/serialize.ts'
import { GET_RUN } from '../host/storage-calls.ts'
import type { Upcalls } from '../upcalls.ts'

/** From here on a source is held back until storage has caught up. */
const MOST_PENDING = 1_024

/** The parts of an engine that a stream uses. */
export interface ChannelParts {
  readonly host: Host
  readonly outage: Outage
  readonly watchers: Watchers
  readonly upcalls: Pick<Upcalls, 'stale'>
}

export interface ChannelOptions {
  readonly attempt: Attempt
  readonly key: string
  readonly history: StreamHistory
  /** The stream as it was opened: its last segment is this attempt's. Absent for a stream of another run. */
  readonly stream?: StreamRecord
  /** The stream is one of another run. */
  readonly of?: OtherRun
}

/** Another run, to a stream of which an attempt writes. */
export interface OtherRun {
  readonly runId: string
  /** How often the attempt has closed its streams before, as at its return: its hooks write to new ones. */
  readonly closed: number
  /** Its readers here are told of chunks; `isNew`: also of the key. */
  readonly changed: (isNew: boolean) => void
}

/** Is told what becomes of the chunks of a channel. */
export interface ChannelListener {
  /** Chunks of other runs came before those from `from` on, which have numbers that are higher by so many. */
  moved(from: number, by: number): void
  /** The other run takes no chunks. */
  refused(error: Error): void
}

/** How far the writer of a chunk has got with it. Without a number: to the place of the chunk. */
export interface ChunkProgress extends Omit<WriterProgress, 'last'> {
  readonly last?: number
}

/** Chunks and an end that are one call. */
interface Batch {
  readonly chunks: readonly ChunkRecord[]
  readonly end: SegmentEnd | undefined
  readonly written: ReadonlyMap<string, number> | undefined
}

/**
 * The writing side of one stream in one attempt. Hot: an append is a check and a push; one microtask later all that was
 * appended meanwhile goes to storage in one call, followed by one wake-up of all readers. Readers see what storage has,
 * nothing earlier. The channel keeps the newest chunks for readers that are up to date; without one it keeps nothing.
 *
 * Other runs may add chunks to the stream of a run, in storage alone. From the first that is known on, all readers ask
 * storage. The channel of such a writer numbers its own chunks, from 0: where they are in the stream only storage knows.
 */
export class StreamChannel {
  readonly key: string
  /** Whether the other run was not there, or had not begun: it may take chunks of another channel, later. */
  isEarly = false
  readonly #kernel: ChannelParts
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
  /**
   * How far writers outside of the run have got with what is pending; see {@link ChunkAppend.written}. The writer of a chunk that is
   * appended once gets the place of the chunk: here `-1`, less its index among the pending ones.
   */
  #written: Map<string, number> | undefined
  #next: number
  #tail: number
  /** How the segment ends, as far as its writer knows, and whether storage is still to be told. */
  #end: SegmentEnd | undefined
  #isEndPending = false
  /** How the segment ends, as far as storage knows. */
  #storedEnd: SegmentEnd | undefined
  #isLost = false
  /** Others write to the stream as well: what they have added, and how it ends, storage knows. */
  #isShared: boolean
  /** A hint of that may have been lost. */
  #isDoubted = false
  /** The stream of another run is to be opened. */
  #isOpening: boolean
  /** Why the other run takes no chunks. */
  #refusal: Error | undefined
  #listener: ChannelListener | undefined
  #isFlushing = false
  /** Made for a caller that waits for the flush. */
  #flushed: Deferred<void> | undefined

  constructor(kernel: ChannelParts, options: ChannelOptions) {
    this.#kernel = kernel
    const { key, attempt, stream, of } = options
    this.#options = options
    this.key = key
    const runId = of?.runId ?? attempt.id
    this.#topics = [streamTopic(runId, key), streamsTopic(runId)]
    const next = stream?.next ?? 0
    this.#earlier = stream?.segments.slice(0, -1) ?? []
    this.#segment = stream?.segments.at(-1) ?? { attempt: attempt.record.attempt, first: next }
    this.#next = next
    this.#tail = next
    this.#isShared = this.#segment.first < next
    this.#isOpening = of !== undefined
    if (this.#isOpening) this.#beginFlush()
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

  /** Why the other run takes no chunks, if it does not. */
  get refusal(): Error | undefined {
    return this.#refusal
  }

  /** To be called once. */
  listen(listener: ChannelListener): void {
    this.#listener = listener
  }

  /** Others write to the stream as well. */
  share(): void {
    this.#isShared = true
    this.#ring = undefined
  }

  /** Others may write to the stream: a hint may have been lost. */
  doubt(): void {
    this.#isDoubted = true
  }

  /** Storage has told a reader where the stream ends. */
  told(next: number): void {
    if (next > this.#tail) this.share()
    else if (next === this.#next) this.#isDoubted = false
  }

  /** The chunk that was appended last, in the turn in which it was. */
  get newest(): ChunkRecord | undefined {
    return this.#pending.at(-1)
  }

  /**
   * Adds a chunk; a segment that has ended goes on. Answers a promise when the caller should wait before it adds more.
   * `progress` is stored with the chunk; without a number it is the place of the chunk.
   *
   * @throws WaitpointError `ERR_NOT_SERIALIZABLE` with the path of what is not JSON.
   */
  append(value: unknown, progress?: ChunkProgress): void | Promise<void> {
    const chunk = chunkRecord(value, this.key)
    if (this.#refusal !== undefined) throw this.#refusal
    if (progress !== undefined) {
      const { writer, last = -1 - this.#pending.length } = progress
      ;(this.#written ??= new Map<string, number>()).set(writer, last)
    }
    this.#end = undefined
    this.#sizes.add(chunk.bytes)
    this.#tail += 1
    this.#pending.push(chunk)
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
    if (this.#isShared || this.#isDoubted) return undefined
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
      first: stream?.first ?? 0,
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
    while ((this.#pending.length > 0 || this.#isEndPending || this.#isOpening) && !this.#isLost) {
      const stored = this.#store()
      if (!isPromise(stored)) continue
      this.#options.attempt.writes(stored)
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
    const batch = {
      chunks: this.#pending,
      end: this.#isEndPending ? this.#end : undefined,
      written: this.#written,
    }
    this.#pending = []
    this.#written = undefined
    this.#isEndPending = false
    return this.#options.of === undefined ? this.#append(batch) : this.#add(batch, this.#options.of)
  }

  #append(batch: Batch): void | Promise<void> {
    const { host, outage } = this.#kernel
    const { attempt, key, history } = this.#options
    const { chunks, end } = batch
    const written = batch.written && progressOf(batch.written, this.#next)
    // Field by field: with spreads a million chunks grow the process by up to 80 MB instead of 13.
    const append = {
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
    const stored = outage.persist(attempt, () => host.storage.chunks.append(append))
    return chain(stored, (answer) => this.#appended(batch, answer))
  }

  #appended(batch: Batch, answer: 'appended' | 'stale' | ChunksMoved): void | Promise<void> {
    if (typeof answer === 'object') {
      this.#move(answer.next)
      return this.#append(batch)
    }
    this.#stored(batch, answer === 'stale')
  }

  /** Chunks of other runs come before those that are not stored yet. */
  #move(next: number): void {
    const from = this.#next
    this.share()
    this.#next = next
    this.#tail += next - from
    this.#listener?.moved(from, next - from)
  }

  #add(batch: Batch, of: OtherRun): void | Promise<void> {
    const { host, outage } = this.#kernel
    const { attempt, key, history } = this.#options
    const { chunks, end } = batch
    const { id, record } = attempt
    const { epoch } = record
    const last = this.#next + chunks.length - 1
    // A channel that comes after another one counts from 0, too.
    const written = chunks.length === 0 ? undefined : { writer: `run ${id} ${epoch} ${of.closed}`, last }
    const add = {
      runId: of.runId,
      key,
      fence: { runId: id, epoch },
      chunks,
      end,
      written,
      history,
      by: host.owner,
      now: host.now(),
    }
    const isNew = this.#isOpening
    this.#isOpening = false
    const stored = outage.persist(attempt, () => host.storage.chunks.add?.(add))
    return chain(stored, (answer) => {
      if (answer === 'closed') return this.#refused(batch, of)
      this.#stored(batch, answer === 'stale')
      if (answer === 'added') of.changed(isNew)
    })
  }

  /** The other run takes no chunks: what is appended from now on is refused at once. */
  #refused(batch: Batch, of: OtherRun): void | Promise<void> {
    const { runId } = of
    const { attempt, key } = this.#options
    const read = this.#kernel.outage.ask({ attempt, call: GET_RUN, request: runId }, (record) => record)
    return chain(read, (record) => {
      const isOver = record !== undefined && isFinal(record.status)
      if (!isOver && record?.attempt) {
        // It has begun meanwhile.
        this.#isOpening = true
        return this.#add(batch, of)
      }
      const error = refusedBy(runId, key, record)
      this.isEarly = !isOver
      this.#isLost = true
      this.#refusal = error
      this.#listener?.refused(error)
    })
  }

  #stored({ chunks, end }: Batch, isStale: boolean): void {
    if (isStale) {
      this.#isLost = true
      this.#kernel.upcalls.stale(this.#options.attempt)
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
    watchers.wake(all, undefined, this.key)
  }
}

const READY = /* @__PURE__ */ Promise.resolve()

function progressOf(written: ReadonlyMap<string, number>, first: number): readonly WriterProgress[] {
  return Array.from(written, ([writer, last]) => ({ writer, last: last < 0 ? first - 1 - last : last }))
}

/** The error for chunks that a run does not take. */
function refusedBy(runId: string, key: string, record: RunRecord | undefined): WaitpointError {
  if (record === undefined) return runNotFound(runId)
  const state = isFinal(record.status) ? 'ended' : 'not begun'
  const message = `Cannot write to stream "${key}" of run "${runId}": it has ${state}, and is ${record.status}`
  return new WaitpointError('ERR_CANNOT_WRITE_STREAM', message)
}

/**
 * A value as a chunk: what is done to it from now on does not count.
 *
 * @throws WaitpointError `ERR_NOT_SERIALIZABLE` with the path of what is not JSON.
 */
export function chunkRecord(value: unknown, key: string): ChunkRecord {
  const bytes = isBytes(value) ? -1 : measureJson(value)
  if (bytes < 0) throw refusal(value, key)
  return JsonText.ofValue(value, bytes)
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
