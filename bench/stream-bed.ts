import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import { createEngine, task } from 'waitpoint'
import type { Engine } from 'waitpoint'
import { kernelOf } from '../src/core/engine.ts'
import type { RunScope } from '../src/core/attempt/attempt.ts'
import { currentScope } from '../src/core/attempt/attempt.ts'
import { StreamChannel } from '../src/core/streams/channel.ts'
import { StreamReader } from '../src/core/reading/stream-reader.ts'

/** What an engine keeps of a stream unless it is told otherwise. */
const HISTORY = { chunks: 10_000, bytes: 16 * 1_024 * 1_024 }

/** A run of a real engine on memory storage, held open so that streams can be written in it. */
export class StreamBed {
  readonly #engine: Engine
  readonly #scope: RunScope
  readonly #returned: DeferredPromise<void>

  private constructor(engine: Engine, scope: RunScope, returned: DeferredPromise<void>) {
    this.#engine = engine
    this.#scope = scope
    this.#returned = returned
  }

  /** Opens it, with `chunk` as often as it is kept in the stream `kept`. */
  static async open(chunk: unknown): Promise<StreamBed> {
    const entered = pDefer<RunScope>()
    const returned = pDefer<void>()
    const hold = task({
      id: 'hold',
      run: async (_: null, { streams }) => {
        const appended = Array.from({ length: HISTORY.chunks }, () => streams.append('kept', chunk))
        await Promise.all(appended)
        const scope = currentScope()
        if (scope !== undefined) entered.resolve(scope)
        await returned.promise
      },
    })
    const engine = createEngine({ tasks: [hold] })
    await engine.trigger(hold, null)
    return new StreamBed(engine, await entered.promise, returned)
  }

  /** The writing side of a new stream. */
  async channel(key: string): Promise<StreamChannel> {
    const { host, journal } = kernelOf(this.#engine).parts
    const { id: runId, record } = this.#scope
    const { epoch, attempt } = record
    const opened = host.storage.chunks.open({ runId, key, epoch, attempt, by: host.owner, now: host.now() })
    const stream = await opened
    if (stream === undefined) throw new Error(`Cannot open stream "${key}": the run has ended`)
    const stale = (): void => {
      throw new Error(`Cannot write stream "${key}": the run was taken over`)
    }
    return new StreamChannel({ host, journal, scope: this.#scope, key, history: HISTORY, stream, stale })
  }

  /** A reader of the stream `kept`, at its start. */
  reader(): StreamReader {
    return new StreamReader(kernelOf(this.#engine), { runId: this.#scope.id, key: 'kept' })
  }

  close(): Promise<void> {
    this.#returned.resolve()
    return this.#engine.close()
  }
}
