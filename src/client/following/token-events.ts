import { createParser, type EventSourceParser } from 'eventsource-parser'
import type { RetrievedToken } from '../../api/token.ts'
import { FOLLOW_TOKEN_ADDRESS } from '../../hosted/addresses.ts'
import { unavailable } from '../connection/api-error.ts'
import { readJson } from '../connection/refused-answer.ts'
import type { Transport } from '../connection/transport.ts'
import type { Packets } from '../wire/packets.ts'
import { WireRecord } from '../wire/record.ts'
import { readRetrievedToken } from '../wire/token.ts'
import { type EventSource, type Follower, readEvents } from './read-events.ts'

/** The token that is followed, and what it is read with. */
interface FollowedToken extends Follower {
  readonly transport: Transport
  readonly packets: Packets
  readonly id: string
}

/** A token as it is, and again whenever it is another one, until it is settled. */
export async function* tokenStates(followed: FollowedToken): AsyncGenerator<RetrievedToken<unknown>> {
  const { transport, packets, id, signal } = followed
  for await (const wire of readEvents(transport, new TokenEvents(id), followed))
    yield await readRetrievedToken(wire, packets, signal)
}

/** Each connection begins with the token as it is. */
class TokenEvents implements EventSource<WireRecord> {
  readonly what: string = 'the events of a token'
  readonly #id: string
  #parser: EventSourceParser | undefined
  #arrived: string[] = []
  #shown = ''
  #isOver = false

  constructor(id: string) {
    this.#id = id
  }

  request(): ReturnType<EventSource<WireRecord>['request']> {
    return { address: FOLLOW_TOKEN_ADDRESS, ids: [this.#id], lastId: undefined }
  }

  begin(): void {
    this.#arrived = []
    this.#parser = createParser({ onEvent: ({ data }) => void this.#arrived.push(data) })
  }

  *read(text: string): Generator<WireRecord> {
    this.#parser?.feed(text)
    for (const data of this.#arrived.splice(0)) {
      if (data === this.#shown) continue
      this.#shown = data
      const wire = new WireRecord(readJson(data), this.what)
      this.#isOver = wire.text('status') !== 'WAITING'
      yield wire
    }
  }

  end(): void {
    if (!this.#isOver)
      throw unavailable(`Cannot read ${this.what}: the answer ended before the token was settled`)
  }
}
