import type { Run } from '../../api/run.ts'
import { FOLLOW_RUN_BY_POLLING_ADDRESS } from '../../hosted/addresses.ts'
import { SHAPE_VERSION } from '../../hosted/headers.ts'
import { ApiError, unavailable } from '../connection/api-error.ts'
import { Backoff } from '../connection/backoff.ts'
import type { Packets } from '../wire/packets.ts'
import { ShapeState } from '../wire/shape-state.ts'
import type { ApiRequest, Transport } from '../connection/transport.ts'
import type { Follower } from './read-events.ts'
import { readRow } from '../wire/run.ts'
import { WireRecord } from '../wire/record.ts'

/** A service holds a poll for up to about 20 s. A longer silence is a failure. */
const HELD_MS = 60_000
/** A service whose polls repeatedly return nothing within this time does not hold them. */
const HASTY_MS = 1_000
const MOST_HASTY = 3

/** A run that a reader watches, with the parts needed for it. */
export interface WatchedRun extends Follower {
  readonly transport: Transport
  readonly packets: Packets
  readonly id: string
  /** Rejects with `ERR_RUN_NOT_FOUND` if the run does not exist. */
  readonly assertExists: () => Promise<unknown>
}

/** The current run, and again after every change. It never ends: after the end of the run it waits. */
export async function* runUpdates(watched: WatchedRun): AsyncGenerator<Run> {
  const polls = new ShapePolls(watched)
  let shown: string | undefined
  for (;;) {
    await polls.next()
    const { row } = polls
    const text = row === undefined ? '' : JSON.stringify(row)
    if (row === undefined || text === shown) {
      // A service also answers "up to date" without a row for a run that does not exist, or no longer exists.
      if (row === undefined) await watched.assertExists()
      shown ??= ''
      await polls.broughtNothing()
      continue
    }
    shown = text
    yield await readRow(new WireRecord(row, 'a run'), watched.packets, watched.signal)
  }
}

/** Polls one after the other. A broken connection is replaced. */
class ShapePolls {
  readonly #watched: WatchedRun
  readonly #request: Omit<ApiRequest, 'query'>
  readonly #backoff: Backoff
  readonly #shape = new ShapeState()
  #askedAt = 0
  #hasty = 0

  constructor(watched: WatchedRun) {
    const { transport, id, signal, keepTrying } = watched
    this.#watched = watched
    this.#request = {
      address: FOLLOW_RUN_BY_POLLING_ADDRESS,
      headers: { [SHAPE_VERSION]: '1.0.0-beta.1' },
      ids: [id],
    }
    this.#backoff = new Backoff(transport.settings, signal, keepTrying)
  }

  get row(): Readonly<Record<string, unknown>> | undefined {
    return this.#shape.row
  }

  /** Polls until the state is complete. */
  async next(): Promise<void> {
    const { clock } = this.#watched.transport.settings
    this.#askedAt = clock.now()
    do {
      try {
        await this.#poll()
        this.#backoff.succeeded()
        this.#watched.onConnection?.('live')
      } catch (error) {
        this.#watched.onConnection?.('reconnecting')
        await this.#failed(error)
      }
    } while (!this.#shape.isCurrent)
  }

  /** Avoids a busy loop against a service that does not hold its polls. */
  async broughtNothing(): Promise<void> {
    const isHasty = this.#watched.transport.settings.clock.now() - this.#askedAt < HASTY_MS
    this.#hasty = isHasty ? this.#hasty + 1 : 0
    if (this.#hasty <= MOST_HASTY) return
    await this.#backoff.failed(
      unavailable('Cannot follow a run: the service answers at once instead of waiting for changes'),
    )
  }

  async #poll(): Promise<void> {
    const { transport, signal } = this.#watched
    const connection = transport.connect(signal, HELD_MS)
    try {
      await transport.mayFollow(connection)
      const { query } = this.#shape
      const { headers, body } = await transport.answer({ ...this.#request, query }, connection)
      this.#shape.take(headers, body ?? [])
      // An immediate poll would get the same answer from a cache.
      const isStuck = !this.#shape.isCurrent && this.#shape.query['offset'] === query['offset']
      if (isStuck) throw unavailable('Cannot follow a run: the service sends no row for it')
    } finally {
      connection.close()
    }
  }

  /** Waits before the next poll. Throws errors that end the subscription. */
  async #failed(error: unknown): Promise<void> {
    const isConflict = error instanceof ApiError && error.status === 409
    // The service has forgotten the position of this subscriber.
    if (isConflict) this.#shape.forget()
    const failure = isConflict ? unavailable(error.message, { cause: error }) : error
    await this.#backoff.failed(failure, this.#watched.id)
  }
}
