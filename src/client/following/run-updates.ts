import type { Run } from '../../api/run.ts'
import { ApiError } from '../connection/api-error.ts'
import { Backoff } from '../connection/backoff.ts'
import { knownError } from '../connection/known-error.ts'
import type { Packets } from '../wire/packets.ts'
import { ShapeState } from '../wire/shape-state.ts'
import type { ApiRequest, Transport } from '../connection/transport.ts'
import { readRow } from '../wire/run.ts'
import { WireRecord } from '../wire/record.ts'

/** A service holds an answer back for some twenty seconds: silence is longer. */
const HELD_MS = 60_000
/** Answers in a row that bring nothing, each sooner than this, are those of a service that does not hold them back. */
const HASTY_MS = 1_000
const MOST_HASTY = 3

/** What following a run takes. */
export interface RunFeed {
  readonly transport: Transport
  readonly packets: Packets
  readonly id: string
  /** Rejects with `ERR_RUN_NOT_FOUND` when there is no such run. */
  readonly assertExists: () => Promise<unknown>
  readonly signal: AbortSignal
}

/** A run whenever it has changed, beginning with what it is now, for ever: who reads on after its end waits. */
export async function* runUpdates(feed: RunFeed): AsyncGenerator<Run> {
  const polls = new ShapePolls(feed)
  let shown: string | undefined
  for (;;) {
    await polls.next()
    const { row } = polls
    const text = row === undefined ? '' : JSON.stringify(row)
    if (row === undefined || text === shown) {
      // Nothing but "up to date" is also what a service says of a run that does not exist, or no longer.
      if (row === undefined) await feed.assertExists()
      shown ??= ''
      await polls.broughtNothing()
      continue
    }
    shown = text
    yield await readRow(new WireRecord(row, 'a run'), feed.packets, feed.signal)
  }
}

/** One poll after the other; a connection that breaks is replaced. */
class ShapePolls {
  readonly #feed: RunFeed
  readonly #request: Omit<ApiRequest, 'query'>
  readonly #backoff: Backoff
  readonly #shape = new ShapeState()
  #askedAt = 0
  #hasty = 0

  constructor(feed: RunFeed) {
    const { transport, id, signal } = feed
    this.#feed = feed
    this.#request = {
      path: `/realtime/v1/runs/${encodeURIComponent(id)}`,
      headers: { 'x-trigger-electric-version': '1.0.0-beta.1' },
      subject: { kind: 'run', id },
    }
    this.#backoff = new Backoff(transport.settings, signal)
  }

  get row(): Readonly<Record<string, unknown>> | undefined {
    return this.#shape.row
  }

  /** The next answers, until everything there is has come. */
  async next(): Promise<void> {
    const { clock } = this.#feed.transport.settings
    this.#askedAt = clock.now()
    do {
      try {
        await this.#poll()
        this.#backoff.succeeded()
      } catch (error) {
        await this.#failed(error)
      }
    } while (!this.#shape.isCurrent)
  }

  /** Keeps a service that does not hold its answers back from being asked again and again. */
  async broughtNothing(): Promise<void> {
    const isHasty = this.#feed.transport.settings.clock.now() - this.#askedAt < HASTY_MS
    this.#hasty = isHasty ? this.#hasty + 1 : 0
    if (this.#hasty <= MOST_HASTY) return
    await this.#backoff.failed(
      new ApiError('ERR_API_UNAVAILABLE', 'Cannot follow a run: the service does not wait for news'),
    )
  }

  async #poll(): Promise<void> {
    const { transport, signal } = this.#feed
    const connection = transport.connect(signal, HELD_MS)
    try {
      const { query } = this.#shape
      const { headers, body } = await transport.answer({ ...this.#request, query }, connection)
      this.#shape.take(headers, body ?? [])
      // Asked at once for what it has just answered, it would answer the same.
      const isStuck = !this.#shape.isCurrent && this.#shape.query['offset'] === query['offset']
      if (isStuck)
        throw new ApiError('ERR_API_UNAVAILABLE', 'Cannot follow a run: the service says nothing of it')
    } finally {
      connection.close()
    }
  }

  /** Waits before the next poll; rethrows what ends the subscription. */
  async #failed(error: unknown): Promise<void> {
    const isConflict = error instanceof ApiError && error.status === 409
    // The service has lost track of where we are.
    if (isConflict) this.#shape.forget()
    const failure = isConflict ? new ApiError('ERR_API_UNAVAILABLE', error.message, { cause: error }) : error
    await this.#backoff.failed(failure).catch((last: unknown) => {
      throw knownError(last, this.#request.subject)
    })
  }
}
