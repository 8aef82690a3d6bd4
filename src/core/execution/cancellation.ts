import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, RunUpdated } from '../../contract/storage.ts'
import { chain, isPromise, unawaited } from '../../primitives/awaitable.ts'
import { GRACE_MS, outsideRuns } from '../attempt/attempt.ts'
import { isFinal, runIdOfToken } from '../../contract/run-states.ts'
import type { Host } from '../host/host.ts'
import { runNotFound } from '../host/not-found.ts'

/** The parts of an engine that a cancel concerns. */
export interface CancellationKernel {
  readonly host: Host
  readonly events: { error(error: unknown, runId?: string): void }
  readonly publisher: { run(record: RunRecord): void; wake(runId: string): void }
  readonly reconciler: { canceled(record: RunRecord): readonly string[] }
  readonly ticker: {
    dueAt(at: number, what: string): void
    notDue(at: number | undefined): void
    answerLost(what: string): void
  }
  call<T>(serve: () => Awaitable<T>): Promise<T>
}

/** Cancels runs, and with each the children that it waits for. */
export class Cancellation {
  readonly #kernel: CancellationKernel

  constructor(kernel: CancellationKernel) {
    this.#kernel = kernel
  }

  /** Ends a run as canceled, unless it has ended before. Rejects with `ERR_RUN_NOT_FOUND`. */
  async cancel(id: string): Promise<void> {
    const { host, reconciler, publisher } = this.#kernel
    for (;;) {
      const record = await this.#require(id)
      if (isFinal(record.status)) {
        // The answer to the call that ended the run may have been lost, and its watchers not woken.
        const waited = record.status === 'CANCELED' ? reconciler.canceled(record) : []
        publisher.wake(id)
        await this.#cancelChildren(id, waited)
        return
      }
      const waits = await this.#kernel.call(() => host.storage.runs.waits(id))
      const waited = await this.#kernel.call(() =>
        chain(this.#store(record), (answer) => this.#canceled(answer)),
      )
      if (waited === undefined) continue
      // Of both: it may not execute here, and it may have begun to wait since storage was asked.
      await this.#cancelChildren(id, [...waits.map((token) => token.id), ...waited])
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
    const failed = (error: unknown): void => {
      if (!host.isClosed) events.error(error, runId)
    }
    unawaited(() => this.#cancelChildren(runId, waited), failed)
  }

  /**
   * Of the runs that a run waited for with these tokens, only children of its own: a run that was found by its key has
   * another parent. Called outside of any run: the one that is canceled may be the one that calls.
   */
  async #cancelChildren(parentId: string, tokenIds: readonly string[]): Promise<void> {
    const children = [...new Set(tokenIds)].map(runIdOfToken).filter((child) => child !== undefined)
    const cancelOwn = async (childId: string): Promise<void> => {
      if ((await this.#require(childId)).parentId === parentId) await this.cancel(childId)
    }
    await outsideRuns(() => Promise.all(children.map(cancelOwn)))
  }

  #require(id: string): Promise<RunRecord> {
    return this.#kernel.call(() =>
      chain(this.#kernel.host.storage.runs.get(id), (record) => {
        if (record === undefined) throw runNotFound(id)
        return record
      }),
    )
  }

  /** A run that executes keeps its slot until its function has settled, or for 5 s. */
  #store(record: RunRecord): RunUpdated | undefined | Promise<RunUpdated | undefined> {
    const { host, ticker } = this.#kernel
    const now = host.now()
    const asked = host.storage.runs.update({
      id: record.id,
      // A run that parked or resumed since it was read holds another slot: it is read again.
      expected: { status: [record.status], epoch: record.epoch },
      change: {
        status: 'CANCELED',
        epoch: record.epoch + 1,
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
  #canceled(updated: RunUpdated | undefined): readonly string[] | undefined {
    if (updated === undefined) return undefined
    const { reconciler, publisher, ticker } = this.#kernel
    const { record } = updated
    const waited = reconciler.canceled(record)
    publisher.run(record)
    ticker.notDue(record.wakeAt)
    if (record.slotUntil !== undefined) ticker.dueAt(record.slotUntil, `run ${record.id}`)
    return waited
  }
}
