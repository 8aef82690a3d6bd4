import type { ReleaseHold } from '../../contract/clock.ts'
import type { ChunkRecord, SegmentEnd } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { onAbort } from '../../primitives/abort.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import type { Deferred } from '../../primitives/deferred.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { SequenceRanges } from '../../primitives/sequence-ranges.ts'
import type { Watcher } from '../changes/watchers.ts'
import { StreamLaggedError } from '../../api/errors.ts'
import { errorToJson } from '../host/error-to-json.ts'
import type { StreamChannel } from './channel.ts'
import type { SourceReader } from './source.ts'
import type { UnreadChunks } from './unread-chunks.ts'

/** Chunks read from a source before others get a turn of the event loop: a source may never wait for anything. */
const CHUNKS_PER_TURN = 1_024
/** So often it is asked whether the task still has the stream. */
const CHUNKS_PER_LOOK = 64
const READ_LIMIT = 256
/** How often the sources of one key may take turns while the task does not read: its unread chunks are a list of rows. */
const MOST_ROWS = 10_000

/** Chunks in a row; `first` is later than asked for when the history begins there. */
interface Chunks {
  readonly first: number
  readonly chunks: readonly ChunkRecord[]
}

const NOTHING: Chunks = { first: 0, chunks: [] }

/** How a pipe ended: its source did, it threw, or it was stopped. */
type PipeEnd =
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly error: unknown }
  | { readonly kind: 'stopped'; readonly error: unknown; readonly isIntended: boolean }

export interface PipeOptions {
  readonly channel: StreamChannel
  readonly source: SourceReader
  readonly signal?: AbortSignal | undefined
  /** What the task has not taken, for a storage that keeps the newest chunks only. */
  readonly unread?: UnreadChunks | undefined
  /** Chunks of the channel, from wherever they are. */
  readonly read: (from: number, limit: number) => Awaitable<Chunks | undefined>
  /** What the effect has written that the source is of. */
  readonly written: SequenceRanges | undefined
  /** Tells of changes of the channel. */
  readonly watch: () => Watcher
  /** Tells the clock that the source is asked for a chunk. */
  readonly hold: () => ReleaseHold | undefined
  /** Resolves when one turn of the event loop has passed. */
  readonly turn: () => Promise<void>
  /** Is told when the source waits for the task to read on. */
  readonly rested: () => void
}

/**
 * Reads one source into a channel, and gives the task its own cursor on the same chunks. The task's cursor holds the
 * source back, from its first `next()` on and until the task has returned; no other reader ever does.
 */
export class StreamPipe {
  readonly #options: PipeOptions
  readonly #ended: Deferred<void> = createDeferred()
  /** Chunks of this source that the task has not taken: others may write to the same channel. */
  readonly #own = new SequenceRanges()
  /** All of them, unless they are too many or will not be read. */
  #unread: UnreadChunks | undefined
  #end: PipeEnd | undefined
  /** Ended, and everything that ever will be stored is. */
  #isSettled = false
  /** Iterators of the task that have begun and not ended. */
  #readers = 0
  /** How many of its own the task can no longer get, and was not told of. */
  #missed = 0
  #isReleased = false
  #ahead: Deferred<void> | undefined
  #removeAbort: (() => void) | undefined
  /** Held while a chunk of the source is out. */
  #release: ReleaseHold | undefined

  constructor(options: PipeOptions) {
    this.#options = options
    this.#unread = options.unread
  }

  /** How the segment this pipe wrote should end. */
  get segmentEnd(): SegmentEnd {
    const end = this.#end
    if (end?.kind === 'failed') return { reason: 'failed', errorJson: errorToJson(end.error) }
    if (end?.kind === 'done') return { reason: 'done' }
    return end?.isIntended === true ? { reason: 'interrupted', isIntended: true } : { reason: 'interrupted' }
  }

  /** Resolves when the source has ended, failed, or was stopped. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** The source goes on by itself; false for one that waits for the task to read. */
  get isWorking(): boolean {
    return this.#end === undefined && this.#ahead === undefined
  }

  /** The error of the source, if it failed. */
  get failure(): { readonly error: unknown } | undefined {
    return this.#end?.kind === 'failed' ? this.#end : undefined
  }

