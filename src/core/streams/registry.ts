import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import type { StreamRecord, SegmentEnd } from '../../contract/records.ts'
import { worseEnd } from '../../contract/segment-ends.ts'
import type { Awaitable, ChunkRead, ChunksRead, StreamHistory } from '../../contract/storage.ts'
import { chain, isPromise, leftAtEndBy } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { SequenceRanges } from '../../primitives/sequence-ranges.ts'
import { requireSignal } from '../../primitives/require.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Watcher } from '../changes/watchers.ts'
import { StreamInterruptedError, WaitpointError } from '../../api/errors.ts'
import type { Attempt, AttemptStreams } from '../attempt/attempt.ts'
import { assertOpen, effectChunks, staleAttempt } from '../attempt/attempt.ts'
import type { EffectChunks } from '../attempt/effect-chunks.ts'
import { afterTurn, type Breath } from '../host/breath.ts'
import { OPEN_STREAM, READ_CHUNKS } from '../host/storage-calls.ts'
import { type ChannelParts, type ChunkProgress, StreamChannel, streamsTopic, streamTopic } from './channel.ts'
import { type PipeOptions, StreamPipe } from './pipe.ts'
import { checkKey } from '../../api/stream.ts'
import type { SourceReader } from './source.ts'
import { readSource } from './source.ts'
import type { StreamSource } from '../../api/stream.ts'
import { UnreadChunks } from './unread-chunks.ts'

/** How long a run that has returned waits for its streams; see docs/streams.md. */
const DRAIN_MS = 60_000
const NONE: readonly AttemptStream[] = []

interface Parts extends ChannelParts {
  readonly breath: Breath
  readonly events: EventQueue
  readonly publisher: Publisher
}

/** A pipe, and its chunks for the task. */
export interface Piped {
  readonly chunks: AsyncIterable<never>
  readonly pipe: StreamPipe
  /** Resolves when the source has ended, and all that it wrote is stored. */
  readonly ended: Promise<void>
}

/** A source that is read into a stream, until the signal stops it. */
interface PipedSource {
  readonly source: SourceReader
  readonly signal: AbortSignal | undefined
  readonly to: string | undefined
  /** Of the effect that the source is part of. */
  readonly effect: EffectChunks | undefined
}

/** A source, and the other run to a stream of which it is read. */
export interface PipeRequest {
  readonly source: StreamSource<unknown>
  readonly signal?: AbortSignal | undefined
  readonly to?: string | undefined
}

/** A stream of the run that writes, or of another one. */
export interface WrittenStream {
  readonly key: string
  readonly to?: string | undefined
  /** The writer of a chunk that is appended once. */
  readonly once?: string | undefined
}

/** Whether the run that is read has ended, and the attempt that reads, if one does. */
interface ReadBy {
  readonly isOver: boolean
  readonly attempt: Attempt | undefined
}

/** The streams of the attempts that execute here. */
export class RunStreams {
  readonly kernel: Parts
  readonly history: StreamHistory
  /** By topic; a run that executes anew has streams of the latest attempt. */
  readonly #streams = new Map<string, AttemptStream>()
  /** How often attempts have closed streams of other runs. */
  readonly closed: WeakMap<Attempt, number> = new WeakMap()

  constructor(kernel: Parts, history: StreamHistory) {
    this.kernel = kernel
    this.history = history
  }

  /**
   * Registers a source and starts reading it.
   *
   * @throws TypeError for a value that is no source; TypeError or RangeError for a wrong key.
   */
  pipe(attempt: Attempt, key: string, { source, signal, to }: PipeRequest): Awaitable<Piped> {
    checkKey(key)
    requireSignal(signal, 'signal')
    const reader = readSource(source)
    const effect = effectChunks(attempt)
    try {
      const piped = chain(this.#open(attempt, key, to), (stream) =>
        this.#start(attempt, stream, { source: reader, signal, to, effect }),
      )
      effect?.add(uncut(piped))
      if (isPromise(piped)) piped.catch(() => reader.stop())
      return piped
    } catch (error) {
      reader.stop()
      throw error
    }
  }

