import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import { createEngine, task } from 'waitpoint'
import type { Engine } from 'waitpoint'
import { kernelOf } from '../src/core/engine.ts'
import type { Attempt } from '../src/core/attempt/attempt.ts'
import { currentAttempt } from '../src/core/attempt/attempt.ts'
import { StreamChannel } from '../src/core/streams/channel.ts'
import { StreamReader } from '../src/core/reading/stream-reader.ts'

/** The default history of a stream. */
const HISTORY = { chunks: 10_000, bytes: 16 * 1_024 * 1_024 }

/** A run of a real engine on memory storage, held open so that its streams can be written. */
export class StreamBed {
  readonly #engine: Engine
  readonly #attempt: Attempt
  readonly #returned: DeferredPromise<void>

  private constructor(engine: Engine, attempt: Attempt, returned: DeferredPromise<void>) {
    this.#engine = engine
    this.#attempt = attempt
    this.#returned = returned
  }

  /** Opens the run, with the stream `kept` full of copies of `chunk`. */
  static async open(chunk: unknown): Promise<StreamBed> {
    const entered = pDefer<Attempt>()
    const returned = pDefer<void>()
    const hold = task({
      id: 'hold',
      run: async (_: null, { streams }) => {
        const appended = Array.from({ length: HISTORY.chunks }, () => streams.append('kept', chunk))
        await Promise.all(appended)
        const attempt = currentAttempt()
        if (attempt !== undefined) entered.resolve(attempt)
        await returned.promise
      },
    })
    const engine = createEngine({ tasks: [hold] })
    await engine.trigger(hold, null)
    return new StreamBed(engine, await entered.promise, returned)
  }

  /** The writing side of a new stream. */
  async channel(key: string): Promise<StreamChannel> {
    const { host, watchers, outage } = kernelOf(this.#engine)
    const { id: runId, record } = this.#attempt
    const { epoch, attempt } = record
    const opened = host.storage.chunks.open({ runId, key, epoch, attempt, by: host.owner, now: host.now() })
    const stream = await opened
    if (stream === undefined) throw new Error(`Cannot open stream "${key}": the run has ended`)
    const stale = (): void => {
      throw new Error(`Cannot write stream "${key}": the run was taken over`)
    }
    const kernel = { host, watchers, outage, upcalls: { stale } }
    return new StreamChannel(kernel, { attempt: this.#attempt, key, history: HISTORY, stream })
  }

  /** A reader of the stream `kept`, at its start. */
  reader(): StreamReader {
    return new StreamReader(kernelOf(this.#engine), { runId: this.#attempt.id, key: 'kept' })
  }

  close(): Promise<void> {
    this.#returned.resolve()
    return this.#engine.close()
  }
}
