import type { RunRecord } from '../../contract/records.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import type { StreamsWatcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { alone, Reading } from './reading.ts'
import type { Run } from '../../api/run.ts'
import { isChanged, nextChange, readRun } from './run-changes.ts'
import { isFinal } from '../../contract/run-states.ts'
import { sharedViewOf, sizeOfRun, viewRun } from '../views/run.ts'
import { streamsTopic } from '../streams/channel.ts'
import { readShared } from './shared-record.ts'
import type { Values } from '../../api/values.ts'
import { StreamReader } from './stream-reader.ts'
import type { ChunkPage, FollowedPart } from '../../api/stream-page.ts'

export interface FollowedStreamsOptions {
  /** The sequence number to begin at, by key. Default: 0. */
  readonly from?: ReadonlyMap<string, number>
  /** Absent for runs that other readers may see as well, with their values as they are stored. */
  readonly values?: Values
}

/**
 * Like `withStreams()`, with the chunks as they are stored, each key from the chunk that `from` says. Runs are shared with
 * other readers, and must not be changed.
 */
export function followStreams(
  kernel: Kernel,
  runId: string,
  from: ReadonlyMap<string, number>,
): Reading<FollowedPart> {
  const streams = new FollowedStreams(kernel, runId, { from })
  return new Reading({
    watch: () => streams.watch(),
    read: () => streams.parts(),
    items: alone,
  })
}

/**
 * A run and all its streams as one sequence: first the run as it is; a key's chunks in order, after a run part that
 * lists the key and the attempt that wrote them; last the run as it ended. Then it throws a StreamInterruptedError if the run
 * completed, but its attempt was lost before all streams were written.
 */
export class FollowedStreams {
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #from: ReadonlyMap<string, number>
  readonly #values: Values | undefined
  readonly #readers = new Map<string, StreamReader>()
  /** Streams in the order they were discovered, and those that a run part has listed. */
  readonly #keys: string[] = []
  readonly #listed = new Set<string>()
  /** The streams that may have something new: in all others nothing was written since they were read to their end. */
  readonly #unread = new Set<StreamReader>()
  #watcher: StreamsWatcher | undefined
  /** The run as it was read last, and as it was shown last: its end is shown when nothing comes before it any more. */
  #record: RunRecord | undefined
  #shown: RunRecord | undefined
  #view: Run | undefined
  /** Whether the last part was a chunk. */
  #isPastShown = false
  /** The error of a stream that the last attempt could not write to its end. */
  #broken: Error | undefined

  constructor(kernel: Kernel, runId: string, { from = new Map(), values }: FollowedStreamsOptions) {
    this.#kernel = kernel
    this.#runId = runId
    this.#from = from
    this.#values = values
  }

  /** To be called before each `parts`: no change falls between the two. */
  watch(): StreamsWatcher {
    this.#watcher = this.#kernel.watchers.watchStreams(this.#runId, streamsTopic(this.#runId))
    this.#readAll()
    return this.#watcher
  }

  /** Goes on where the last call got to, after the run as it is now. */
  async *parts(): AsyncGenerator<FollowedPart> {
    const watcher = this.#watcher ?? this.watch()
    let isEndSeen = false
    try {
      yield this.#show(await this.#read())
      for (;;) {
        // Read before the chunks: a run that has ended writes no more of them.
        const record = await this.#changedRun(watcher)
        const isOver = isFinal(record.status)
        if (!isOver && isChanged(this.#shown, record)) yield this.#show(record)
        if (isOver) this.#discover(record)
        this.#noteChanges(watcher)
        // From now on storage is read, which knows how the streams ended.
        if (isOver && !isEndSeen) this.#readAll()
        isEndSeen = isOver
        const hasMore = yield* this.#chunks(isOver)
        if (hasMore) continue
        if (isOver) {
          if (this.#isPastShown || isChanged(this.#shown, record)) yield this.#show(record)
          if (this.#broken !== undefined) throw this.#broken
          return
        }
        await nextChange(this.#kernel, this.#runId, watcher)
      }
    } finally {
      watcher.close()
    }
  }

  /** One page of every stream that may have something; whether there was anything. */
  async *#chunks(isOver: boolean): AsyncGenerator<FollowedPart, boolean> {
    let hasMore = false
    for (const reader of this.#unread) {
      const page = await reader.take(isOver)
      if (page === undefined) continue
      if (page.hasNext) hasMore = true
      const { attempt, first, chunks } = page
      if (isOver) this.#noteEnd(reader, page)
      if (chunks.length === 0) {
        if (!page.hasNext) this.#unread.delete(reader)
        continue
      }
      hasMore = true
      const { key } = reader
      if (!this.#isShown(key, attempt)) yield this.#show(await this.#read())
      this.#isPastShown = true
      yield { type: 'chunks', run: this.#current(), key, attempt, first, chunks }
    }
    return hasMore
  }

  /** A run that has returned an output looks complete, even if its attempt was lost while it still wrote a stream. */
  #noteEnd(reader: StreamReader, { attempt, end }: ChunkPage): void {
    const record = this.#record
    if (end?.reason !== 'interrupted' || end.isIntended === true) return
    // A stream that only an earlier attempt has written is complete without it.
    if (record?.status === 'COMPLETED' && attempt === record.attempt) this.#broken = reader.failureOf(end)
  }

  #noteChanges(watcher: StreamsWatcher): void {
    const keys = watcher.takeKeys()
    if (keys === undefined) this.#readAll()
    else {
      for (const key of keys) {
        const reader = this.#readers.get(key)
        if (reader !== undefined) this.#unread.add(reader)
      }
    }
  }

  #readAll(): void {
    for (const reader of this.#readers.values()) this.#unread.add(reader)
  }

  /** The run, read again only when it has changed. */
  async #changedRun(watcher: StreamsWatcher): Promise<RunRecord> {
    if (this.#record !== undefined && !watcher.woke(this.#runId)) return this.#record
    return this.#read()
  }

  async #read(): Promise<RunRecord> {
    const read = this.#values === undefined ? readShared : readRun
    const record = await read(this.#kernel, this.#runId)
    const turn = this.#kernel.portions.take(sizeOfRun(record), liveAttempt())
    if (turn !== undefined) await turn
    this.#record = record
    return record
  }

  #isShown(key: string, attempt: number): boolean {
    return this.#shown !== undefined && this.#shown.attempt >= attempt && this.#listed.has(key)
  }

  #show(record: RunRecord): FollowedPart {
    this.#shown = record
    this.#isPastShown = false
    this.#view = this.#values === undefined ? sharedViewOf(record) : viewRun(record, this.#values)
    this.#discover(record)
    this.#list()
    return { type: 'run', run: this.#view }
  }

  #current(): Run {
    if (this.#view === undefined) throw new Error('Cannot show a chunk before the first run part')
    return this.#view
  }

  /** Keys are added to the end of a record's list: only those are looked at, unless the list is another one. */
  #discover({ streams }: RunRecord): void {
    const known = this.#keys.length
    const isLonger = known > 0 && streams[known - 1] === this.#keys[known - 1]
    for (const key of isLonger ? streams.slice(known) : streams) {
      if (this.#readers.has(key)) continue
      const reader = new StreamReader(this.#kernel, {
        runId: this.#runId,
        key,
        from: this.#from.get(key),
        isResumed: true,
      })
      this.#keys.push(key)
      this.#readers.set(key, reader)
      this.#unread.add(reader)
    }
  }

  /** The run part that is about to be shown lists all that was discovered. */
  #list(): void {
    for (const key of this.#keys.slice(this.#listed.size)) this.#listed.add(key)
  }
}
