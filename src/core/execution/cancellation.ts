import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, LeaseRecord, RunUpdated } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { type Attempt, GRACE_MS, outsideRuns } from '../attempt/attempt.ts'
import { isFinal, runIdOfToken } from '../../contract/run-states.ts'
import { isStorageUnavailable } from '../../contract/storage-unavailable.ts'
import { GET_RUN, type RepeatableCall, RUN_WAITS, UPDATE_RUN } from '../host/storage-calls.ts'
import { runNotFound } from '../../api/not-found.ts'
import type { Ticker } from '../host/ticker.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Door } from '../door.ts'
import type { Compensations } from './compensations.ts'
import type { Reconciler } from './reconciler.ts'

const LEASES: RepeatableCall<undefined, readonly LeaseRecord[] | undefined> = {
  ask: ({ leases }) => leases?.(),
}

interface Parts extends Door {
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly ticker: Ticker
  readonly compensations: Compensations
  readonly reconciler: Reconciler
}

/** Cancels runs, and with each the children that it waits for. */
export class Cancellation {
  readonly #kernel: Parts

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  /** Ends a run as canceled, unless it has ended before. Rejects with `ERR_RUN_NOT_FOUND`. */
  async cancel(id: string): Promise<void> {
    const { reconciler, publisher, compensations } = this.#kernel
    const attempt = this.#kernel.attempt()
    for (;;) {
      const record = await this.#require(id)
      if (isFinal(record.status)) {
        // The answer to the call that ended the run may have been lost, and its watchers not woken.
        const waited = record.status === 'CANCELED' ? reconciler.canceled(record) : []
        publisher.wake(id)
        await this.#cancelChildren(id, waited, attempt)
        return
      }
      const waits = await this.#kernel.call(() => this.#kernel.asked(RUN_WAITS, id))
      const isLeft = await this.#isLeft(record)
      const waited = await this.#kernel.call(() =>
        chain(this.#store(record, isLeft), (answer) => this.#canceled(answer, record)),
      )
      if (waited === undefined) continue
      if (isLeft) compensations.begin({ ...record, status: 'CANCELED', epoch: epochAfter(record, isLeft) })
      // Of both: it may not execute here, and it may have begun to wait since storage was asked.
      await this.#cancelChildren(id, [...waits.map((token) => token.id), ...waited], attempt)
      return
    }
  }

  /**
   * Cancels the children of a run that was canceled elsewhere, where its last waits may not be known. An engine that
   * closes does nothing more.
   */
  childrenOf(runId: string, waited: readonly string[]): void {
    const { host, events } = this.#kernel
    if (host.isClosing) return
    events.report(() => this.#cancelChildren(runId, waited), runId)
  }

  /**
   * Cancels a child of a run that was canceled while the child was being stored, and is not known to be stored: its storage
   * was away. It is asked until it has answered.
   */
  childOf(parent: Attempt, childId: string): void {
    this.#persist(parent, async () => {
      if ((await this.#find(childId)) !== undefined) await this.cancel(childId)
    })
  }

  /**
   * Of the runs that a run waited for with these tokens, only children of its own: a run that was found by its key has
   * another parent. Called outside of any run: the one that is canceled may be the one that calls. Hence a storage that is
   * away is asked again by the `caller`, but not waited for.
   */
  async #cancelChildren(parentId: string, tokenIds: readonly string[], caller?: Attempt): Promise<void> {
    const children = [...new Set(tokenIds)].map(runIdOfToken).filter((child) => child !== undefined)
    const cancelOwn = async (childId: string): Promise<void> => {
      if ((await this.#require(childId)).parentId === parentId) await this.cancel(childId)
    }
    const cancelSurely = async (childId: string): Promise<void> => {
      try {
        await cancelOwn(childId)
      } catch (error) {
        if (caller === undefined || !isStorageUnavailable(error)) throw error
        this.#persist(caller, () => cancelOwn(childId))
      }
    }
    await outsideRuns(() => Promise.all(children.map(cancelSurely)))
  }

  /** Asks storage until it has answered, or the engine closes. */
  #persist(attempt: Attempt, cancel: () => Promise<void>): void {
    const { events, outage } = this.#kernel
    events.report(() => outage.persist(attempt, () => outsideRuns(cancel)), attempt.id)
  }

  async #require(id: string): Promise<RunRecord> {
    const record = await this.#find(id)
    if (record === undefined) throw runNotFound(id)
    return record
  }

  #find(id: string): Promise<RunRecord | undefined> {
    return this.#kernel.call(() => this.#kernel.asked(GET_RUN, id))
  }

  /** Whether `onCancel` of a run is for this engine to call: the run has begun, and no engine has an attempt of it any more. */
  async #isLeft(record: RunRecord): Promise<boolean> {
    const { host, compensations } = this.#kernel
    const { owner } = record
    if (owner === host.owner || !compensations.compensates(record)) return false
    if (owner === undefined) return true
    const leases = await this.#kernel.call(() => this.#kernel.asked(LEASES, undefined))
    const isHeld = ({ until = Infinity, isLost }: LeaseRecord): boolean => !isLost && host.now() < until
    return leases?.some((lease) => lease.owner === owner && isHeld(lease)) === false
  }

  /** A run that executes keeps its slot until its function has settled, or for 5 s. */
  #store(record: RunRecord, isLeft: boolean): Awaitable<RunUpdated | undefined> {
    const { host, ticker } = this.#kernel
    const now = host.now()
    const asked = this.#kernel.asked(UPDATE_RUN, {
      id: record.id,
      // A run that parked or resumed since it was read holds another slot: it is read again.
      expected: { status: [record.status], epoch: record.epoch },
      change: {
        status: 'CANCELED',
        epoch: epochAfter(record, isLeft),
        finishedAt: now,
        slot: record.slot,
        slotUntil: record.slot ? now + GRACE_MS : undefined,
      },
      by: host.owner,
      now,
    })
    // It may be stored all the same: the next tick then wakes the runs that wait for this one.
    if (isPromise(asked)) asked.catch(() => ticker.answerLost('a cancel that failed'))
    return asked
  }

  /** The tokens that the run waited for here, once it is canceled. */
  #canceled(updated: RunUpdated | undefined, { owner }: RunRecord): readonly string[] | undefined {
    if (updated === undefined) return undefined
    const { host, reconciler, publisher, ticker } = this.#kernel
    const { record } = updated
    const waited = reconciler.canceled(record, owner === host.owner)
    publisher.run(record)
    ticker.notDue(record.wakeAt)
    if (record.slotUntil !== undefined) ticker.dueAt(record.slotUntil, `run ${record.id}`)
    return waited
  }
}

/** One more than usual if the run was left: an engine that has lost its lease unawares does not call `onCancel`, too. */
function epochAfter({ epoch }: RunRecord, isLeft: boolean): number {
  return epoch + (isLeft ? 2 : 1)
}
