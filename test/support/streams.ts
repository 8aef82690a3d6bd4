import type { Engine, RunReference } from 'waitpoint'
import { kernelOf } from '../../src/core/engine.ts'
import { createDeferred, type Deferred } from '../../src/primitives/deferred.ts'

/** A source that yields what the test pushes, and remembers how it was read. */
export class PushSource<Chunk> implements AsyncIterable<Chunk> {
  /** Calls of `next()` so far. */
  pulls = 0
  /** Whether the reader has said that it reads no further. */
  isReturned = false
  readonly #queue: (() => Promise<IteratorResult<Chunk>>)[] = []
  #waiting: Deferred<void> | undefined

  push(...chunks: readonly Chunk[]): void {
    for (const value of chunks) this.#add(async () => ({ done: false, value }))
  }

  end(): void {
    this.#add(async () => ({ done: true, value: undefined }))
  }

  fail(error: Error): void {
    this.#add(() => Promise.reject(error))
  }

  [Symbol.asyncIterator](): AsyncIterator<Chunk> {
    return {
      next: () => this.#next(),
      return: async () => {
        this.isReturned = true
        return { done: true, value: undefined }
      },
    }
  }

  async #next(): Promise<IteratorResult<Chunk>> {
    this.pulls += 1
    for (;;) {
      const step = this.#queue.shift()
      if (step !== undefined) return step()
      this.#waiting = createDeferred<void>()
      await this.#waiting.promise
    }
  }

  #add(step: () => Promise<IteratorResult<Chunk>>): void {
    this.#queue.push(step)
    this.#waiting?.resolve()
  }
}

/** Counts from 0, and remembers how far: without an end it never ends. */
export class CountSource implements AsyncIterable<number> {
  produced = 0
  isReturned = false
  readonly #end: number

  constructor(end: number = Infinity) {
    this.#end = end
  }

  [Symbol.asyncIterator](): AsyncIterator<number> {
    return {
      next: async () =>
        this.produced < this.#end
          ? { done: false, value: this.produced++ }
          : { done: true, value: undefined },
      return: async () => {
        this.isReturned = true
        return { done: true, value: undefined }
      },
    }
  }
}

/** The whole numbers below `end`. */
export function numbers(end: number, start = 0): number[] {
  return Array.from({ length: end - start }, (_, index) => start + index)
}

export async function* sourceOf<Chunk>(...chunks: readonly Chunk[]): AsyncGenerator<Chunk> {
  yield* chunks
}

/** Everything there is. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = []
  for await (const item of items) all.push(item)
  return all
}

/** What was read, and how it ended if not well. */
export interface Collected<T> {
  readonly items: T[]
  readonly error?: unknown
}

/** Everything there is up to the first error. */
export async function collectUntilError<T>(items: AsyncIterable<T>): Promise<Collected<T>> {
  const collected: T[] = []
  try {
    for await (const item of items) collected.push(item)
    return { items: collected }
  } catch (error) {
    return { items: collected, error }
  }
}

/** A part in short: the status and attempt of a run, or a key and a chunk. */
export type ShortPart = readonly [type: string, chunk: unknown]

/** All parts of a subscription, in short. */
export async function follow(engine: Engine, run: RunReference): Promise<ShortPart[]> {
  const parts: ShortPart[] = []
  for await (const part of engine.runs.subscribeToRun(run).withStreams()) {
    parts.push('chunk' in part ? [part.type, part.chunk] : ['run', part.run.status])
  }
  return parts
}

/** Reads parts up to the next chunk. */
export async function nextChunk(
  parts: AsyncIterator<{ readonly type: string; readonly chunk?: unknown }, unknown>,
): Promise<unknown> {
  for (;;) {
    const step = await parts.next()
    if (step.done === true) throw new Error('Cannot read the next chunk: there is none')
    if ('chunk' in step.value) return step.value.chunk
  }
}

/** The chunks of one key among parts. */
export function chunksOf(parts: readonly ShortPart[], key: string): unknown[] {
  return parts.filter(([type]) => type === key).map(([, chunk]) => chunk)
}

/** How many readers wait for changes in an engine. */
export function watchers(engine: Engine): number {
  return kernelOf(engine).watchers.size
}

/** A signal, and how many listen to it. */
export function countedSignal(): { readonly signal: AbortSignal; readonly listeners: () => number } {
  const { signal } = new AbortController()
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners += 1
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners -= 1
    remove(...args)
  }
  return { signal, listeners: () => listeners }
}

/** All errors an engine reports from now on. */
export function reportedErrors(engine: Engine): unknown[] {
  const errors: unknown[] = []
  engine.on('error', ({ error }) => void errors.push(error))
  return errors
}
