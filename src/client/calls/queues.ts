import type { RetrievedQueue } from '../../api/queue.ts'
import {
  type Address,
  LIST_QUEUES_ADDRESS,
  PAUSE_QUEUE_ADDRESS,
  RESET_QUEUE_LIMIT_ADDRESS,
  RETRIEVE_QUEUE_ADDRESS,
  SET_QUEUE_LIMIT_ADDRESS,
} from '../../hosted/addresses.ts'
import { hostedQueueName } from '../../hosted/queue-item.ts'
import { MOST_QUEUE_LIMIT } from '../../contract/queue-limits.ts'
import { requireName, requireWhole } from '../../primitives/require.ts'
import type { Transport } from '../connection/transport.ts'
import type { CallOptions, ClientQueue } from '../namespaces.ts'
import { readQueue } from '../wire/queue.ts'
import { WireRecord } from '../wire/record.ts'
import { checkCallOptions } from './wait.ts'

/** All queues of a service, page by page. */
export async function remoteQueues(
  transport: Transport,
  options: CallOptions = {},
): Promise<readonly RetrievedQueue[]> {
  checkCallOptions(options, 'queues')
  const all: RetrievedQueue[] = []
  for (let page = 1; ; page += 1) {
    const query = { page: String(page), perPage: '100' }
    const { body } = await transport.call({ address: LIST_QUEUES_ADDRESS, query }, options.signal)
    const wire = new WireRecord(body, 'a page of queues')
    all.push(...wire.records('data').map(readQueue))
    if (page >= (wire.record('pagination').number('totalPages') ?? 1)) return all
  }
}

/** One queue over HTTP. */
export class QueueCalls implements ClientQueue {
  readonly #transport: Transport
  readonly name: string

  /** @throws TypeError or RangeError for a name that cannot be used. */
  constructor(transport: Transport, name: string) {
    this.#transport = transport
    this.name = requireName(name, 'the name of a queue')
    // The hosted service, and so this client, writes a slash like this.
    if (name.includes('%2F'))
      throw new RangeError(`Cannot use queue "${name}" over HTTP: "%2F" in its name would be read as a slash`)
  }

  retrieve(options?: CallOptions): Promise<RetrievedQueue> {
    return this.#call(RETRIEVE_QUEUE_ADDRESS, undefined, options)
  }

  pause(options?: CallOptions): Promise<RetrievedQueue> {
    return this.#call(PAUSE_QUEUE_ADDRESS, { action: 'pause' }, options)
  }

  resume(options?: CallOptions): Promise<RetrievedQueue> {
    return this.#call(PAUSE_QUEUE_ADDRESS, { action: 'resume' }, options)
  }

  async setLimit(limit: number, options?: CallOptions): Promise<RetrievedQueue> {
    requireWhole(limit, 'the limit of a queue', { from: 0, to: MOST_QUEUE_LIMIT })
    return this.#call(SET_QUEUE_LIMIT_ADDRESS, { concurrencyLimit: limit }, options)
  }

  resetLimit(options?: CallOptions): Promise<RetrievedQueue> {
    return this.#call(RESET_QUEUE_LIMIT_ADDRESS, {}, options)
  }

  /** Reads the queue, or changes it. */
  async #call(
    address: Address,
    change: object | undefined,
    options: CallOptions = {},
  ): Promise<RetrievedQueue> {
    checkCallOptions(options, `queue "${this.name}"`)
    const { type, name } = hostedQueueName(this.name)
    // A proxy may decode a path once, which must not make a slash of the name one of the path.
    const ids = [name.replaceAll('/', '%2F')]
    const sent = change === undefined ? { query: { type } } : { body: JSON.stringify({ type, ...change }) }
    const { body } = await this.#transport.call({ address, ids, ...sent }, options.signal)
    return readQueue(new WireRecord(body, 'a queue'))
  }
}
