import type { RunReference } from './run.ts'
import {
  type OptionNames,
  requireName,
  requireOptions,
  requireSignal,
  requireWhole,
} from '../primitives/require.ts'
import { requireOneOf } from '../primitives/require-one-of.ts'

/** Where chunks come from: an async iterable (a Node `Readable` is one) or a web `ReadableStream`. */
export type StreamSource<Chunk> = AsyncIterable<Chunk> | ReadableStream<Chunk>

/** How much of each stream is kept in memory. */
export interface StreamOptions {
  /**
   * Chunks of each stream that are kept for readers.
   *
   * @unit chunks
   * @default `10_000`
   */
  readonly historyChunks?: number
  /**
   * Estimated size of the chunks of each stream that are kept for readers.
   *
   * @default `16_777_216` (16 MiB)
   */
  readonly historyBytes?: number
  /**
   * Messages of each input stream that a run may leave unread, and at most 16 MB of them: `send` rejects more with
   * `ERR_INBOX_FULL`. See docs/messages.md.
   *
   * @unit messages
   * @default `1_000`
   */
  readonly unreadInputs?: number
}

/** A source that `streams.pipe` reads. */
export interface PipedStream<Chunk> {
  /** The chunks of this source, for the task. */
  readonly stream: AsyncIterable<Chunk>
  /**
   * Settles when the source has ended and every chunk is stored; rejects with what the source threw, or with why it was
   * stopped.
   */
  waitUntilComplete(): Promise<void>
}

/** Whose stream a run writes. */
export type StreamTarget = 'self' | 'parent' | 'root' | (string & {})

/** Options of writing to a stream. */
export interface TargetStreamOptions {
  /**
   * Whose stream it is: that of this run (`self`), of the run that triggered it (`parent`), of the first run of its tree (`root`), or of the
   * run with this id. A run without a parent is its own parent. See docs/streams.md.
   *
   * @default `'self'`
   */
  readonly target?: StreamTarget
}

/** Options of `streams.append`. */
export interface AppendStreamOptions extends TargetStreamOptions {
  /**
   * A name for the chunk in its stream: a run appends one chunk under it, however often it is executed. Only to a stream of the run itself.
   *
   * @default none
   */
  readonly once?: string
}

/** Options of `streams.pipe`. */
export interface PipeStreamOptions extends TargetStreamOptions {
  /**
   * Stops the source.
   *
   * @default none
   */
  readonly signal?: AbortSignal
}

/** Options of `streams.read`. */
export interface ReadStreamOptions {
  /**
   * Ends the reading; the iteration throws its reason.
   *
   * @default none
   */
  readonly signal?: AbortSignal
  /**
   * The sequence number to start at.
   *
   * @unit chunks
   * @default `0`
   */
  readonly startIndex?: number
  /**
   * `last`: without the chunks that a later attempt writes again. After a StreamInterruptedError read again. See docs/streams.md.
   *
   * @default `'all'`
   */
  readonly attempts?: 'all' | 'last'
}

/** A stream with a fixed key and chunk type, as `streams.define` answers it. Its functions are those of the namespace. */
export interface DefinedStream<Chunk> {
  readonly id: string
  pipe(source: StreamSource<Chunk>, options?: PipeStreamOptions): PipedStream<Chunk>
  append(chunk: Chunk, options?: AppendStreamOptions): Promise<void>
  read(run: RunReference, options?: ReadStreamOptions): AsyncIterable<Chunk>
}

