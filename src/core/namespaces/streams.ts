import { leftAtEnd, mayBeLeft, leftAtEndBy } from '../../primitives/awaitable.ts'
import type { OptionNames } from '../../primitives/require.ts'
import { requireName, requireOptions, requireSignal } from '../../primitives/require.ts'
import type { Watcher } from '../changes/watchers.ts'
import type { EngineStreamsNamespace, InputOptions, InputStream } from '../../api/input.ts'
import type { InputCalls } from '../../api/input-calls.ts'
import { defineInput } from './define-input.ts'
import { defineStream } from './define-stream.ts'
import type { Kernel } from '../kernel.ts'
import type { OnceEffects } from './once.ts'
import { Reading } from '../reading/reading.ts'
import { runId, type RunReference } from '../../api/run.ts'
import type {
  AppendStreamOptions,
  DefinedStream,
  PipedStream,
  PipeStreamOptions,
  ReadStreamOptions,
  StreamSource,
  TargetStreamOptions,
} from '../../api/stream.ts'
import { type Attempt, endedReader, endError, lateAttempt, refuse } from '../attempt/attempt.ts'
import { chunkRecord, streamTopic } from '../streams/channel.ts'
import { type PagedStream, pagesOf } from '../reading/stream-pages.ts'
import { StreamReader } from '../reading/stream-reader.ts'
import type { ChunkPage } from '../../api/stream-page.ts'
import { checkKey, type StreamReading, streamReading } from '../../api/stream.ts'
import { checkSource } from '../streams/source.ts'

const PIPE_NAMES: OptionNames<PipeStreamOptions> = { signal: true, target: true }
const APPEND_NAMES: OptionNames<AppendStreamOptions> = { target: true, once: true }

/** Streams of one engine. */
export class EngineStreams implements EngineStreamsNamespace {
  readonly #kernel: Kernel
  readonly #effects: OnceEffects
  readonly #inputs: InputCalls

  constructor(kernel: Kernel, effects: OnceEffects, inputs: InputCalls) {
    this.#kernel = kernel
    this.#effects = effects
    this.#inputs = inputs
  }

  define<Chunk>(options: { readonly id: string }): DefinedStream<Chunk> {
    return defineStream(this, options)
  }

  input<Input = unknown>(options: InputOptions<Input>): InputStream<Input> {
    return defineInput(this.#inputs, options)
  }

  pipe<Chunk>(key: string, source: StreamSource<Chunk>, options: PipeStreamOptions = {}): PipedStream<Chunk> {
    const late = lateAttempt('streams.pipe')
    if (late !== undefined) {
      const refused = (): Promise<never> => refuse(endError(late))
      return { stream: endedReader(refused), waitUntilComplete: refused }
    }
    const attempt = this.#kernel.requireRunning('streams.pipe')
    checkKey(key)
    checkSource(source)
    requireOptions(options, 'the options of streams.pipe', PIPE_NAMES)
    const { signal } = options
    requireSignal(signal, 'signal')
    const to = otherRun(attempt, options)
    const { streams, events } = this.#kernel
    const piped = this.#kernel.call(() => streams.pipe(attempt, key, { source, signal, to }))
    const chunks = async function* (): AsyncGenerator<Chunk> {
      // Those of its source.
      yield* (await piped).pipe.chunks() as AsyncGenerator<Chunk>
    }
    const stream: AsyncIterable<Chunk> = {
      [Symbol.asyncIterator]: () => leftAtEndBy(attempt, chunks(), 'next'),
    }
    const reader = new WeakRef(stream)
    // The answer may be left unused; a caller that uses it gets the failure as well.
    piped.then(
      ({ pipe }) => pipe.keepWhile(reader),
      (error: unknown) => {
        if (!attempt.isEnded) events.error(error, attempt.id)
      },
    )
    const completed = async (): Promise<void> => {
      const { pipe } = await piped
      await pipe.ended
      pipe.assertDone()
    }
    return {
      stream,
      waitUntilComplete: () => leftAtEnd(attempt, completed()),
    }
  }

  append(key: string, chunk: unknown, options?: AppendStreamOptions): Promise<void> {
    let to: string | undefined
    const appended = this.#kernel.call(() => {
      const attempt = this.#kernel.requireRunning('streams.append')
      if (options !== undefined) requireOptions(options, 'the options of streams.append', APPEND_NAMES)
      to = otherRun(attempt, options)
      const once = options?.once
      if (once !== undefined) return this.#appendOnce(attempt, { key, to, once }, chunk)
      return this.#kernel.streams.append(attempt, { key, to }, chunk)
    })
    // The event tells that another run has ended, too.
    return to === undefined ? appended : mayBeLeft(appended)
  }

  #appendOnce(attempt: Attempt, { key, to, once }: OnceAppend, chunk: unknown): Promise<void> {
    checkKey(key)
    requireName(once, 'once')
    if (to !== undefined)
      throw new RangeError(
        `Cannot append once to stream "${key}" of run "${to}": use \`once\` with streams of the own run`,
      )
    const { value } = chunkRecord(chunk, key)
    const record = `streams.append ${JSON.stringify(key)} ${once}`
    return this.#effects.run(record, () =>
      this.#kernel.streams.appendOnce(attempt, { key, once: `once ${once}` }, value),
    )
  }

  read<Chunk = unknown>(
    run: RunReference,
    key: string,
    options: ReadStreamOptions = {},
  ): AsyncIterable<Chunk> {
    const id = runId(run)
    const reading = streamReading(key, options)
    // Chunks are of the type the writer and the reader agreed on.
    return { [Symbol.asyncIterator]: () => readStream(this.#kernel, id, reading) as Reading<Chunk> }
  }
}

/** A chunk is appended under a name, for which no other is. */
interface OnceAppend extends Required<Pick<AppendStreamOptions, 'once'>> {
  readonly key: string
  readonly to: string | undefined
}

/** The other run that a target names; none for the run itself. */
function otherRun({ record }: Attempt, { target = 'self' }: TargetStreamOptions = {}): string | undefined {
  const { id, parentId = id, rootId } = record
  requireName(target, 'target')
  const named = new Map([
    ['self', id],
    ['parent', parentId],
    ['root', rootId],
  ])
  const runId = named.get(target) ?? target
  return runId === id ? undefined : runId
}

function readStream(
  kernel: Kernel,
  id: string,
  { key, startIndex, signal, isLast }: StreamReading,
): Reading<unknown> {
  const reader = new StreamReader(kernel, { runId: id, key, from: startIndex, isLast })
  return new Reading({
    watch: () => kernel.watchers.watch(id, streamTopic(id, key)),
    read: (watcher) => readSegment(kernel, { id, reader, signal }, watcher),
    items: ({ chunks }) => chunks.map(({ value }) => value),
    signal,
  })
}

/** The pages of one segment; throws what it failed with after the last one. */
async function* readSegment(kernel: Kernel, place: PagedStream, watcher: Watcher): AsyncGenerator<ChunkPage> {
  for await (const page of pagesOf(kernel, place, watcher)) {
    yield page
    place.signal?.throwIfAborted()
    if (page.end === undefined) continue
    const failure = place.reader.failureOf(page.end)
    if (failure !== undefined) throw failure
    return
  }
}