  #start(attempt: Attempt, stream: AttemptStream, { source, signal, to, effect }: PipedSource): Piped {
    assertOpen(attempt)
    const { channel } = stream
    const { watchers, events, host } = this.kernel
    const { key } = channel
    const watch = (): Watcher => watchers.watch(streamTopic(to ?? attempt.id, key))
    // Where its chunks are in a stream of another run is not known: the task has those that are kept for it.
    const read: PipeOptions['read'] =
      to === undefined
        ? (from, limit) => this.read({ runId: attempt.id, key, from, limit }, { isOver: false, attempt })
        : () => ({ first: channel.next, chunks: [] })
    const { clock } = host
    const reading: Hold = { kind: 'reading', id: attempt.id }
    const hold = (): ReleaseHold | undefined => clock.hold?.(reading)
    const turn = (): Promise<void> => this.#turn(attempt)
    const isKept = to !== undefined || host.storage.boundedHistory === true
    const unread = isKept ? new UnreadChunks(this.history) : undefined
    const rested = (): void => attempt.rested()
    const written = to === undefined ? stream.writtenBy(effect) : undefined
    const pipe = new StreamPipe({ channel, source, signal, unread, written, watch, read, hold, turn, rested })
    stream.add(pipe)
    // A failure is the readers' and the event's, never the run's.
    const ended = pipe.ended
      .then(() => {
        attempt.rested()
        if (pipe.failure !== undefined) events.error(pipe.failure.error, attempt.id)
        return stream.pipeEnded(pipe)
      })
      .catch((error: unknown) => events.error(error, attempt.id))
    // The chunks are of the type of the source.
    const steps = (): AsyncGenerator<never> =>
      leftAtEndBy(attempt, pipe.chunks() as AsyncGenerator<never>, 'next')
    return { pipe, ended, chunks: { [Symbol.asyncIterator]: steps } }
  }

  /** Lets the rest of the process have a turn of the event loop. */
  #turn({ id }: Attempt): Promise<void> {
    const { clock } = this.kernel.host
    const turn = createDeferred<void>()
    clock.setTimer(clock.now(), turn.resolve, { label: `a turn of the streams of ${id}`, background: true })
    return turn.promise
  }

  /** Lists a key on the run before there is a chunk. */
  announce(attempt: Attempt, key: string): Awaitable<void> {
    checkKey(key)
    return chain(this.#open(attempt, key), () => undefined)
  }

  /** Adds one chunk, to a stream of the run or of another one; the stream ends with the attempt. */
  append(attempt: Attempt, { key, to, once }: WrittenStream, chunk: unknown): Awaitable<void> {
    const stored = this.write(
      { attempt, key, to },
      [chunk],
      once === undefined ? undefined : { writer: once },
    )
    const turn = this.kernel.breath.turnOfChunk(attempt)
    return turn === undefined ? stored : afterTurn(turn, () => stored)
  }

  /** Adds a chunk that no earlier attempt has added. For an effect, which is recorded when it is stored. */
  async appendOnce(
    attempt: Attempt,
    { key, once }: Required<Omit<WrittenStream, 'to'>>,
    chunk: unknown,
  ): Promise<void> {
    const request = { runId: attempt.id, key, from: 0, limit: 0, writer: once }
    const stored =
      attempt.record.attempt > 1 &&
      (await this.kernel.outage.ask({ attempt, call: READ_CHUNKS, request }, (read) => read?.written))
    if (typeof stored === 'number') effectChunks(attempt)?.of(key).add(stored)
    else await this.append(attempt, { key, once }, chunk)
  }

  /** Adds chunks, in one call of the storage. A writer outside of the run says how far it has got with them. */
  write(
    { attempt, key, to }: WrittenStream & { readonly attempt: Attempt },
    chunks: readonly unknown[],
    progress?: ChunkProgress,
  ): Awaitable<void> {
    checkKey(key)
    const effect = effectChunks(attempt)
    const stored = chain(this.#open(attempt, key, to), (stream) => {
      assertOpen(attempt)
      const { channel } = stream
      const written = to === undefined ? stream.writtenBy(effect) : undefined
      for (const chunk of chunks) {
        const { tail } = channel
        void channel.append(chunk, progress)
        written?.add(tail)
      }
      return channel.flushed().then(() => assertStored(attempt, channel))
    })
    // A chunk that is refused is for its caller to handle.
    effect?.add(Promise.resolve(stored).catch(() => undefined))
    return stored
  }

  /**
   * Chunks from wherever they are: the ring of the attempt that writes them, or storage. Only storage knows how a run
   * left its streams.
   */
  read(request: ChunkRead, { isOver, attempt }: ReadBy): Awaitable<ChunksRead | undefined> {
    const channel = this.#streams.get(streamTopic(request.runId, request.key))?.channel
    const kept = isOver ? undefined : channel?.read(request.from, request.limit)
    return (
      kept ??
      this.kernel.outage.ask({ attempt, call: READ_CHUNKS, request }, (read) => {
        if (read !== undefined) channel?.told(read.stream.next)
        return read
      })
    )
  }

  /** Another run, or another engine, has written to a stream. */
  changed(runId: string, key: string): void {
    const { watchers } = this.kernel
    const topic = streamTopic(runId, key)
    this.#streams.get(topic)?.channel.share()
    watchers.wake(topic)
    watchers.wake(streamsTopic(runId), undefined, key)
  }

  /** Other engines may have written to any stream: hints may have been lost. */
  doubt(): void {
    for (const { channel } of this.#streams.values()) channel.doubt()
  }

  /** A parked run that writes a stream has its slot first. */
  #open(attempt: Attempt, key: string, to?: string): Awaitable<AttemptStream> {
    assertOpen(attempt)
    const streams = attempt.streams instanceof OpenStreams ? attempt.streams : new OpenStreams(this, attempt)
    attempt.streams = streams
    const slot = attempt.whenExecuting()
    if (slot !== undefined) return streams.later(slot.then(() => this.#open(attempt, key, to)))
    return to === undefined ? streams.open(key) : streams.openOf(to, key)
  }

  /** Readers here find what the attempt has just written. */
  add(runId: string, stream: AttemptStream): void {
    this.#streams.set(streamTopic(runId, stream.channel.key), stream)
  }

  /** From now on storage is read. */
  remove(runId: string, stream: AttemptStream): void {
    const topic = streamTopic(runId, stream.channel.key)
    if (this.#streams.get(topic) === stream) this.#streams.delete(topic)
  }
}

/** The streams of one attempt, from the first key on until they are closed. */
class OpenStreams implements AttemptStreams {
  readonly #all: RunStreams
  readonly #attempt: Attempt
  /** By key; a promise while storage is asked. */
  readonly #streams = new Map<string, Awaitable<AttemptStream>>()
  readonly #later = new Set<Promise<AttemptStream>>()
  /** Those of other runs. */
  #others: Map<string, AttemptStream> | undefined

  constructor(all: RunStreams, attempt: Attempt) {
    this.#all = all
    this.#attempt = attempt
  }

  get keys(): readonly string[] {
    return [...this.#streams.keys()]
  }

  get isWorking(): boolean {
    for (const stream of this.#streams.values()) if (!isPromise(stream) && stream.isWorking) return true
    for (const stream of this.#others?.values() ?? NONE) if (stream.isWorking) return true
    return false
  }

  /** A stream that waits for the slot of its run: one that has returned waits for it, too. */
  later(opened: Promise<AttemptStream>): Promise<AttemptStream> {
    this.#later.add(opened)
    const settled = (): unknown => this.#later.delete(opened)
    opened.then(settled, settled)
    return opened
  }

  open(key: string): Awaitable<AttemptStream> {
    const known = this.#streams.get(key)
    if (known !== undefined) return known
    const { id: runId, record } = this.#attempt
    const { epoch, attempt } = record
    const { host, outage } = this.#all.kernel
    const request = { runId, key, epoch, attempt, by: host.owner, now: host.now() }
    const question = { attempt: this.#attempt, call: OPEN_STREAM, request }
    const opened = outage.ask(question, (stream) => this.#opened(key, stream))
    this.#streams.set(key, opened)
    const settled = (stream: AttemptStream): unknown => this.#streams.set(key, stream)
    if (isPromise(opened)) {
      // A stream that could not be opened may be tried again.
      opened.then(settled, () => this.#streams.delete(key))
      this.#attempt.writes(opened)
    }
    return opened
  }

  /** A stream of another run. */
  openOf(runId: string, key: string): AttemptStream {
    const others = (this.#others ??= new Map<string, AttemptStream>())
    const topic = streamTopic(runId, key)
    const known = others.get(topic)
    if (known !== undefined && !known.channel.isEarly) return known
    const { kernel, history } = this.#all
    if (kernel.host.storage.chunks.add === undefined) throw unsupported(runId, key)
    const changed = (isNew: boolean): void => {
      this.#all.changed(runId, key)
      if (isNew) kernel.publisher.wake(runId)
    }
    const of = { runId, closed: this.#all.closed.get(this.#attempt) ?? 0, changed }
    const channel = new StreamChannel(kernel, { attempt: this.#attempt, key, history, of })
    const opened = new AttemptStream(channel, (error) => kernel.events.error(error, this.#attempt.id))
    others.set(topic, opened)
    return opened
  }

  #opened(key: string, stream: StreamRecord | undefined): AttemptStream {
    const { kernel, history } = this.#all
    const attempt = this.#attempt
    if (stream === undefined) {
      kernel.upcalls.stale(attempt)
      throw staleAttempt(attempt.id)
    }
    const opened = new AttemptStream(new StreamChannel(kernel, { attempt, key, history, stream }))
    this.#all.add(attempt.id, opened)
    // Subscribers learn that there is a new key.
    kernel.publisher.wake(attempt.id)
    return opened
  }

  async drain(): Promise<void> {
    const { clock } = this.#all.kernel.host
    const drained = createDeferred<void>()
    this.#allEnded().then(drained.resolve, drained.reject)
    const about = { label: `drain of the streams of ${this.#attempt.id}` }
    const cancel = clock.setTimer(clock.now() + DRAIN_MS, drained.resolve, about)
    await drained.promise.finally(cancel)
    await this.#close('done')
  }

  stop(): Promise<void> {
    return this.#close('interrupted')
  }

  /** Also those that are registered meanwhile. */
  async #allEnded(): Promise<void> {
    for (;;) {
      await Promise.allSettled(this.#later)
      const pipes = (await this.#settled()).flatMap((stream) => stream.pipes)
      if (pipes.length === 0) return
      for (const pipe of pipes) pipe.release()
      await Promise.all(pipes.map((pipe) => pipe.ended))
    }
  }

  async #close(reason: 'done' | 'interrupted'): Promise<void> {
    const attempt = this.#attempt
    const streams = await this.#settled()
    // A key that is opened from now on begins anew.
    if (attempt.streams === this) attempt.streams = undefined
    const { closed } = this.#all
    if (this.#others !== undefined) closed.set(attempt, (closed.get(attempt) ?? 0) + 1)
    await Promise.all(streams.map((stream) => stream.close(reason, stopError(attempt, stream))))
    for (const stream of streams) {
      this.#all.remove(attempt.id, stream)
      stream.channel.wake()
    }
  }

  async #settled(): Promise<readonly AttemptStream[]> {
    const settled = await Promise.allSettled([...this.#streams.values()])
    const own = settled.flatMap((opened) => (opened.status === 'fulfilled' ? [opened.value] : []))
    return this.#others === undefined ? own : [...own, ...this.#others.values()]
  }
}

/** Resolves when a source has ended; rejects if it was cut off. One that was not begun is for its caller to handle. */
async function uncut(piped: Awaitable<Piped>): Promise<void> {
  const begun = await Promise.resolve(piped).catch(() => undefined)
  await begun?.ended
  begun?.pipe.assertUncut()
}

/** Why the task cannot read on in a stream whose source is stopped. */
function stopError(attempt: Attempt, { channel }: AttemptStream): unknown {
  try {
    assertOpen(attempt)
  } catch (error) {
    return error
  }
  return new StreamInterruptedError(channel.key, channel.next)
}

function unsupported(runId: string, key: string): WaitpointError {
  return new WaitpointError(
    'ERR_CANNOT_WRITE_STREAM',
    `Cannot write to stream "${key}" of run "${runId}": the storage of this engine has streams for their own runs only`,
  )
}

function assertStored(attempt: Attempt, channel: StreamChannel): void {
  if (!channel.isLost) return
  if (channel.refusal !== undefined) throw channel.refusal
  assertOpen(attempt)
  throw staleAttempt(attempt.id)
}

/** A stream of one attempt: its channel, and the sources that are read into it. */
export class AttemptStream {
  readonly channel: StreamChannel
  readonly #pipes = new Set<StreamPipe>()
  /** What effects have written. */
  readonly #written = new Set<SequenceRanges>()
  /** The worst end of the sources that have ended. */
  #end: SegmentEnd = { reason: 'done' }

  /** @param refused Is told once if the other run takes no chunks, and no source is there to be told. */
  constructor(channel: StreamChannel, refused?: (error: Error) => void) {
    this.channel = channel
    channel.listen({
      moved: (from, by) => {
        for (const pipe of this.#pipes) pipe.moved(from, by)
        for (const written of this.#written) written.shift(from, by)
      },
      refused: (error) => {
        if (this.#pipes.size === 0) refused?.(error)
        for (const pipe of this.#pipes) pipe.refuse(error)
      },
    })
  }

  /** What an effect has written to this stream. */
  writtenBy(effect: EffectChunks | undefined): SequenceRanges | undefined {
    const written = effect?.of(this.channel.key)
    if (written !== undefined) this.#written.add(written)
    return written
  }

  /** The sources that are still being read. */
  get pipes(): readonly StreamPipe[] {
    return [...this.#pipes]
  }

  /** A source is being read that goes on by itself. */
  get isWorking(): boolean {
    for (const pipe of this.#pipes) if (pipe.isWorking) return true
    return false
  }

  /** Starts reading one more source. */
  add(pipe: StreamPipe): void {
    this.#pipes.add(pipe)
    pipe.start()
  }

  /** One source has ended; with the last one the stream does, until there is more. */
  async pipeEnded(pipe: StreamPipe): Promise<void> {
    this.#pipes.delete(pipe)
    this.#end = worseEnd(this.#end, pipe.segmentEnd)
    if (this.#pipes.size === 0) await this.channel.end(this.#end)
  }

  /** Stops what is still being read with `error`, and ends the stream for `reason` unless a source has a worse one. */
  async close(reason: 'done' | 'interrupted', error: unknown): Promise<void> {
    let end = worseEnd(this.#end, { reason })
    for (const pipe of this.#pipes) {
      pipe.stop(error)
      end = worseEnd(end, pipe.segmentEnd)
    }
    await this.channel.end(end)
  }
}
