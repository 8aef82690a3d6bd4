import type { RunRecord } from '../contract/records.ts'
import type { Watcher } from './change-feed.ts'
import type { Kernel } from './kernel.ts'
import type { Run, RunSubscription } from './run.ts'
import { Reading } from './reading.ts'
import { awaited, runNotFound } from './run-results.ts'
import { currentScope } from './run-scope.ts'
import { isFinal } from './run-status.ts'
import { viewRun } from './run-view.ts'
import { streamsTopic } from './stream-channel.ts'
import { StreamReader } from './stream-reader.ts'

/** Follows a run (specification 4.2 and 6). */
export function subscribeToRun(kernel: Kernel, runId: string): RunSubscription<never> {
  return {
    // The types of payload, output and chunks are the task's, which the caller names.
    [Symbol.asyncIterator]: () => followRun(kernel, runId) as Reading<never>,
    withStreams: () => ({
      [Symbol.asyncIterator]: () => followStreams(kernel, runId) as Reading<never>,
    }),
  }
}

function followRun(kernel: Kernel, runId: string): Reading<Run> {
  return new Reading({
    watch: () => kernel.parts.journal.feed.watch(runId),
    read: (watcher) => runUpdates(kernel, runId, watcher),
  })
}

function followStreams(kernel: Kernel, runId: string): Reading<Part> {
  const streams = new FollowedStreams(kernel, runId)
  return new Reading({
    watch: () => kernel.parts.journal.feed.watch(runId, streamsTopic(runId)),
    read: (watcher) => streams.parts(watcher),
  })
}

async function* runUpdates(kernel: Kernel, runId: string, watcher: Watcher): AsyncGenerator<Run> {
  let shown: RunRecord | undefined
  try {
    for (;;) {
      const record = await readRun(kernel, runId)
      if (isNews(shown, record)) yield viewRun(record)
      shown = record
      if (isFinal(record.status)) return
      await nextChange(kernel, runId, watcher)
    }
  } finally {
    watcher.close()
  }
}

type Part = { readonly type: string; readonly run: Run; readonly chunk?: unknown }

/**
 * A run and all its streams as one sequence: first the run as it is; a key's chunks in order, after a run part that
 * lists the key and the attempt that wrote them; last the run as it ended.
 */
class FollowedStreams {
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #readers = new Map<string, StreamReader>()
  /** The run as it was read last, and as it was shown last: its end is shown when nothing comes before it any more. */
  #record: RunRecord | undefined
  #shown: RunRecord | undefined
  #view: Run | undefined
  /** Whether the last part was a chunk. */
  #isPastShown = false

  constructor(kernel: Kernel, runId: string) {
    this.#kernel = kernel
    this.#runId = runId
  }

  /** Goes on where the last call got to, after the run as it is now. */
  async *parts(watcher: Watcher): AsyncGenerator<Part> {
    try {
      yield this.#show(await this.#read())
      for (;;) {
        // Read before the chunks: what a run that has ended left behind is all there is.
        const record = await this.#changedRun(watcher)
        const isOver = isFinal(record.status)
        if (!isOver && isNews(this.#shown, record)) yield this.#show(record)
        if (isOver) this.#discover(record)
        const hasMore = yield* this.#chunks(isOver)
        if (hasMore) continue
        if (isOver) {
          if (this.#isPastShown || isNews(this.#shown, record)) yield this.#show(record)
          return
        }
        await nextChange(this.#kernel, this.#runId, watcher)
      }
    } finally {
      watcher.close()
    }
  }

  /** One batch of every stream; whether there was anything. */
  async *#chunks(isOver: boolean): AsyncGenerator<Part, boolean> {
    let hasMore = false
    for (const [key, reader] of this.#readers) {
      const batch = await reader.take(isOver)
      if (batch === undefined) continue
      if (batch.hasNext) hasMore = true
      if (batch.values.length === 0) continue
      hasMore = true
      if (!this.#isShown(key, batch.attempt)) yield this.#show(await this.#read())
      this.#isPastShown = true
      for (const chunk of batch.values) yield { type: key, chunk, run: this.#current() }
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

  #show(record: RunRecord): Part {
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
      this.#readers.set(key, new StreamReader(this.#kernel, { runId: this.#runId, key }))
    }
  }
}

/** Waits for the next change. Nobody inside a run moves a test clock by waiting. */
export async function nextChange(kernel: Kernel, runId: string, watcher: Watcher): Promise<void> {
  const release =
    currentScope() === undefined ? kernel.parts.host.clock.hold?.(awaited(runId, watcher)) : undefined
  try {
    await watcher.changed()
  } finally {
    release?.()
  }
}

/** The run as it is. */
export async function readRun(kernel: Kernel, runId: string): Promise<RunRecord> {
  const record = await kernel.call(() => kernel.parts.host.storage.runs.get(runId))
  if (record === undefined) throw runNotFound(runId)
  return record
}

/** Whether a subscriber who has seen one record has something new in the other. */
function isNews(shown: RunRecord | undefined, record: RunRecord): boolean {
  if (shown === undefined) return true
  return (
    shown.updatedAt !== record.updatedAt ||
    shown.status !== record.status ||
    shown.attempt !== record.attempt ||
    shown.epoch !== record.epoch ||
    shown.metadataJson !== record.metadataJson ||
    shown.streams.length !== record.streams.length ||
    shown.tags.length !== record.tags.length
  )
}
