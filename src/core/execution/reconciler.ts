import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { type Attempt, endError, hasFinished, learn, staleAttempt } from '../attempt/attempt.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { Host } from '../host/host.ts'
import type { Ticker } from '../host/ticker.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Upcalls } from '../upcalls.ts'
import type { Claimer } from './claimer.ts'
import type { DelayedRuns } from './delayed-runs.ts'
import type { Executor } from './executor.ts'

interface Parts {
  readonly host: Host
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly ticker: Ticker
  readonly delayed: DelayedRuns
  readonly executor: Executor
  readonly claimer: Claimer
  readonly upcalls: Upcalls
}

/**
 * Finds out what became of an attempt: when storage refused a write of it, when another engine changed its run, and when
 * hints or answers were lost.
 */
export class Reconciler {
  readonly #kernel: Parts
  /** A write of these was refused, and storage could not be asked why. */
  readonly #unclear = new Set<Attempt>()

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  /** A write of this attempt was refused: it is stopped, once storage has said why. */
  stale(attempt: Attempt): void {
    if (!hasFinished(attempt)) this.#findOut(attempt)
  }

  /** A call made a write that was refused: answers the error for that call. */
  refused(attempt: Attempt): Awaitable<Error> {
    if (attempt.isEnded) return endError(attempt)
    return chain(this.#look(attempt), () => endError(attempt))
  }

  /** If storage cannot be asked now it is asked again soon: the end of a run is published, however late. */
  #findOut(attempt: Attempt): void {
    const failed = (error: unknown): void => {
      this.#unclear.add(attempt)
      this.#kernel.ticker.answerLost(`what became of ${attempt.id}`)
      this.#kernel.events.error(error, attempt.id)
    }
    unawaited(() => this.#look(attempt), failed)
  }

  #look(attempt: Attempt): Awaitable<void> {
    const { host, publisher } = this.#kernel
    return chain(host.storage.runs.get(attempt.id), (record) => {
      if (host.isClosed) return
      // The write that was refused may repeat one that was stored and not acknowledged: published once all the same.
      if (record?.epoch === attempt.record.epoch && isFinal(record.status)) {
        if (learn(attempt, record)) publisher.run(record)
        // Another refused write of the attempt may have been answered sooner.
      } else if (!attempt.isEnded || hasFinished(attempt)) this.#stop(attempt, record)
    })
  }

  /** The run belongs to another attempt by now, or is over, or is to be tried again. */
  #stop(attempt: Attempt, record: RunRecord | undefined): void {
    const { executor, upcalls, publisher, delayed } = this.#kernel
    if (record?.status === 'CANCELED') upcalls.leftChildren(attempt.id, executor.cancel(attempt, record))
    else executor.abort(attempt, staleAttempt(attempt.id))
    if (record !== undefined && isFinal(record.status)) publisher.elsewhere(record)
    if (record?.status === 'DELAYED' && record.wakeAt !== undefined) delayed.add(record.id, record.wakeAt)
  }

  /** The record of a run changed elsewhere: was it canceled, or rescheduled? */
  changedElsewhere(runId: string): void {
    const { host, executor, claimer, delayed, upcalls, publisher, events } = this.#kernel
    const attempt = executor.attempts.get(runId)
    if (attempt === undefined || attempt.isEnded) {
      claimer.changed(runId)
      if (!delayed.has(runId)) return
    }
    const ask = (): Awaitable<void> =>
      chain(host.storage.runs.get(runId), (record) => {
        if (record?.status !== 'DELAYED') delayed.cancel(runId)
        else if (record.wakeAt !== undefined && delayed.has(runId)) delayed.add(runId, record.wakeAt)
        if (record?.status === 'CANCELED') upcalls.leftChildren(runId, this.canceled(record))
        // To callers that have begun to wait since the hint, and have asked this engine and not storage.
        if (record !== undefined && isFinal(record.status)) publisher.elsewhere(record)
      })
    events.report(ask, runId)
  }

  /**
   * Hints were lost: other engines may have changed the runs that execute here, or that are put off. `held`: how many are
   * ours as storage sees it, if it has counted them; while these are as many as here no run was canceled elsewhere.
   */
  recheck(held?: number): void {
    const unclear = [...this.#unclear]
    this.#unclear.clear()
    for (const attempt of unclear) this.#findOut(attempt)
    const { executor, delayed } = this.#kernel
    const executing = executor.attempts.entries().filter(([, attempt]) => !attempt.isEnded)
    const ids = held === executing.length ? [] : executing.map(([id]) => id)
    for (const id of [...ids, ...delayed.ids]) this.changedElsewhere(id)
  }

  /**
   * The run was canceled: if it executes here, its attempt ends. Answers the tokens that it waited for. `wasHeld`: this engine has
   * canceled it, and held it until then. A canceled run has no owner, so this is not known of one that was canceled elsewhere.
   */
  canceled(record: RunRecord, wasHeld = false): readonly string[] {
    const { executor, claimer, delayed } = this.#kernel
    delayed.remove(record.id)
    const attempt = executor.attempts.get(record.id)
    if (attempt === undefined || attempt.isEnded) {
      claimer.changed(record.id)
      if (attempt === undefined && wasHeld) claimer.canceled(record)
      return []
    }
    return executor.cancel(attempt, record)
  }
}
