import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import type { StreamRecord, SegmentEnd } from '../../contract/records.ts'
import type { Awaitable, ChunkRead, ChunksRead, StreamHistory } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { requireSignal } from '../../primitives/require.ts'
import type { Watcher } from '../changes/feed.ts'
import { StreamInterruptedError } from '../../api/errors.ts'
import type { Host } from '../host/host.ts'
import type { RunJournal } from '../changes/run-journal.ts'
import { assertOpen, type RunScope } from '../attempt/attempt.ts'
import { StreamChannel, streamTopic } from './channel.ts'
import { StreamPipe } from './pipe.ts'
import { checkKey } from '../../api/stream.ts'
import type { SourceReader } from './source.ts'
import { readSource } from './source.ts'
import type { StreamSource } from '../../api/stream.ts'
import { staleAttempt } from '../waits/waitpoints.ts'
/** How long a run that has returned waits for its streams (specification 3.2 and 8). */
const DRAIN_MS = 60_000

export interface RunStreamsOptions {
  readonly host: Host
  readonly journal: RunJournal
  readonly history: StreamHistory
  readonly stale: (scope: RunScope) => void
}

/** What the task gets of a pipe. */
export interface Piped {
  readonly chunks: AsyncIterable<never>
  readonly pipe: StreamPipe
}

/** The streams of the attempts that execute here. */
export class RunStreams implements AttemptStreams {
  readonly #options: RunStreamsOptions
  readonly #streams = new Map<string, AttemptStream>()
  readonly #keys = new Map<RunScope, Map<string, Awaitable<AttemptStream>>>()

  constructor(options: RunStreamsOptions) {
    this.#options = options
  }

  /**
   * Registers a source and starts reading it.
   *
   * @throws TypeError for what is no source, and TypeError or RangeError for what is no key.
   */
  pipe(
    scope: RunScope,
    key: string,
    { source, signal }: { readonly source: StreamSource<unknown>; readonly signal?: AbortSignal | undefined },
  ): Awaitable<Piped> {
    checkKey(key)
    requireSignal(signal, 'signal')
    const reader = readSource(source)
    try {
      const piped = chain(this.#open(scope, key), (stream) =>
        this.#start(scope, stream, { source: reader, signal }),
      )
      if (isPromise(piped)) piped.catch(() => reader.stop())
      return piped
    } catch (error) {
      reader.stop()
      throw error
    }
  }

