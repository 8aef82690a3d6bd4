import type { RunReference } from './run.ts'

/** Where chunks come from: an async iterable (a Node `Readable` is one) or a web `ReadableStream`. */
export type StreamSource<Chunk> = AsyncIterable<Chunk> | ReadableStream<Chunk>

/** How much of each stream is kept in memory. */
export interface StreamOptions {
  /** Default 10,000. */
  readonly historyChunks?: number
  /** Estimated. Default 16 MiB. */
  readonly historyBytes?: number
}

/** What `streams.pipe` answers. */
export interface PipedStream<Chunk> {
  /** The same chunks, for the task. */
  readonly stream: AsyncIterable<Chunk>
  /**
   * Settles when the source has ended and every chunk is stored; rejects with what the source threw, or with why it was
   * stopped.
   */
  waitUntilComplete(): Promise<void>
}

/** Options of `streams.read`. */
export interface ReadStreamOptions {
  readonly signal?: AbortSignal
  /** The sequence number to start at. Default 0. */
  readonly startIndex?: number
}

/** A stream with a fixed key and chunk type. */
export interface DefinedStream<Chunk> {
  readonly id: string
  pipe(source: StreamSource<Chunk>, options?: { readonly signal?: AbortSignal }): PipedStream<Chunk>
  append(chunk: Chunk): Promise<void>
  read(run: RunReference, options?: ReadStreamOptions): AsyncIterable<Chunk>
}

/** Streams under a key, written in a run and read anywhere. */
export interface StreamsNamespace {
  define<Chunk>(options: { readonly id: string }): DefinedStream<Chunk>
  /** Registers a source under a key and starts reading it at once. Only in a run. */
  pipe<Chunk>(
    key: string,
    source: StreamSource<Chunk>,
    options?: { readonly signal?: AbortSignal },
  ): PipedStream<Chunk>
  /** Adds one chunk. Only in a run. */
  append(key: string, chunk: unknown): Promise<void>
  /** The chunks of one stream, from the start, until its writer is done. */
  read<Chunk = unknown>(run: RunReference, key: string, options?: ReadStreamOptions): AsyncIterable<Chunk>
}

/** The metadata of the current run: a JSON object, changed at once and stored soon after. Only in a run. */
export interface MetadataNamespace {
  current(): Readonly<Record<string, unknown>>
  get(key: string): unknown
  set(key: string, value: unknown): MetadataNamespace
  del(key: string): MetadataNamespace
  increment(key: string, by?: number): MetadataNamespace
  decrement(key: string, by?: number): MetadataNamespace
  /** Adds to an array; what is not one becomes the first element. */
  append(key: string, value: unknown): MetadataNamespace
  /** Settles when everything changed so far is stored. */
  flush(): Promise<void>
  /**
   * Registers a stream (specification 4.2) and starts reading it at once: subscribers and the task, which may ignore
   * what this answers, both get every chunk.
   */
  stream<Chunk>(key: string, source: StreamSource<Chunk>, signal?: AbortSignal): Promise<AsyncIterable<Chunk>>
}
