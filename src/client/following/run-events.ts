import type { EventSourceMessage } from 'eventsource-parser'
import type { Run } from '../../api/run.ts'
import { FOLLOW_RUN_ADDRESS } from '../../hosted/addresses.ts'
import { isFinal } from '../../contract/run-states.ts'
import { streamPosition } from '../../contract/stream-position.ts'
import { unavailable } from '../connection/api-error.ts'
import { readJson } from '../connection/refused-answer.ts'
import { WireRecord } from '../wire/record.ts'
import { readListedRun } from '../wire/run.ts'
import { streamError } from '../wire/stream-frames.ts'
import type { Part } from './followed-run.ts'
import type { EventSource } from './read-events.ts'

/** The longest `Last-Event-ID`. Servers refuse headers that are larger than a few kilobytes. */
const LONGEST_ID = 4_096

/** The events of a run and its streams, as parts. It knows its position in each stream. */
export class RunEvents implements EventSource<Part> {
  readonly what: string = 'the events of a run'
  readonly #id: string
  readonly #hasStreams: boolean
  /** For each stream the number of the next chunk. */
  readonly #positions = new Map<string, number>()
  /** The run as it was shown last, and its text. */
  #shown: Run | undefined
  #text = ''
  /** Whether the last part was a chunk. */
  #isPastShown = false
  #isOver = false

  /** Without its streams, of the run alone. */
  constructor(id: string, { hasStreams = true }: { readonly hasStreams?: boolean } = {}) {
    this.#id = id
    this.#hasStreams = hasStreams
  }

  /** Whether the service has sent a part. */
  get hasBegun(): boolean {
    return this.#shown !== undefined
  }

  request(): ReturnType<EventSource<Part>['request']> {
    return {
      address: FOLLOW_RUN_ADDRESS,
      ids: [this.#id],
      query: { ids: 'none', streams: this.#hasStreams ? undefined : 'none' },
      lastId: this.#hasStreams ? this.#lastId() : undefined,
    }
  }

  *read(events: readonly EventSourceMessage[]): Generator<Part> {
    for (const { event, data } of events) {
      if (event === 'error') throw streamError('', readJson(data))
      const wire = new WireRecord(readJson(data), this.what)
      if (event === 'run') yield* this.#changed(data, wire)
      else if (event === 'chunk') yield* this.#chunk(wire)
      else if (event === 'end') this.#isOver = true
    }
  }

  end(): void {
    if (this.#isOver) return
    throw unavailable(`Cannot read ${this.what}: the answer ended before the run did`)
  }

  /** Each connection begins with the run as it is. */
  *#changed(text: string, wire: WireRecord): Generator<Part> {
    const run = readListedRun(wire.record('run'))
    // The ended run comes last, also if it came before the last chunks.
    if (text === this.#text && !(this.#isPastShown && isFinal(run.status))) return
    this.#text = text
    this.#shown = run
    this.#isPastShown = false
    yield { type: 'run', run }
  }

  *#chunk(wire: WireRecord): Generator<Part> {
    const run = this.#shown
    if (run === undefined) return
    const key = wire.requiredText('type')
    const next = this.#positions.get(key) ?? 0
    const sequence = wire.number('sequence') ?? next
    // It came over an earlier connection: not every position fits into a request.
    if (sequence < next) return
    this.#positions.set(key, sequence + 1)
    this.#isPastShown = true
    const attempt = wire.number('attempt') ?? run.attemptCount
    yield { type: key, chunk: wire.json('chunk'), run, attempt, sequence }
  }

  /** The position in as many streams as fit, the longest first. */
  #lastId(): string | undefined {
    const items: string[] = []
    let length = 0
    for (const [key, next] of [...this.#positions].sort(([, one], [, other]) => other - one)) {
      const item = streamPosition(key, next)
      length += item.length + 1
      if (length > LONGEST_ID) break
      items.push(item)
    }
    return items.length === 0 ? undefined : items.join('&')
  }
}
