import type { RunChange, RunRecord, RunStatus } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import type { AttemptEnd, ReturnedAttempt, ThrownAttempt } from './task-call.ts'
import { hookContext, planRetry } from './task-call.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Slots } from '../slots/slots.ts'
import type { Upcalls } from '../upcalls.ts'
import type { DelayedRuns } from './delayed-runs.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import { learn, type Attempt } from '../attempt/attempt.ts'
import { OTHER_VERSION } from '../attempt/recall.ts'
import { ACTIVE_STATUSES } from '../../contract/run-states.ts'
import { errorToJson } from '../host/error-to-json.ts'
import { withAttempt } from '../../api/thrown-attempts.ts'

interface Parts {
  readonly host: Host
  readonly outage: Outage
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly slots: Slots
  readonly delayed: DelayedRuns
  readonly upcalls: Upcalls
}

/** Stores the end of an attempt: first the output, then the end; or the next attempt; or the failure. */
export class AttemptEnding {
  readonly #kernel: Parts

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  end(attempt: Attempt, ended: AttemptEnd): Awaitable<unknown> {
    if (attempt.isEnded) return undefined
    if (ended.kind === 'threw') return this.#threw(attempt, ended)
    const hasMore = attempt.streams !== undefined || attempt.definition.options.onSuccess !== undefined
    if (hasMore) return this.#drained(attempt, ended)
    return this.#finish(attempt, 'COMPLETED', { outputJson: ended.outputJson, errorJson: undefined })
  }

  /** The output is stored first: a crash from here on completes the run and never repeats it. */
  async #drained(attempt: Attempt, { output, outputJson }: ReturnedAttempt): Promise<void> {
    const stored = await this.#update(attempt, {
      outputJson,
      errorJson: undefined,
      returned: true,
      slot: false,
    })
    if (stored === undefined || attempt.isEnded) return
    this.#kernel.slots.drain(attempt)
    const { onSuccess } = attempt.definition.options
    const hook = this.#hook(attempt, () => onSuccess?.({ ...hookContext(attempt), output }))
    // The minute that streams have starts with the return; a stream that the hook registers late has its own.
    await Promise.all([hook, attempt.streams?.drain()])
    if (attempt.streams !== undefined) await attempt.streams.drain()
    await this.#finish(attempt, 'COMPLETED', { outputJson })
  }

  async #threw(attempt: Attempt, ended: ThrownAttempt): Promise<void> {
    const { host, outage } = this.#kernel
    const { startedAt } = attempt
    const endedAt = Math.max(startedAt, host.now())
    const waitedMs = Math.min(attempt.waitedMs(endedAt), endedAt - startedAt)
    await attempt.streams?.stop()
    if (isOver(attempt)) return
    // The storage was away in a call that does not wait for it: that is not the task's.
    if (outage.noticed(ended.error)) {
      await outage.rest(attempt)
      await this.handBack(attempt)
      return
    }
    const plan = await planRetry(attempt, ended, { now: host.now(), fraction: () => host.random.fraction() })
    if (attempt.isEnded) return
    const errorJson = errorToJson(plan.error)
    const { attempt: number, attemptsJson: earlier } = attempt.record
    const attemptsJson = withAttempt(earlier, { number, startedAt, endedAt, waitedMs, errorJson })
    if (plan.retryAt !== undefined) {
      await this.#retry(attempt, plan.retryAt, { errorJson, attemptsJson })
      return
    }
    const { onFailure } = attempt.definition.options
    await this.#hook(attempt, () => onFailure?.({ ...hookContext(attempt), error: plan.error }))
    if (isOver(attempt)) return
    const finishedAt = host.now()
    await this.#update(attempt, { status: 'FAILED', errorJson, attemptsJson, finishedAt, slot: false })
  }

  async #retry(
    attempt: Attempt,
    retryAt: number,
    thrown: Pick<RunChange, 'errorJson' | 'attemptsJson'>,
  ): Promise<void> {
    const change: RunChange = { status: 'DELAYED', wakeAt: retryAt, ...thrown, slot: false }
    const delayed = { ...attempt.record, ...change, updatedAt: this.#kernel.host.now() }
    const { publisher } = this.#kernel
    const storing = publisher.storing(delayed)
    try {
      const stored = await this.#update(attempt, change)
      if (stored !== undefined) this.#kernel.delayed.add(attempt.id, retryAt)
    } finally {
      publisher.stored(storing)
    }
  }

  /** The attempt took too long: the run ends, even if its function goes on. */
  timedOut(attempt: Attempt, error: Error): Awaitable<unknown> {
    return this.#finish(attempt, 'TIMED_OUT', { errorJson: errorToJson(error) })
  }

  /** The run has no owner any more, so that it is claimed and executed again. No interruption, and no attempt of the policy. */
  handBack(attempt: Attempt): Awaitable<void> {
    // Also a run that has parked is executed again at once.
    const change = { status: 'EXECUTING', owner: undefined } as const
    return chain(this.#update(attempt, change), () => this.#kernel.upcalls.claimable())
  }

  /** Code of another version goes on with the run, which is from now on a run of that version. */
  adopt(attempt: Attempt): Awaitable<unknown> {
    return this.#update(attempt, { version: attempt.definition.version })
  }

  /** The run waits for code that fits; its questions, and the answers to them, stay as they are. */
  standStill(attempt: Attempt, error: Error): Awaitable<unknown> {
    const { version } = (error.name === OTHER_VERSION ? attempt.recall : undefined) ?? attempt.record
    const errorJson = errorToJson(error)
    return this.#update(attempt, { status: 'PENDING_VERSION', version, errorJson, slot: false })
  }

  /** Hot, with every field by its name: a spread costs a quarter of a short run. */
  #finish(
    attempt: Attempt,
    status: RunStatus,
    { outputJson, errorJson }: Pick<RunChange, 'outputJson' | 'errorJson'>,
  ): Awaitable<unknown> {
    if (attempt.isEnded) return undefined
    const finishedAt = this.#kernel.host.now()
    return this.#update(attempt, { status, outputJson, errorJson, finishedAt, slot: false })
  }

  /** Nothing when storage no longer knows this attempt as the one that runs. */
  #update(attempt: Attempt, change: RunChange): Awaitable<RunRecord | undefined> {
    const { host, publisher } = this.#kernel
    const { id } = attempt
    const { status } = attempt.record
    const metadataJson = attempt.unsavedMetadata?.json
    const stored = this.#kernel.outage.persist(attempt, () =>
      host.storage.runs.update({
        id,
        expected: { status: ACTIVE_STATUSES, epoch: attempt.record.epoch },
        change: metadataJson === undefined ? change : { metadataJson, ...change },
        by: host.owner,
        now: host.now(),
      }),
    )
    return chain(stored, (updated) => {
      if (updated === undefined) {
        this.#kernel.upcalls.stale(attempt)
        return undefined
      }
      const isNew = learn(attempt, updated.record)
      if ((change.status ?? status) === status) publisher.wake(id)
      else if (isNew) publisher.run(updated.record)
      return updated.record
    })
  }

  async #hook(attempt: Attempt, call: () => unknown): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#kernel.events.error(error, attempt.id)
    }
  }
}

/** Asked again after every wait: the attempt may have been aborted meanwhile. */
function isOver(attempt: Attempt): boolean {
  return attempt.isEnded
}
