import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Awaitable, Inserted, RunUpdated } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { type EndStatus, isFinal } from '../../contract/run-states.ts'
import { RUN_CREATE, RUN_END, TOKEN_SETTLE } from '../diagnostics.ts'
import type { Host } from '../host/host.ts'
import type { Upcalls } from '../upcalls.ts'
import type { EventQueue } from './events.ts'
import type { Retention } from './retention.ts'
import { ChangedRuns, type RunNews, type Watchers } from './watchers.ts'

/** The topic that a reader of all runs watches. */
export const RUNS_TOPIC = 'runs'

/** The topic of a reader that only has to know that other engines have changed something that lists show, or settings have changed. */
export const OTHERS_TOPIC = 'others'

interface Parts {
  readonly host: Host
  readonly watchers: Watchers
  readonly events: EventQueue
  readonly retention: Retention
  readonly upcalls: Upcalls
}

/** A run that is being put off. */
interface PutOff {
  readonly record: RunRecord
  isPublished: boolean
}

/** Publishes a stored change: as an event to users, as a wake-up to watchers, as a settlement to the waits it ends. */
export class Publisher {
  readonly changedRuns: ChangedRuns = new ChangedRuns()
  /** The runs that this engine has ended, by their status. */
  readonly ended: Record<EndStatus, number> = {
    COMPLETED: 0,
    FAILED: 0,
    CANCELED: 0,
    TIMED_OUT: 0,
    EXPIRED: 0,
    CRASHED: 0,
  }
  readonly #kernel: Parts
  /** Runs that are being stored: they may be executed before that is acknowledged. */
  readonly #created = new Map<string, RunRecord>()
  /** Runs whose next attempt is being put off: it may begin, and end, before that is acknowledged. */
  readonly #putOff = new Map<string, PutOff>()

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  /** Something of a run changed; `record` is the run now, as far as it is known here. */
  wake(runId: string, record?: RunNews): void {
    const { watchers } = this.#kernel
    this.changedRuns.add(runId)
    watchers.wake(runId, record)
    watchers.wake(RUNS_TOPIC)
  }

  /** Anything may have changed, because a hint or an answer was lost: all watchers look again. */
  wakeAll(): void {
    this.changedRuns.lose()
    this.#kernel.watchers.wakeAll()
  }

  /** A run is created, if storage answers so; that is published before any later change of it. */
  created(record: RunRecord, answer: Awaitable<Inserted<RunRecord>>): Awaitable<Inserted<RunRecord>> {
    if (isPromise(answer)) return this.#createdLater(record, answer)
    if (!answer.isCached) {
      this.#made(record)
      this.run(record)
    }
    return answer
  }

  async #createdLater(record: RunRecord, answer: Promise<Inserted<RunRecord>>): Promise<Inserted<RunRecord>> {
    this.#created.set(record.id, record)
    try {
      const inserted = await answer
      if (!inserted.isCached) this.#made(record)
      if (this.#created.has(record.id) && !inserted.isCached) this.run(record)
      return inserted
    } finally {
      this.#created.delete(record.id)
    }
  }

  #made(run: RunRecord): void {
    const { owner } = this.#kernel.host
    if (RUN_CREATE.hasSubscribers) RUN_CREATE.publish({ engine: owner, at: run.createdAt, run })
  }

  /** A run is put off until its next attempt, as `record` says: published before any later change of it. */
  async puttingOff<T>(record: RunRecord, stored: Awaitable<T>): Promise<T> {
    const putOff = { record, isPublished: false }
    this.#putOff.set(record.id, putOff)
    try {
      return await stored
    } finally {
      if (this.#putOff.get(record.id) === putOff) this.#putOff.delete(record.id)
    }
  }

  /** The status of a run changed. */
  run(record: RunRecord): void {
    if (isFinal(record.status)) this.#ended(record, record.status)
    if (this.#created.size > 0) this.#publishCreated(record)
    if (this.#putOff.size === 0 || this.#isInOrder(record)) this.#kernel.events.run(record)
    this.elsewhere(record)
  }

  #ended(run: RunRecord, status: EndStatus): void {
    this.ended[status] += 1
    const { host } = this.#kernel
    if (RUN_END.hasSubscribers) RUN_END.publish({ engine: host.owner, at: host.now(), run })
  }

  /** False for the answer that a run was put off, if a later change of it was published before. */
  #isInOrder(record: RunRecord): boolean {
    const putOff = this.#putOff.get(record.id)
    if (putOff === undefined) return true
    if (record.status === 'DELAYED' && record.epoch === putOff.record.epoch) return !putOff.isPublished
    if (!putOff.isPublished) this.#kernel.events.run(putOff.record)
    putOff.isPublished = true
    return true
  }

  #publishCreated(record: RunRecord): void {
    const created = this.#created.get(record.id)
    this.#created.delete(record.id)
    if (created !== undefined && created !== record) this.#kernel.events.run(created)
  }

  /** The status of a run was changed by another engine, which has published the event. */
  elsewhere(record: RunRecord): void {
    const { upcalls, retention } = this.#kernel
    this.wake(record.id, record)
    if (!isFinal(record.status)) return
    upcalls.ended(record)
    retention.ended()
  }

  runs(updates: readonly RunUpdated[]): void {
    for (const { record } of updates) this.run(record)
  }

  /** A token was created or settled. */
  token(record: TokenRecord): void {
    const { events, upcalls, retention, host } = this.#kernel
    if (record.kind === 'MANUAL') events.token(record)
    if (record.status === 'WAITING') return
    if (TOKEN_SETTLE.hasSubscribers)
      TOKEN_SETTLE.publish({ engine: host.owner, at: host.now(), token: record })
    upcalls.settled(record)
    retention.ended()
  }
}
