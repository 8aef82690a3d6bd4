import { cryptoRandom } from '../clock/crypto-random.ts'
import type { RetrievedQueue } from '../api/queue.ts'
import { plainClock } from '../clock/plain.ts'
import { AuthCalls } from './calls/auth.ts'
import type {
  CallOptions,
  ClientAuth,
  ClientQueue,
  ClientRuns,
  ClientStreams,
  ClientTasks,
  ClientWait,
} from './namespaces.ts'
import { type ClientOptions, readClientOptions } from './connection/options.ts'
import { Packets } from './wire/packets.ts'
import { remoteQueues, QueueCalls } from './calls/queues.ts'
import { RunsCalls } from './calls/runs.ts'
import { StreamsCalls } from './calls/streams.ts'
import { TasksCalls } from './calls/tasks.ts'
import { Transport } from './connection/transport.ts'
import { WaitCalls } from './calls/wait.ts'

/** An engine in another process: the namespaces of an engine, over HTTP. See docs/http-api.md. */
export interface Client {
  readonly wait: ClientWait
  readonly runs: ClientRuns
  readonly tasks: ClientTasks
  readonly streams: ClientStreams
  readonly auth: ClientAuth
  /**
   * One queue of the service: its runs, to pause it, and to change its limit. See docs/queues-and-schedules.md.
   *
   * @throws TypeError or RangeError for a name that cannot be used.
   */
  queue(name: string): ClientQueue
  /** The queues of the tasks of the service, and those of which something is set, by name. */
  queues(options?: CallOptions): Promise<readonly RetrievedQueue[]>
}

/**
 * Creates a client of an engine behind `createHandler` or `serve`, or of the hosted service. It sends no request yet.
 * Calls reject with the engine's own error where the answer names one, otherwise with an ApiError. See docs/http-api.md
 * and docs/in-the-browser.md.
 *
 * @throws TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const client = createClient({ baseUrl: 'https://example.com/engine', accessToken: secretKey })
 * const run = await client.tasks.trigger<typeof review>('review', { doc: 'd1' })
 * console.log(await run.result())
 * ```
 */
export function createClient(options: ClientOptions): Client {
  const transport = new Transport(readClientOptions(options, { clock: plainClock(), random: cryptoRandom() }))
  const packets = new Packets(transport)
  const runs = new RunsCalls(transport, packets)
  return {
    wait: new WaitCalls(transport, packets),
    runs,
    tasks: new TasksCalls(transport, runs),
    streams: new StreamsCalls(transport),
    auth: new AuthCalls(transport),
    queue: (name) => new QueueCalls(transport, name),
    queues: (options) => remoteQueues(transport, options),
  }
}
