import { runId, type RunReference } from '../../api/run.ts'
import type { PipedStream } from '../../api/stream.ts'
import { checkKey, streamReading } from '../../api/stream.ts'
import { type OptionNames, requireName, requireOptions, requireSignal } from '../../primitives/require.ts'
import { SEND_INPUT_ADDRESS, WRITE_STREAM_ADDRESS } from '../../hosted/addresses.ts'
import { RESUME_FROM, WRITER } from '../../hosted/headers.ts'
import type {
  AppendOptions,
  ClientInput,
  ClientStream,
  ClientStreams,
  FollowStreamOptions,
} from '../namespaces.ts'
import { Following } from '../following/following.ts'
import { jsonText } from '../wire/json-text.ts'
import { checkCallOptions, requireFollower } from './wait.ts'
import { notInRun } from '../connection/known-error.ts'
import { streamBatches, type StreamBatchesOptions } from '../following/stream-batches.ts'
import type { ApiRequest, Transport } from '../connection/transport.ts'

const APPEND_NAMES: OptionNames<AppendOptions> = { signal: true, target: true }
const DEFINE_NAMES: OptionNames<{ readonly id: string }> = { id: true }

/** Streams over HTTP. */
export class StreamsCalls implements ClientStreams {
  readonly #transport: Transport

  constructor(transport: Transport) {
    this.#transport = transport
  }

  define<Chunk>(options: { readonly id: string }): ClientStream<Chunk> {
    requireOptions(options, 'the options of streams.define', DEFINE_NAMES)
    const { id } = options
    checkKey(id)
    return {
      id,
      pipe: () => this.pipe(),
      append: (chunk, appendOptions) => this.append(id, chunk, appendOptions),
      read: (run, readOptions) => this.read(run, id, readOptions),
    }
  }

  input<Input>(options: { readonly id: string }): ClientInput<Input> {
    requireOptions(options, 'the options of streams.input', DEFINE_NAMES)
    const id = requireName(options.id, 'stream key')
    return {
      id,
      send: async (run, data, { idempotencyKey, ...sendOptions } = {}) => {
        checkCallOptions(sendOptions, 'streams.send')
        const ids = [runId(run), id]
        jsonText(data, `a message to "${id}"`)
        const body = JSON.stringify({ data, idempotencyKey })
        await this.#transport.call({ address: SEND_INPUT_ADDRESS, ids, body }, sendOptions.signal)
      },
    }
  }

  pipe(): PipedStream<never> {
    throw notInRun('streams.pipe')
  }

  async append(key: string, chunk: unknown, options: AppendOptions = {}): Promise<void> {
    checkKey(key)
    requireOptions(options, 'the options of streams.append', APPEND_NAMES)
    const { target, signal } = options
    requireSignal(signal, 'signal')
    if (target === undefined) throw notInRun('streams.append without a target')
    const id = runId(target)
    const body = jsonText(chunk, `a chunk of stream "${key}"`)
    if (body === undefined) throw new TypeError('Cannot append undefined: it is not a JSON value')
    // A writer of its own, of which this is chunk 0. A repeated request therefore appends nothing.
    const headers = { [WRITER]: this.#transport.newKey(), [RESUME_FROM]: '0' }
    const request: ApiRequest = {
      address: WRITE_STREAM_ADDRESS,
      ids: [id, key],
      headers,
      body: `${body}\n`,
    }
    await this.#transport.call(request, signal)
  }

  read<Chunk = unknown>(
    run: RunReference,
    key: string,
    { onConnection, keepTrying, until, ...options }: FollowStreamOptions = {},
  ): AsyncIterable<Chunk> {
    const id = runId(run)
    const { startIndex, signal, isLast } = streamReading(key, options)
    requireFollower({ onConnection, keepTrying })
    const start = startIndex === 0 ? {} : { startIndex, lastId: String(startIndex - 1) }
    const source = { runId: id, key, isLast, until, onConnection, keepTrying, ...start }
    const signals = [this.#transport.settings.signal, signal]
    return {
      // The writer and the reader agree on the type of the chunks.
      [Symbol.asyncIterator]: () =>
        new Following((ended) => chunks(this.#transport, source, ended), signals) as Following<Chunk>,
    }
  }
}

async function* chunks(
  transport: Transport,
  source: StreamBatchesOptions,
  signal: AbortSignal,
): AsyncGenerator {
  for await (const batch of streamBatches(transport, source, signal)) yield* batch
}
