import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted, RunUpdated } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import type { ChangeFeed } from './feed.ts'
import { ChangedRuns } from './feed.ts'
import type { EventQueue } from '../host/engine-events.ts'
import { isFinal, tokenOfRun } from '../../contract/run-states.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'

/** What a reader of all runs watches. */
export const RUNS_TOPIC = 'runs'

export interface JournalOptions {
  readonly feed: ChangeFeed
  readonly events: EventQueue
  readonly waitpoints: Waitpoints
  /** Something ended for good. */
  readonly ended: () => void
}

/** Where the news of a stored change goes: events, subscribers, and the waits that it ends. */
export class RunJournal {
  readonly feed: ChangeFeed
  readonly events: EventQueue
  readonly changes: ChangedRuns = new ChangedRuns()
  readonly #waitpoints: Waitpoints
  readonly #ended: () => void
  /** What is being stored: it may be executed before that is acknowledged. */
  readonly #created = new Map<string, RunRecord>()

  constructor({ feed, events, waitpoints, ended }: JournalOptions) {
    this.feed = feed
    this.events = events
    this.#waitpoints = waitpoints
    this.#ended = ended
  }

  /** Something of a run changed; `record` is what it is now, if that is known here. */
  touched(runId: string, record?: RunRecord): void {
    this.changes.add(runId)
    this.feed.notify(runId, record)
    this.feed.notify(RUNS_TOPIC)
  }

  /** Anything may have changed that nobody told of: everybody looks again. */
  lost(): void {
    this.changes.lose()
    this.feed.notifyAll()
  }

  /** A run is created, if storage answers so; that is told before whatever becomes of it. */
  created(record: RunRecord, answer: Awaitable<Inserted<RunRecord>>): Awaitable<Inserted<RunRecord>> {
    if (isPromise(answer)) return this.#createdLater(record, answer)
    if (!answer.isCached) this.run(record)
    return answer
  }

  async #createdLater(record: RunRecord, answer: Promise<Inserted<RunRecord>>): Promise<Inserted<RunRecord>> {
    this.#created.set(record.id, record)
    try {
      const inserted = await answer
      if (this.#created.has(record.id) && !inserted.isCached) this.run(record)
      return inserted
    } finally {
      this.#created.delete(record.id)
    }
  }

  /** The status of a run changed. */
  run(record: RunRecord): void {
    if (this.#created.size > 0) this.#tellCreated(record)
    this.events.run(record)
    this.heard(record)
  }

  #tellCreated(record: RunRecord): void {
    const created = this.#created.get(record.id)
    this.#created.delete(record.id)
    if (created !== undefined && created !== record) this.events.run(created)
  }

  /** The same of a run that another engine changed, which has told of it. */
  heard(record: RunRecord): void {
    this.touched(record.id, record)
    if (!isFinal(record.status)) return
    if (this.#waitpoints.size > 0) this.#waitpoints.settled(tokenOfRun(record))
    this.#ended()
  }

  runs(updates: readonly RunUpdated[]): void {
    for (const { record } of updates) this.run(record)
  }

  token(record: TokenRecord): void {
    if (record.kind === 'MANUAL') this.events.token(record)
    if (record.status === 'WAITING') return
    this.#waitpoints.settled(record)
    this.#ended()
  }
}
