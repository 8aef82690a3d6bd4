import type { PipeStreamOptions, StreamSource } from '../../api/stream.ts'
import { streams } from '../../core/ambient/ambient.ts'
import {
  type OptionNames,
  requireFunction,
  requireName,
  requireOptions,
  show,
} from '../../primitives/require.ts'
import { leavable } from './current-run.ts'
import { hostedOnly } from './hosted-only.ts'
import { hostedInput, type RealtimeDefinedInputStream } from './input-streams.ts'
import { leavableStream } from './left-stream.ts'
import { jsonChunk, jsonSource } from './json-source.ts'
import { hostedLogger } from './logger.ts'
import { requireTypes } from './option-types.ts'
import { type RequestOptions, requireRequest, takingRequests } from './request-options.ts'

/** Chunks that can be iterated, and read as a web stream. */
export type AsyncIterableStream<Chunk> = AsyncIterable<Chunk> & ReadableStream<Chunk>

/** Options of writing to a stream. */
export interface WriteStreamOptions {
  signal?: AbortSignal
  /** Whose stream it is: `self`, `parent`, `root` or the id of a run. */
  target?: string
  requestOptions?: RequestOptions
  spanName?: string
  collapsed?: boolean
}

/** Options of `streams.read`. */
export interface HostedReadOptions {
  signal?: AbortSignal
  startIndex?: number
  /** Without effect: reading ends with the stream. */
  timeoutInSeconds?: number
  /** Where reading starts if there is no `startIndex`: only at the `beginning`. */
  from?: 'beginning' | 'latest'
}

/** A source that is written to a stream. */
export interface PipeStreamResult<Chunk> {
  stream: AsyncIterableStream<Chunk>
  waitUntilComplete: () => Promise<object>
}

/** Options of `streams.writer`. */
export interface WriterStreamOptions<Chunk> extends WriteStreamOptions {
  execute: (options: {
    write: (chunk: Chunk) => void
    merge: (stream: ReadableStream<Chunk>) => void
  }) => Promise<void> | void
}

/** A stream with a fixed key and type of chunk. */
export interface RealtimeDefinedStream<Chunk> {
  id: string
  pipe: (source: StreamSource<Chunk>, options?: WriteStreamOptions) => PipeStreamResult<Chunk>
  read: (runId: string, options?: HostedReadOptions) => Promise<AsyncIterableStream<Chunk>>
  append: (chunk: Chunk, options?: WriteStreamOptions) => Promise<void>
  writer: (options: WriterStreamOptions<Chunk>) => PipeStreamResult<Chunk>
}

/** The type of chunk of a stream. */
export type InferStreamType<Stream> = Stream extends RealtimeDefinedStream<infer Chunk> ? Chunk : unknown

/** Options of `streams.define`. */
export interface RealtimeDefineStreamOptions {
  id: string
}

/** Streams, as the hosted service has them. Without a key, the key is `default`. */
export interface HostedStreams {
  pipe<Chunk>(key: string, source: StreamSource<Chunk>, options?: WriteStreamOptions): PipeStreamResult<Chunk>
  pipe<Chunk>(source: StreamSource<Chunk>, options?: WriteStreamOptions): PipeStreamResult<Chunk>
  read<Chunk>(runId: string, key: string, options?: HostedReadOptions): Promise<AsyncIterableStream<Chunk>>
  read<Chunk>(runId: string, options?: HostedReadOptions): Promise<AsyncIterableStream<Chunk>>
  append<Chunk>(key: string, chunk: Chunk, options?: WriteStreamOptions): Promise<void>
  append<Chunk>(chunk: Chunk, options?: WriteStreamOptions): Promise<void>
  writer<Chunk>(key: string, options: WriterStreamOptions<Chunk>): PipeStreamResult<Chunk>
  writer<Chunk>(options: WriterStreamOptions<Chunk>): PipeStreamResult<Chunk>
  define<Chunk>(options: RealtimeDefineStreamOptions): RealtimeDefinedStream<Chunk>
  /** Names a stream of messages into runs. */
  input<Data>(options: { id: string }): RealtimeDefinedInputStream<Data>
}

const DEFAULT_KEY = 'default'

const WRITE_NAMES: OptionNames<WriteStreamOptions> = {
  signal: true,
  target: true,
  requestOptions: true,
  spanName: true,
  collapsed: true,
}
const STARTS: readonly string[] = ['beginning', 'latest']
const READ_NAMES: OptionNames<HostedReadOptions> = {
  signal: true,
  startIndex: true,
  timeoutInSeconds: true,
  from: true,
}

/** The options of ours. An empty target is none, as there. */
function written(options: WriteStreamOptions): PipeStreamOptions {
  requireOptions(options, 'the options of a stream', WRITE_NAMES)
  requireTypes(options, 'a stream', { spanName: 'string', collapsed: 'boolean' })
  requireRequest(options.requestOptions)
  const { signal, target = '' } = options
  return { ...(signal && { signal }), ...(target !== '' && { target }) }
}

function pipe<Chunk>(
  key: string,
  source: StreamSource<Chunk>,
  options: WriteStreamOptions = {},
): PipeStreamResult<Chunk> {
  const piped = streams.pipe(key, jsonSource(source), written(options))
  return {
    stream: asStream(piped.stream),
    waitUntilComplete: () => leavable(piped.waitUntilComplete().then(() => ({}))),
  }
}

