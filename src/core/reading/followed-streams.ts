import type { ChunkRecord, RunRecord } from '../../contract/records.ts'
import type { Watcher } from '../changes/watchers.ts'
import type { Kernel } from '../kernel.ts'
import { alone, Reading } from './reading.ts'
import type { Run } from '../../api/run.ts'
import { isChanged, nextChange, readRun } from './run-changes.ts'
import { isFinal } from '../../contract/run-states.ts'
import { viewRun } from '../views/run.ts'
import { streamsTopic } from '../streams/channel.ts'
import { StreamReader } from './stream-reader.ts'

/** The next part of a run and its streams: the run as it is, or chunks of one key in a row. */
export type FollowedPart =
  | { readonly type: 'run'; readonly run: Run }
  | {
      readonly type: 'chunks'
      readonly run: Run
      readonly key: string
      /** The sequence number of the first one. */
      readonly first: number
      readonly chunks: readonly ChunkRecord[]
    }

/** Like `withStreams()`, with the chunks as they are stored, each key from the chunk that `from` says. */
export function followStreams(
  kernel: Kernel,
  runId: string,
  from: ReadonlyMap<string, number>,
): Reading<FollowedPart> {
  const streams = new FollowedStreams(kernel, runId, from)
  return new Reading({
    watch: () => kernel.watchers.watch(runId, streamsTopic(runId)),
    read: (watcher) => streams.parts(watcher),
    items: alone,
  })
}

/**
 * A run and all its streams as one sequence: first the run as it is; a key's chunks in order, after a run part that
 * lists the key and the attempt that wrote them; last the run as it ended.
 */
export class FollowedStreams {
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #from: ReadonlyMap<string, number>
  readonly #readers = new Map<string, StreamReader>()
  /** The run as it was read last, and as it was shown last: its end is shown when nothing comes before it any more. */
  #record: RunRecord | undefined
  #shown: RunRecord | undefined
  #view: Run | undefined
  /** Whether the last part was a chunk. */
  #isPastShown = false

  constructor(kernel: Kernel, runId: string, from: ReadonlyMap<string, number> = new Map()) {
    this.#kernel = kernel
    this.#runId = runId
    this.#from = from
  }

  /** Goes on where the last call got to, after the run as it is now. */
  async *parts(watcher: Watcher): AsyncGenerator<FollowedPart> {
    try {
      yield this.#show(await this.#read())
      for (;;) {
        // Read before the chunks: what a run that has ended left behind is all there is.
        const record = await this.#changedRun(watcher)
        const isOver = isFinal(record.status)
        if (!isOver && isChanged(this.#shown, record)) yield this.#show(record)
        if (isOver) this.#discover(record)
        const hasMore = yield* this.#chunks(isOver)
        if (hasMore) continue
        if (isOver) {
          if (this.#isPastShown || isChanged(this.#shown, record)) yield this.#show(record)
          return
        }
        await nextChange(this.#kernel, this.#runId, watcher)
      }
    } finally {
      watcher.close()
    }
  }

  /** One page of every stream; whether there was anything. */
  async *#chunks(isOver: boolean): AsyncGenerator<FollowedPart, boolean> {
    let hasMore = false
    for (const [key, reader] of this.#readers) {
      const page = await reader.take(isOver)
      if (page === undefined) continue
      if (page.hasNext) hasMore = true
      const { attempt, first, chunks } = page
      if (chunks.length === 0) continue
      hasMore = true
      if (!this.#isShown(key, attempt)) yield this.#show(await this.#read())
      this.#isPastShown = true
      yield { type: 'chunks', run: this.#current(), key, first, chunks }
    }
    return hasMore
  }

  /** The run, read again only when it has changed. */
  async #changedRun(watcher: Watcher): Promise<RunRecord> {
    if (this.#record !== undefined && !watcher.woke(this.#runId)) return this.#record
    return this.#read()
  }

  async #read(): Promise<RunRecord> {
    this.#record = await readRun(this.#kernel, this.#runId)
    return this.#record
  }

  #isShown(key: string, attempt: number): boolean {
    return this.#shown !== undefined && this.#shown.attempt >= attempt && this.#shown.streams.includes(key)
  }

  #show(record: RunRecord): FollowedPart {
    this.#shown = record
    this.#isPastShown = false
    this.#view = viewRun(record)
    this.#discover(record)
    return { type: 'run', run: this.#view }
  }

  #current(): Run {
    if (this.#view === undefined) throw new Error('Cannot show a chunk before the first run part')
    return this.#view
  }

  #discover({ streams }: RunRecord): void {
    for (const key of streams) {
      if (this.#readers.has(key)) continue
      const stream = { runId: this.#runId, key }
      this.#readers.set(key, new StreamReader(this.#kernel, stream, this.#from.get(key)))
    }
  }
}
