import type { ChunkPlace, Run } from '../../api/run.ts'
import { isFinal } from '../../contract/run-states.ts'
import { WaitpointError } from '../../api/errors.ts'
import { Merge } from './merge.ts'
import { type WatchedRun, runUpdates } from './run-updates.ts'
import { streamBatches } from './stream-batches.ts'

/** A part of a subscription with streams. */
export type Part =
  | { readonly type: 'run'; readonly run: Run }
  | ({ readonly type: string; readonly run: Run; readonly chunk: unknown } & ChunkPlace)

type Arrived = Run | readonly unknown[]

/** The key of the run among the sources. No stream can have the key `run`. */
const RUN = 'run'

/** The run, again after every change, until it has ended. */
export async function* followRun(watched: WatchedRun): AsyncGenerator<Run> {
  for await (const run of runUpdates(watched)) {
    yield run
    if (isFinal(run.status)) return
  }
}

/**
 * A run and all its streams as one sequence: first the current run; the chunks of each key in order, after a run part
 * that lists the key; last the ended run.
 */
export class FollowedRun {
  readonly #watched: WatchedRun
  readonly #merge = new Merge<string, Arrived>()
  /** The position in each stream. */
  readonly #positions = new Map<string, string | undefined>()
  /** The chunks of each stream so far. The positions of the hosted service are no numbers of chunks. */
  readonly #counts = new Map<string, number>()
  #shown: Run | undefined
  #final: Run | undefined
  /** Whether the last part was a chunk. */
  #isPastShown = false

  constructor(watched: WatchedRun) {
    this.#watched = watched
  }

  async *parts(): AsyncGenerator<Part> {
    this.#merge.add(RUN, followRun(this.#watched))
    try {
      while (this.#merge.size > 0) {
        const { key, result } = await this.#merge.next()
        if (result.done === true) continue
        // The source under the run's key yields runs; all others yield chunks.
        if (key === RUN) yield* this.#changed(result.value as Run)
        else yield* this.#chunks(key, result.value as readonly unknown[])
      }
      if (this.#final !== undefined && (this.#isPastShown || this.#shown !== this.#final))
        yield this.#show(this.#final)
    } finally {
      this.#merge.close()
    }
  }

  /** The ended run comes last, unless it announces new streams. */
  *#changed(run: Run): Generator<Part> {
    const isOver = isFinal(run.status)
    if (isOver) this.#final = run
    const isNewAttempt = run.attemptCount !== this.#shown?.attemptCount
    if (!isOver || this.#announces(run)) yield this.#show(run)
    for (const key of run.realtimeStreams) {
      const isKnown = this.#positions.has(key)
      // A stream that ended may have new chunks: from another attempt, or from before the end of the run.
      if (!this.#merge.has(key) && (!isKnown || isNewAttempt || isOver)) this.#read(key)
    }
  }

  *#chunks(key: string, chunks: readonly unknown[]): Generator<Part> {
    const run = this.#shown
    if (run === undefined) return
    this.#isPastShown = true
    const attempt = run.attemptCount
    for (const chunk of chunks) {
      const sequence = this.#counts.get(key) ?? 0
      this.#counts.set(key, sequence + 1)
      yield { type: key, chunk, run, attempt, sequence }
    }
  }

  #announces(run: Run): boolean {
    return this.#shown === undefined || run.realtimeStreams.some((key) => !this.#positions.has(key))
  }

  #show(run: Run): Part {
    this.#shown = run
    this.#isPastShown = false
    return { type: RUN, run }
  }

  #read(key: string): void {
    const { transport, id, signal } = this.#watched
    const lastId = this.#positions.get(key)
    this.#positions.set(key, lastId)
    const onPosition = (position: string | undefined): void => {
      this.#positions.set(key, position)
    }
    this.#merge.add(key, readable(streamBatches(transport, { runId: id, key, lastId, onPosition }, signal)))
  }
}

/** A failed source ends its stream only; the run goes on. */
async function* readable(batches: AsyncGenerator<readonly unknown[]>): AsyncGenerator<readonly unknown[]> {
  try {
    yield* batches
  } catch (error) {
    if (!(error instanceof WaitpointError) || !SURVIVED.includes(error.code)) throw error
  }
}

const SURVIVED: readonly string[] = ['ERR_STREAM_FAILED', 'ERR_STREAM_INTERRUPTED']