/** Streams under a key, written in a run and read anywhere. */
export interface StreamsNamespace {
  /**
   * Names a stream and its type of chunk once, for its writer and its readers. The key is checked here: not empty, not
   * `run`.
   *
   * @example
   * ```ts
   * const draft = streams.define<string>({ id: 'draft' })
   * await draft.append('Once') // in a run
   * for await (const chunk of draft.read(run)) console.log(chunk) // anywhere
   * ```
   */
  define<Chunk>(options: { readonly id: string }): DefinedStream<Chunk>
  /**
   * Registers a source under a key and starts reading it at once (docs/streams.md). Only in a run.
   *
   * @throws TypeError or RangeError for what is no source and no key; `ERR_NOT_IN_RUN`. With a `target`, `waitUntilComplete` rejects
   *   with `ERR_CANNOT_WRITE_STREAM` if that run has ended, and `ERR_RUN_NOT_FOUND`.
   */
  pipe<Chunk>(key: string, source: StreamSource<Chunk>, options?: PipeStreamOptions): PipedStream<Chunk>
  /**
   * Adds one chunk, any JSON value; settles when it is stored. Only in a run. Rejects with `ERR_NOT_SERIALIZABLE` and, with a
   * `target`, with `ERR_CANNOT_WRITE_STREAM` if that run has ended, and `ERR_RUN_NOT_FOUND`.
   */
  append(key: string, chunk: unknown, options?: AppendStreamOptions): Promise<void>
  /**
   * The chunks of one stream, from `startIndex` on: of one attempt, to the first moment at which all of its sources have
   * ended, or to the end of the run. Chunks that come later under this key are for later reads: those of this attempt
   * come with the next read, those of a later attempt from its first `startIndex` on.
   * `runs.subscribeToRun(run).withStreams()` gets everything, of all attempts.
   *
   * @throws TypeError or RangeError for what cannot be read. Iterated, it throws `ERR_RUN_NOT_FOUND`, what the source
   * threw as `ERR_STREAM_FAILED`, a StreamInterruptedError where the attempt was lost (`next` is where a later one goes
   * on), a StreamLaggedError for chunks that are no longer kept, and the reason of `signal`.
   *
   * @example
   * ```ts
   * for await (const chunk of engine.streams.read<string>(run, 'draft')) console.log(chunk)
   * ```
   */
  read<Chunk = unknown>(run: RunReference, key: string, options?: ReadStreamOptions): AsyncIterable<Chunk>
}

/**
 * The metadata of the current run: a JSON object, changed at once and stored soon after. Only in a run: elsewhere every
 * function throws, or rejects with, `ERR_NOT_IN_RUN`. In an attempt that was aborted, changes do nothing: they cannot reject,
 * and a timer that makes one must not end the process.
 */
export interface MetadataNamespace {
  /** A copy of all of it. */
  current(): Readonly<Record<string, unknown>>
  /** A copy of one value; `undefined` when there is none. */
  get(key: string): unknown
  /** Any JSON value; `undefined` takes the key away. Throws `ERR_NOT_SERIALIZABLE` for anything else. */
  set(key: string, value: unknown): MetadataNamespace
  del(key: string): MetadataNamespace
  /** Adds to a number, by default 1; a missing value counts as 0. Throws a TypeError for a value that is no number. */
  increment(key: string, by?: number): MetadataNamespace
  /** Takes from a number, as `increment` adds to it. */
  decrement(key: string, by?: number): MetadataNamespace
  /** Adds to an array; a value that is not one becomes the first element. */
  append(key: string, value: unknown): MetadataNamespace
  /** Settles when everything changed so far is stored. */
  flush(): Promise<void>
  /**
   * Registers a stream (docs/streams.md) and starts reading it at once: subscribers and the task, which may ignore
   * what this answers, both get every chunk. The run is complete when its sources have ended, or 60 s after it returned
   * (docs/streams.md). Rejects with a TypeError or RangeError for what is no source and no key.
   *
   * @example
   * ```ts
   * const draft = await metadata.stream('draft', model.stream(prompt))
   * for await (const chunk of draft) text += chunk
   * ```
   */
  stream<Chunk>(key: string, source: StreamSource<Chunk>, signal?: AbortSignal): Promise<AsyncIterable<Chunk>>
}

const ATTEMPTS: readonly string[] = ['all', 'last']
const NAMES: OptionNames<ReadStreamOptions> = { signal: true, startIndex: true, attempts: true }

/** Which stream is read, and from where. */
export interface StreamReading {
  readonly key: string
  readonly startIndex: number
  readonly signal: AbortSignal | undefined
  /** Only what no later attempt writes again. */
  readonly isLast: boolean
}

/**
 * The arguments of `streams.read`, checked.
 *
 * @throws TypeError or RangeError for a key or options that cannot be used.
 */
export function streamReading(key: string, options: ReadStreamOptions): StreamReading {
  checkKey(key)
  requireOptions(options, 'the options of streams.read', NAMES)
  const { startIndex = 0, signal, attempts = 'all' } = options
  requireSignal(signal, 'signal')
  requireWhole(startIndex, 'startIndex', { from: 0 })
  requireOneOf(attempts, 'attempts', ATTEMPTS)
  return { key, startIndex, signal, isLast: attempts === 'last' }
}

/** Keys are types of subscription parts, and `run` is taken. */
export function checkKey(key: string): void {
  requireName(key, 'stream key')
  if (key === 'run')
    throw new RangeError('Cannot use stream "run": parts of type "run" are run updates; use another key')
}
