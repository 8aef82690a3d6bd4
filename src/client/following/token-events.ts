import type { EventSourceMessage } from 'eventsource-parser'
import type { RetrievedToken, Token } from '../../api/token.ts'
import { unavailable } from '../connection/api-error.ts'
import { readJson } from '../connection/refused-answer.ts'
import type { ApiRequest, Transport } from '../connection/transport.ts'
import type { Packets } from '../wire/packets.ts'
import { WireRecord } from '../wire/record.ts'
import { readRetrievedToken, readToken } from '../wire/token.ts'
import { type EventSource, type Follower, readEvents } from './read-events.ts'

/** What is read of tokens, and what it is read with. */
export interface FollowedTokens extends Follower {
  readonly transport: Transport
  readonly request: Omit<ApiRequest, 'headers'>
}

/** A token as it is, and again whenever it is another one, until it is settled. */
export async function* tokenStates(
  followed: FollowedTokens,
  packets: Packets,
): AsyncGenerator<RetrievedToken<unknown>> {
  for await (const wire of readEvents(followed.transport, new TokenEvents(followed.request), followed))
    yield await readRetrievedToken(wire, packets, followed.signal)
}

/** What waits, and again whenever it is something else. */
export async function* tokenLists(followed: FollowedTokens): AsyncGenerator<readonly Token[]> {
  for await (const wire of readEvents(followed.transport, new TokenEvents(followed.request), followed))
    yield wire.records('data').map(readToken)
}

/** Each connection begins with the token, or the list, as it is. */
class TokenEvents implements EventSource<WireRecord> {
  readonly what: string = 'a token'
  readonly #request: FollowedTokens['request']
  #shown = ''
  #isOver = false

  constructor(request: FollowedTokens['request']) {
    this.#request = request
  }

  request(): ReturnType<EventSource<WireRecord>['request']> {
    return { ...this.#request, lastId: undefined }
  }

  *read(events: readonly EventSourceMessage[]): Generator<WireRecord> {
    for (const { data } of events) {
      if (data === this.#shown) continue
      this.#shown = data
      const wire = new WireRecord(readJson(data), this.what)
      // A list has no status, and no end.
      this.#isOver = (wire.text('status') ?? 'WAITING') !== 'WAITING'
      yield wire
    }
  }

  end(): void {
    if (!this.#isOver) throw unavailable(`Cannot read ${this.what}: the answer ended`)
  }
}
