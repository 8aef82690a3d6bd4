import { WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../../core/kernel.ts'
import type { Attempt } from '../../core/attempt/attempt.ts'
import { isFinal } from '../../contract/run-states.ts'
import { notSerializable } from '../../core/host/serialize.ts'
import { measureJson } from '../../primitives/json.ts'
import type { Limits } from '../limits.ts'
import { Refusal } from '../refusal.ts'

/** For each stream, this many parts and writers are remembered, to recognise repetitions. */
const MOST_PARTS = 1_000
const MOST_WRITERS = 1_000

/** Error codes of an attempt that ended in the meantime. */
const ENDED: readonly string[] = ['ERR_RUN_CANCELED', 'ERR_RUN_ENDED', 'ERR_STALE_ATTEMPT']

/** The progress of the writers of one stream during its attempt. */
interface Progress {
  /** The number of the last chunk of each client, counted from 0. The client that wrote longest ago comes first. */
  readonly last: Map<string, number>
  readonly parts: Set<string>
}

/** One stream of an executing run. */
interface OpenStream {
  readonly attempt: Attempt
  readonly key: string
  readonly progress: Progress
}

/**
 * Writes to the streams of a run from outside. Only the current attempt writes to storage: chunks from outside pass
 * through the engine that executes it, in order of arrival, and end with the attempt.
 */
export class OutsideWriter {
  readonly #kernel: Kernel
  readonly #limits: Pick<Limits, 'streams'>
  readonly #progress = new WeakMap<Attempt, Map<string, Progress>>()

  constructor(kernel: Kernel, limits: Pick<Limits, 'streams'>) {
    this.#kernel = kernel
    this.#limits = limits
  }

  /** Lists the key on the run. */
  async announce(runId: string, key: string): Promise<void> {
    const { attempt } = await this.#open(runId, key)
    await this.#kernel.call(() => this.#kernel.streams.announce(attempt, key))
  }

  /** Appends one chunk. Repeating a part has no effect. */
  async append(runId: string, key: string, { chunk, partId }: AppendedChunk): Promise<void> {
    const stream = await this.#open(runId, key)
    const { parts } = stream.progress
    if (partId !== undefined && parts.has(partId)) return
    const [oldest] = parts.size < MOST_PARTS ? [] : parts
    if (oldest !== undefined) parts.delete(oldest)
    if (partId !== undefined) parts.add(partId)
    try {
      await this.#write(stream, chunk)
    } catch (error) {
      if (partId !== undefined) parts.delete(partId)
      throw error
    }
  }

  /**
   * Appends the numbered chunks of a client; repeated ones have no effect. If one chunk of a batch is not JSON, nothing
   * of the batch is written.
   */
  async write(runId: string, key: string, { clientId, from, batches }: NumberedBatches): Promise<void> {
    const stream = await this.#open(runId, key)
    const { last } = stream.progress
    let index = from
    for await (const batch of batches) {
      const unfit = batch.find((chunk) => measureJson(chunk) < 0)
      if (unfit !== undefined) throw notSerializable(unfit, `a chunk of stream "${key}"`)
      const written: Promise<void>[] = []
      for (const chunk of batch) {
        if (clientId === undefined) written.push(this.#write(stream, chunk))
        else if (index > (last.get(clientId) ?? -1)) {
          remember(last, clientId, index)
          written.push(this.#write(stream, chunk))
        }
        index += 1
      }
      await Promise.all(written)
    }
  }

  /** The number of the last chunk that a client has written; -1 if there is none. */
  async lastIndex(runId: string, key: string, clientId: string): Promise<number> {
    const { progress } = await this.#open(runId, key)
    return progress.last.get(clientId) ?? -1
  }

  async #write({ attempt, key }: OpenStream, chunk: unknown): Promise<void> {
    try {
      await this.#kernel.call(() => this.#kernel.streams.append(attempt, key, chunk))
    } catch (cause) {
      if (!(cause instanceof WaitpointError) || !ENDED.includes(cause.code)) throw cause
      throw new Refusal(400, `${cannotWrite(attempt.id, key)}: its attempt has ended`, { cause })
    }
  }

  async #open(runId: string, key: string): Promise<OpenStream> {
    const attempt = await this.#attempt(runId, key)
    const streams = this.#progress.get(attempt) ?? new Map<string, Progress>()
    this.#progress.set(attempt, streams)
    if (!streams.has(key)) this.#admit(attempt, key, streams)
    const progress = streams.get(key) ?? { last: new Map<string, number>(), parts: new Set<string>() }
    streams.set(key, progress)
    return { attempt, key, progress }
  }

  /** @throws Refusal 422 for a key that is one too many; those of the run itself are counted, and never refused. */
  #admit(attempt: Attempt, key: string, begun: ReadonlyMap<string, unknown>): void {
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

  async #attempt(runId: string, key: string): Promise<Attempt> {
    const { host, executor, claimer } = this.#kernel
    const attempt = executor.attempts.get(runId)
    if (attempt?.isEnded === false) return attempt
    const record = await this.#kernel.call(() => host.storage.runs.get(runId))
    if (record === undefined) throw new Refusal(404, 'Run not found')
    // Claimed a moment ago: the answer that has it execute here may be on its way.
    if (record.status === 'EXECUTING' && record.owner === host.owner) await claimer.answered()
    const started = executor.attempts.get(runId)
    if (started?.isEnded === false) return started
    const cannot = cannotWrite(runId, key)
    if (isFinal(record.status) || record.returned) throw new Refusal(400, `${cannot}: it has ended`)
    throw new Refusal(
      409,
      `${cannot}: it is ${record.status}, and does not execute in the process that received the request`,
    )
  }
}

function remember(last: Map<string, number>, clientId: string, index: number): void {
  last.delete(clientId)
  const [longestSilent] = last.size < MOST_WRITERS ? [] : last.keys()
  if (longestSilent !== undefined) last.delete(longestSilent)
  last.set(clientId, index)
}

function cannotWrite(runId: string, key: string): string {
  return `Cannot write to stream "${key}" of run "${runId}"`
}

/** A chunk, with an id that identifies repetitions. */
export interface AppendedChunk {
  readonly chunk: unknown
  readonly partId?: string | undefined
}

/** Consecutive chunks of one client; the first has the number `from`. Without a client id, every chunk is new. */
export interface NumberedBatches {
  readonly clientId: string | undefined
  readonly from: number
  readonly batches: AsyncIterable<readonly unknown[]>
}