  #start(
    scope: RunScope,
    stream: AttemptStream,
    { source, signal }: { readonly source: SourceReader; readonly signal: AbortSignal | undefined },
  ): Piped {
    assertOpen(scope)
    const { channel } = stream
    const { journal } = this.#options
    const { key } = channel
    const watch = (): Watcher => journal.feed.watch(streamTopic(scope.id, key))
    const read = (from: number, limit: number): Awaitable<ChunksRead | undefined> =>
      this.read({ runId: scope.id, key, from, limit }, { isOver: false })
    const { clock } = this.#options.host
    const reading: Hold = { kind: 'reading', id: scope.id }
    const hold = (): ReleaseHold | undefined => clock.hold?.(reading)
    const turn = (): Promise<void> => this.#turn(scope)
    const pipe = new StreamPipe({ channel, source, signal, watch, read, hold, turn })
    stream.add(pipe)
    // A failure is the readers' and the event's, never the run's.
    pipe.ended
      .then(() => {
        if (pipe.failure !== undefined) journal.events.error(pipe.failure.error, scope.id)
        return stream.pipeEnded(pipe)
      })
      .catch((error: unknown) => journal.events.error(error, scope.id))
    // The chunks are of the type of the source.
    return { pipe, chunks: { [Symbol.asyncIterator]: () => pipe.chunks() as AsyncGenerator<never> } }
  }

  /** Lets everybody else have a turn of the event loop. */
  #turn({ id }: RunScope): Promise<void> {
    const { clock } = this.#options.host
    const turn = createDeferred<void>()
    clock.setTimer(clock.now(), turn.resolve, { label: `a turn of the streams of ${id}`, background: true })
    return turn.promise
  }

  /** The keys that this attempt writes, or has begun to. */
  keysOf(scope: RunScope): readonly string[] {
    return [...(this.#keys.get(scope)?.keys() ?? [])]
  }

  /** Lists a key on the run before there is a chunk. */
  announce(scope: RunScope, key: string): Awaitable<void> {
    checkKey(key)
    return chain(this.#open(scope, key), () => undefined)
  }

  /** Adds one chunk; the stream ends with the attempt. */
  append(scope: RunScope, key: string, chunk: unknown): Awaitable<void> {
    checkKey(key)
    return chain(this.#open(scope, key), ({ channel }) => {
      assertOpen(scope)
      return chain(channel.append(chunk), () => channel.flushed().then(() => assertStored(scope, channel)))
    })
  }

  /**
   * Chunks from wherever they are: the ring of the attempt that writes them, or storage. Only storage knows how a run
   * left its streams.
   */
  read(request: ChunkRead, { isOver }: { readonly isOver: boolean }): Awaitable<ChunksRead | undefined> {
    const channel = this.#streams.get(streamTopic(request.runId, request.key))?.channel
    const kept = isOver ? undefined : channel?.read(request.from, request.limit)
    return kept ?? this.#options.host.storage.chunks.read(request)
  }

  hasOpen(scope: RunScope): boolean {
    return this.#keys.has(scope)
  }

  async drain(scope: RunScope): Promise<void> {
    const { clock } = this.#options.host
    const drained = createDeferred<void>()
    this.#allEnded(scope).then(drained.resolve, drained.reject)
    const about = { label: `drain of the streams of ${scope.id}` }
    const cancel = clock.setTimer(clock.now() + DRAIN_MS, drained.resolve, about)
    await drained.promise.finally(cancel)
    await this.#close(scope, 'done')
  }

  stop(scope: RunScope): Awaitable<void> {
    if (this.#keys.has(scope)) return this.#close(scope, 'interrupted')
  }

  /** Also those that are registered meanwhile. */
  async #allEnded(scope: RunScope): Promise<void> {
    for (;;) {
      const pipes = (await this.#of(scope)).flatMap((stream) => stream.pipes)
      if (pipes.length === 0) return
      for (const pipe of pipes) pipe.release()
      await Promise.all(pipes.map((pipe) => pipe.ended))
    }
  }

  async #close(scope: RunScope, reason: 'done' | 'interrupted'): Promise<void> {
    const streams = await this.#of(scope)
    this.#keys.delete(scope)
    await Promise.all(streams.map((stream) => stream.close(reason, stopError(scope, stream))))
    for (const { channel } of streams) {
      const topic = streamTopic(scope.id, channel.key)
      if (this.#streams.get(topic)?.channel === channel) this.#streams.delete(topic)
      channel.wake()
    }
  }

  async #of(scope: RunScope): Promise<readonly AttemptStream[]> {
    const settled = await Promise.allSettled([...(this.#keys.get(scope)?.values() ?? [])])
    return settled.flatMap((opened) => (opened.status === 'fulfilled' ? [opened.value] : []))
  }

  #open(scope: RunScope, key: string): Awaitable<AttemptStream> {
    assertOpen(scope)
    const keys = this.#keys.get(scope) ?? new Map<string, Awaitable<AttemptStream>>()
    this.#keys.set(scope, keys)
    const known = keys.get(key)
    if (known !== undefined) return known
    const { host } = this.#options
    const opening = host.storage.chunks.open({
      runId: scope.id,
      key,
      epoch: scope.record.epoch,
      attempt: scope.record.attempt,
      by: host.owner,
      now: host.now(),
    })
    const opened = chain(opening, (stream) => this.#opened(scope, key, stream))
    keys.set(key, opened)
    const settled = (stream: AttemptStream): unknown => keys.set(key, stream)
    // What could not be opened may be tried again.
    if (isPromise(opened)) opened.then(settled, () => keys.delete(key))
    return opened
  }

  #opened(scope: RunScope, key: string, record: StreamRecord | undefined): AttemptStream {
    const { host, journal, history, stale } = this.#options
    if (record === undefined) {
      stale(scope)
      throw staleAttempt(scope.id)
    }
    const lost = (): void => stale(scope)
    const channel = new StreamChannel({ host, journal, scope, key, history, stream: record, stale: lost })
    const stream = new AttemptStream(channel)
    this.#streams.set(streamTopic(scope.id, key), stream)
    // Subscribers learn that there is a new key.
    journal.touched(scope.id)
    return stream
  }
}

/** Why the task cannot read on in a stream whose source is stopped. */
function stopError(scope: RunScope, { channel }: AttemptStream): unknown {
  try {
    assertOpen(scope)
  } catch (error) {
    return error
  }
  return new StreamInterruptedError(channel.key, channel.next)
}

function assertStored(scope: RunScope, channel: StreamChannel): void {
  if (!channel.isLost) return
  assertOpen(scope)
  throw staleAttempt(scope.id)
}

/** A stream of one attempt: its channel, and the sources that are read into it. */
export class AttemptStream {
  readonly channel: StreamChannel
  readonly #pipes = new Set<StreamPipe>()
  /** What came of the sources that have ended. */
  #end: SegmentEnd = { reason: 'done' }

  constructor(channel: StreamChannel) {
    this.channel = channel
  }

  /** The sources that are still being read. */
  get pipes(): readonly StreamPipe[] {
    return [...this.#pipes]
  }

  /** Starts reading one more source. */
  add(pipe: StreamPipe): void {
    this.#pipes.add(pipe)
    pipe.start()
  }

  /** One source has ended; with the last one the stream does, until there is more. */
  async pipeEnded(pipe: StreamPipe): Promise<void> {
    this.#pipes.delete(pipe)
    this.#end = worse(this.#end, pipe.segmentEnd)
    if (this.#pipes.size === 0) await this.channel.end(this.#end)
  }

  /** Stops what is still being read with `error`, and ends the stream for `reason` unless a source has a worse one. */
  async close(reason: 'done' | 'interrupted', error: unknown): Promise<void> {
    let end = worse(this.#end, { reason })
    for (const pipe of this.#pipes) {
      pipe.stop(error)
      end = worse(end, pipe.segmentEnd)
    }
    await this.channel.end(end)
  }
}

const BADNESS = { done: 0, interrupted: 1, failed: 2 }

/** A stream is no better than the worst of what was written to it. */
function worse(one: SegmentEnd, other: SegmentEnd): SegmentEnd {
  return BADNESS[other.reason] > BADNESS[one.reason] ? other : one
}

/** The streams of an attempt, as far as its end is concerned. */
export interface AttemptStreams {
  /** Whether a source is still being read. */
  hasOpen(scope: RunScope): boolean
  /** Resolves when every source has ended, or was stopped after 60 s (specification 3.2). */
  drain(scope: RunScope): Promise<void>
  /** Stops every source at once. */
  stop(scope: RunScope): Awaitable<void>
}