  /** Throws the error of the source, or the reason why it was stopped; not before it has ended. */
  assertDone(): void {
    if (this.#end !== undefined && this.#end.kind !== 'done') throw this.#end.error
  }

  /** Throws the reason why it was stopped, unless the task did that. */
  assertUncut(): void {
    if (this.#end?.kind === 'stopped' && !this.#end.isIntended) throw this.#end.error
  }

  /** The task may read as long as it has `stream`. */
  keepWhile(stream: WeakRef<object>): void {
    this.#unread?.keepWhile(stream)
  }

  /** Reads the source to its end. */
  start(): void {
    this.#removeAbort = onAbort(this.#options.signal, (reason) => this.#stop(reason, true))
    if (this.#end !== undefined) return
    this.#pump().then(
      () => this.#finish({ kind: 'done' }),
      (error: unknown) => this.#finish({ kind: 'failed', error }),
    )
  }

  /** Stops reading; the source is told, and the task gets `error` after the last chunk. */
  stop(error: unknown): void {
    this.#stop(error, false)
  }

  /** Its chunks are not taken any more; the source is told, and the task gets `error` after the last chunk. */
  refuse(error: unknown): void {
    if (this.#end !== undefined) return
    this.#finish({ kind: 'failed', error })
    this.#options.source.stop()
  }

  /** The chunks from `from` on that are not stored got higher numbers. */
  moved(from: number, by: number): void {
    this.#own.shift(from, by)
  }

  /** The task has returned: however far it has read, the source goes on. */
  release(): void {
    this.#isReleased = true
    if (this.#readers === 0) this.#unread = undefined
    this.#ahead?.resolve()
  }

  /** The chunks, for the task, each taken once: ends with the source, and throws what the source threw. */
  async *chunks(): AsyncGenerator {
    const { channel } = this.#options
    this.#readers += 1
    const watcher = this.#options.watch()
    try {
      for (;;) {
        const isSettled = this.#isSettled
        const unread = this.#takeUnread()
        if (unread !== undefined) {
          yield unread.value
          continue
        }
        const read = this.#read()
        const { first, chunks } = isPromise(read) ? await read : read
        // Another iterator of the task may take some of them meanwhile.
        for (let next = this.#own.first; next !== undefined; next = this.#own.first) {
          // Storage may have a chunk of another run where one that is not stored yet was to be.
          const chunk = next < channel.next ? chunks[next - first] : undefined
          if (chunk === undefined) break
          this.#took(next)
          yield chunk.value
        }
        if (chunks.length > 0) continue
        if (isSettled) break
        await watcher.changed()
      }
      this.assertDone()
    } finally {
      watcher.close()
      this.#readers -= 1
      this.#ahead?.resolve()
    }
  }

  /** The next chunk that is kept for the task, if readers can see it. */
  #takeUnread(): ChunkRecord | undefined {
    const { first } = this.#own
    if (this.#unread === undefined || first === undefined || first >= this.#options.channel.next)
      return undefined
    this.#took(first)
    return this.#unread.shift()
  }

  /** The next chunks for the task, as far as readers can see them. */
  #read(): Awaitable<Chunks> {
    const { channel, read } = this.#options
    const { first } = this.#own
    if (this.#missed > 0) throw this.#lag(first ?? channel.next)
    if (first === undefined || first >= channel.next) return NOTHING
    return chain(read(first, READ_LIMIT), (answer = NOTHING) => {
      this.#missed += this.#own.dropBefore(answer.first)
      if (this.#missed > 0) throw this.#lag(answer.first)
      return answer
    })
  }

  #lag(next: number): StreamLaggedError {
    const missed = this.#missed
    this.#missed = 0
    return new StreamLaggedError(this.#options.channel.key, missed, next)
  }

  #took(sequence: number): void {
    this.#own.dropBefore(sequence + 1)
    if (this.#ahead !== undefined && !this.#isAhead) this.#ahead.resolve()
  }

  /** Whether the source must wait for a task that reads. */
  get #isAhead(): boolean {
    const { first } = this.#own
    if (this.#readers === 0 || this.#isReleased || first === undefined) return false
    return this.#options.channel.isFarBehind(first)
  }

  /** `isIntended`: the task stops the source, by its signal. */
  #stop(error: unknown, isIntended: boolean): void {
    if (this.#end !== undefined) return
    this.#finish({ kind: 'stopped', error, isIntended })
    this.#options.source.stop()
  }

  async #pump(): Promise<void> {
    const { source, hold, turn } = this.#options
    for (let count = 1; ; count++) {
      const asked = source.next()
      this.#release = hold()
      const step = await asked
      this.#letGo()
      if (step.done === true || this.#end !== undefined) return
      const stored = this.#append(step.value)
      if (isPromise(stored)) await stored
      if (count % CHUNKS_PER_TURN === 0) await turn()
      if (count % CHUNKS_PER_LOOK === 0) this.#forgetUnread()
      if (this.#isAhead) await this.#holdBack()
    }
  }

  #letGo(): void {
    this.#release?.()
    this.#release = undefined
  }

  #append(value: unknown): void | Promise<void> {
    const { channel, source, written } = this.#options
    const sequence = channel.tail
    try {
      const stored = channel.append(value)
      this.#own.add(sequence)
      written?.add(sequence)
      if (this.#unread !== undefined) this.#keep(this.#unread)
      else if (this.#own.rows > MOST_ROWS) this.#missed += this.#own.dropBefore(this.#own.endOfRow)
      return stored
    } catch (error) {
      source.stop()
      throw error
    }
  }

  #keep(unread: UnreadChunks): void {
    const { newest } = this.#options.channel
    if (newest !== undefined) unread.push(newest)
    if (unread.isOverfull) this.#unread = undefined
  }

  /** The task has dropped the stream. */
  #forgetUnread(): void {
    if (this.#readers === 0 && this.#unread?.isForgotten === true) this.#unread = undefined
  }

  /** Waits until the task has read on, or no longer reads. */
  async #holdBack(): Promise<void> {
    while (this.#isAhead && this.#end === undefined) {
      this.#ahead = createDeferred<void>()
      this.#options.rested()
      await this.#ahead.promise
    }
    this.#ahead = undefined
  }

  #finish(end: PipeEnd): void {
    if (this.#end !== undefined) return
    this.#end = end
    this.#letGo()
    this.#ahead?.resolve()
    this.#removeAbort?.()
    const { channel } = this.#options
    const settle = (): void => {
      this.#isSettled = true
      // The last chunks of a source that has ended are refused.
      if (end.kind === 'done' && channel.refusal !== undefined)
        this.#end = { kind: 'failed', error: channel.refusal }
      channel.wake()
      this.#ended.resolve()
    }
    channel.flushed().then(settle, settle)
  }
}
