import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { RunUpdated } from '../../contract/storage.ts'
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

/** A run that is being created, or put off until its next attempt. */
export interface StoringRun {
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
  /** They may be executed before that is acknowledged. */
  readonly #storing = new Map<string, StoringRun>()

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

  /** A run is being stored as `record`: if storage answers so, that is published before any later change of it. */
  storing(record: RunRecord): StoringRun {
    const before = this.#storing.get(record.id)
    if (before !== undefined) this.#publishOnce(before)
    const storing = { record, isPublished: false }
    this.#storing.set(record.id, storing)
    return storing
  }

  /** Storage has answered, or failed. */
  stored(storing: StoringRun): void {
    const { id } = storing.record
    if (this.#storing.get(id) === storing) this.#storing.delete(id)
  }

  /** A run was created. `storing`: where the answer took a while. */
  created(run: RunRecord, storing?: StoringRun): void {
    const { owner } = this.#kernel.host
    if (RUN_CREATE.hasSubscribers) RUN_CREATE.publish({ engine: owner, at: run.createdAt, run })
    if (storing?.isPublished !== true) this.run(run)
  }

  /** The status of a run changed. */
  run(record: RunRecord): void {
    if (isFinal(record.status)) this.#ended(record, record.status)
    const storing = this.#storing.size === 0 ? undefined : this.#storing.get(record.id)
    const isItself = storing !== undefined && isSame(record, storing.record)
    if (storing !== undefined && !isItself) this.#publishOnce(storing)
    if (!isItself || !storing.isPublished) this.#kernel.events.run(record)
    if (isItself) storing.isPublished = true
    this.elsewhere(record)
  }

  #ended(run: RunRecord, status: EndStatus): void {
    this.ended[status] += 1
    const { host } = this.#kernel
    if (RUN_END.hasSubscribers) RUN_END.publish({ engine: host.owner, at: host.now(), run })
  }

  #publishOnce(storing: StoringRun): void {
    if (!storing.isPublished) this.#kernel.events.run(storing.record)
    storing.isPublished = true
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

  /** A token was created, changed or settled. */
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

function isSame(one: RunRecord, other: RunRecord): boolean {
  return one.status === other.status && one.epoch === other.epoch
}
