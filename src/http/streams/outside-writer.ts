import { WaitpointError } from '../../api/errors.ts'
import type { Inside, SeenAttempt } from '../../core/inside.ts'
import { isFinal } from '../../contract/run-states.ts'
import { notSerializable } from '../../api/serialize.ts'
import { measureJson } from '../../primitives/json.ts'
import type { Awaitable, WriterProgress } from '../../contract/storage.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'
import { KnownWriters } from './known-writers.ts'

/** Error codes of an attempt that ended in the meantime. */
const ENDED: readonly string[] = ['ERR_RUN_CANCELED', 'ERR_RUN_ENDED', 'ERR_STALE_ATTEMPT']

/** One stream of an executing run. */
interface OpenStream {
  readonly attempt: SeenAttempt
  readonly key: string
  readonly writers: KnownWriters
}

/**
 * Writes to the streams of a run from outside. Only the current attempt writes to storage: chunks from outside pass
 * through the engine that executes it, in order of arrival, and end with the attempt. How far each writer has got is stored
 * with its chunks, so that a later attempt, in whichever process, adds nothing twice.
 */
export class OutsideWriter {
  readonly #inside: Inside
  readonly #limits: Pick<Limits, 'streams'>
  readonly #writers = new WeakMap<SeenAttempt, Map<string, KnownWriters>>()

  constructor(inside: Inside, limits: Pick<Limits, 'streams'>) {
    this.#inside = inside
    this.#limits = limits
  }

  /** Lists the key on the run. */
  async announce(runId: string, key: string): Promise<void> {
    await this.#announce(await this.#open(runId, key))
  }

  /** Appends one chunk. A part is a writer with one chunk: repeating it has no effect. */
  append(runId: string, key: string, { chunk, partId }: AppendedChunk): Promise<void> {
    const writer = partId === undefined ? undefined : `part ${partId}`
    return this.#write(runId, key, { writer, from: 0, batches: [[chunk]] })
  }

  /**
   * Appends the numbered chunks of a client; repeated ones have no effect. If one chunk of a batch is not JSON, nothing
   * of the batch is written.
   */
  write(runId: string, key: string, { clientId, from, batches }: NumberedBatches): Promise<void> {
    return this.#write(runId, key, { writer: clientId && clientWriter(clientId), from, batches })
  }

  /** The number of the last chunk of a client that is stored; -1 if there is none. */
  async lastIndex(runId: string, key: string, clientId: string): Promise<number> {
    const { writers } = await this.#open(runId, key)
    return writers.with(clientWriter(clientId), ({ stored }) => stored)
  }

  async #write(runId: string, key: string, { writer, from, batches }: WrittenBatches): Promise<void> {
    const stream = await this.#open(runId, key)
    let index = from
    for await (const batch of batches) {
      const unfit = batch.find((chunk) => measureJson(chunk) < 0)
      if (unfit !== undefined) throw notSerializable(unfit, `a chunk of stream "${key}"`)
      // Blank lines: what follows may be refused.
      if (batch.length === 0) continue
      // First: a chunk that counts as taken must not fail because its stream cannot be opened.
      await this.#announce(stream)
      if (writer === undefined) await this.#store(stream, batch)
      else await this.#take(stream, batch, { writer, from: index })
      index += batch.length
    }
    // A writer that has nothing left writes the stream to its end all the same.
    if (index === from) await this.#announce(stream)
  }

  /** Stores the chunks that are new, and waits until those that are not are stored, too. */
  #take(
    stream: OpenStream,
    batch: readonly unknown[],
    { writer, from }: { readonly writer: string; readonly from: number },
  ): Promise<void> {
    return stream.writers.with(writer, async (progress) => {
      const known = Math.max(0, progress.taken + 1 - from)
      const fresh = batch.slice(known)
      if (fresh.length > 0) {
        progress.taken = from + batch.length - 1
        progress.storing = this.#store(stream, fresh, { writer, last: progress.taken })
      }
      const { taken } = progress
      await progress.storing
      progress.stored = Math.max(progress.stored, taken)
    })
  }

  #announce(stream: OpenStream): Promise<void> {
    const { attempt, key } = stream
    return this.#onAttempt(stream, () => this.#inside.streams.announce(attempt, key))
  }

  #store(stream: OpenStream, chunks: readonly unknown[], progress?: WriterProgress): Promise<void> {
    return this.#onAttempt(stream, () => this.#inside.streams.write(stream, chunks, progress))
  }

  async #onAttempt({ attempt, key }: OpenStream, act: () => Awaitable<void>): Promise<void> {
    try {
      await this.#inside.call(act)
    } catch (cause) {
      if (!(cause instanceof WaitpointError) || !ENDED.includes(cause.code)) throw cause
      throw new Refusal(400, `${cannotWrite(attempt.id, key)}: its attempt has ended`, { cause })
    }
  }

  async #open(runId: string, key: string): Promise<OpenStream> {
    const attempt = await this.#attempt(runId, key)
    const streams = this.#writers.get(attempt) ?? new Map<string, KnownWriters>()
    this.#writers.set(attempt, streams)
    if (!streams.has(key)) this.#admit(attempt, key, streams)
    const writers = streams.get(key) ?? new KnownWriters(this.#inside, attempt, key)
    streams.set(key, writers)
    return { attempt, key, writers }
  }

  /** @throws Refusal 422 for a key that is one too many; those of the run itself are counted, and never refused. */
  #admit(attempt: SeenAttempt, key: string, begun: ReadonlyMap<string, unknown>): void {
    const { id, record } = attempt
    const own = attempt.streams?.keys ?? []
    const keys = new Set([...record.streams, ...own, ...begun.keys()])
    const most = this.#limits.streams
    if (keys.has(key) || keys.size < most) return
    throw new Refusal(
      422,
      `${cannotWrite(id, key)}: it has ${keys.size} streams, and only ${most} may be begun`,
    )
  }

  async #attempt(runId: string, key: string): Promise<SeenAttempt> {
    const { host, runs } = this.#inside
    const attempt = runs.attempt(runId)
    if (attempt?.isEnded === false) return attempt
    const record = await this.#inside.call(() => host.storage.runs.get(runId))
    if (record === undefined) throw new Refusal(404, 'Run not found')
    // Claimed a moment ago: the answer that has it execute here may be on its way.
    if (record.status === 'EXECUTING' && record.owner === host.owner) await runs.started(runId)
    const started = runs.attempt(runId)
    if (started?.isEnded === false) return started
    const cannot = cannotWrite(runId, key)
    if (isFinal(record.status) || record.returned) throw new Refusal(400, `${cannot}: it has ended`)
    throw new Refusal(
      409,
      `${cannot}: it is ${record.status}, and does not execute in the process that received the request`,
    )
  }
}

/** A client and a part may have the same name. */
function clientWriter(clientId: string): string {
  return `client ${clientId}`
}

function cannotWrite(runId: string, key: string): string {
  return `Cannot write to stream "${key}" of run "${runId}"`
}

/** A chunk, with an id that identifies repetitions. */
export interface AppendedChunk {
  readonly chunk: unknown
  readonly partId?: string | undefined
}

/** Consecutive chunks of a writer. */
interface WrittenBatches {
  readonly writer: string | undefined
  readonly from: number
  readonly batches: AsyncIterable<readonly unknown[]> | Iterable<readonly unknown[]>
}

/** Consecutive chunks of one client; the first has the number `from`. Without a client id, every chunk is new. */
export interface NumberedBatches {
  readonly clientId: string | undefined
  readonly from: number
  readonly batches: AsyncIterable<readonly unknown[]>
}