async function append<Chunk>(key: string, chunk: Chunk, options: WriteStreamOptions = {}): Promise<void> {
  const { target } = written(options)
  await streams.append(key, jsonChunk(chunk), target === undefined ? {} : { target })
}

async function read<Chunk>(
  runId: string,
  key: string,
  given: HostedReadOptions = {},
): Promise<AsyncIterableStream<Chunk>> {
  requireOptions(given, 'the options of streams.read', READ_NAMES)
  requireTypes(given, 'streams.read', { timeoutInSeconds: 'number' })
  const { signal, startIndex, from } = given
  if (from !== undefined && !STARTS.includes(from))
    throw new RangeError(`Cannot read a stream from ${show(from)}: it must be "beginning" or "latest"`)
  if (from === 'latest' && startIndex === undefined)
    throw hostedOnly('streams.read from "latest"', 'give it a startIndex')
  const options = { ...(signal && { signal }), ...(startIndex !== undefined && { startIndex }) }
  return asStream(streams.read<Chunk>(runId, key, options))
}

function writer<Chunk>(
  key: string,
  { execute, ...options }: WriterStreamOptions<Chunk>,
): PipeStreamResult<Chunk> {
  const given: unknown = execute
  requireFunction(given ?? null, 'execute of streams.writer')
  return pipe(key, writtenBy(key, execute), options)
}

/**
 * The chunks that a function writes and merges, until it and the streams that it merged have ended. As in the hosted service the
 * function is called at once, and an error of it or of one of these streams is logged and ends only its own part.
 */
function writtenBy<Chunk>(
  key: string,
  execute: WriterStreamOptions<Chunk>['execute'],
): ReadableStream<Chunk> {
  return new ReadableStream<Chunk>({
    start: (controller) => {
      const parts: Promise<void>[] = []
      const add = (part: () => Promise<void>): void => {
        const log = (error: unknown): void =>
          hostedLogger.error(`A writer of stream "${key}" has failed`, { error })
        parts.push(part().catch(log))
      }
      const write = (chunk: Chunk): void => {
        try {
          controller.enqueue(chunk)
        } catch {
          // The stream has ended.
        }
      }
      const merge = (stream: ReadableStream<Chunk>): void =>
        add(async () => {
          for await (const chunk of stream) write(chunk)
        })
      add(async () => execute({ write, merge }))
      ended(parts)
        .then(() => controller.close())
        .catch(() => {
          // The stream has ended.
        })
    },
  })
}

/** Also those that are added meanwhile. */
async function ended(parts: readonly Promise<void>[]): Promise<void> {
  for (const part of parts) await part
}

/** A web stream that reads an iterable as it is read itself. In Node it can be iterated. */
export function asStream<Chunk>(chunks: AsyncIterable<Chunk>): AsyncIterableStream<Chunk> {
  const iterator = chunks[Symbol.asyncIterator]()
  const stream = new ReadableStream<Chunk>(
    {
      pull: async (controller) => {
        const next = await iterator.next()
        if (next.done === true) controller.close()
        else controller.enqueue(next.value)
      },
      cancel: async () => {
        await iterator.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return leavableStream(stream) as AsyncIterableStream<Chunk>
}

/** Whether the first of two arguments was left out. */
const hasKey = (first: unknown): first is string => typeof first === 'string'

/** `streams`. */
export const hostedStreams: HostedStreams = /* @__PURE__ */ takingRequests<HostedStreams>({
  pipe: <Chunk>(
    first: string | StreamSource<Chunk>,
    second?: StreamSource<Chunk> | WriteStreamOptions,
    third?: WriteStreamOptions,
  ) =>
    hasKey(first)
      ? pipe(first, second as StreamSource<Chunk>, third)
      : pipe(DEFAULT_KEY, first, second as WriteStreamOptions | undefined),
  read: <Chunk>(runId: string, second?: string | HostedReadOptions, third?: HostedReadOptions) =>
    typeof second === 'string' ? read<Chunk>(runId, second, third) : read<Chunk>(runId, DEFAULT_KEY, second),
  append: (...values: readonly unknown[]) => {
    const [first, second, third] = values
    // With one text, or a text and options, the text is the chunk; with two chunks the first is the key.
    return hasKey(first) && second !== undefined && !isWriteOptions(second)
      ? append(first, second, third as WriteStreamOptions | undefined)
      : append(DEFAULT_KEY, first, second as WriteStreamOptions | undefined)
  },
  writer: <Chunk>(first: string | WriterStreamOptions<Chunk>, second?: WriterStreamOptions<Chunk>) =>
    hasKey(first) ? writer(first, second as WriterStreamOptions<Chunk>) : writer(DEFAULT_KEY, first),
  define: (options) => {
    requireOptions(options, 'the options of streams.define', { id: true })
    const id = requireName(options.id, 'the id of a stream')
    return takingRequests({
      id,
      pipe: (source, options) => pipe(id, source, options),
      read: (runId, options) => read(runId, id, options),
      append: (chunk, options) => append(id, chunk, options),
      writer: (options) => writer(id, options),
    })
  },
  input: hostedInput,
})

function isWriteOptions(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const isOption = (name: string): boolean => Object.hasOwn(WRITE_NAMES, name)
  return ('target' in value || 'requestOptions' in value) && Object.keys(value).every(isOption)
}
