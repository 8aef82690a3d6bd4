import type { AttemptStreams } from '../streams/registry.ts'
import type { RunChange, RunRecord, RunStatus } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import type { AttemptEnd, ReturnedAttempt, ThrownAttempt } from './task-call.ts'
import { hookContext, planRetry } from './task-call.ts'
import type { Host } from '../host/host.ts'
import { persist } from '../host/persist.ts'
import type { RunJournal } from '../changes/run-journal.ts'
import { learn, type RunScope } from '../attempt/attempt.ts'
import { ACTIVE_STATUSES } from '../../contract/run-states.ts'
import { errorToJson } from '../host/serialize.ts'

export interface EndingOptions {
  readonly host: Host
  readonly journal: RunJournal
  readonly streams: AttemptStreams
  /** The function has returned: the attempt gives its slot back and drains. */
  readonly draining: (scope: RunScope) => void
  /** Another attempt is due at `at`. */
  readonly retrying: (record: RunRecord, at: number) => void
  readonly stale: (scope: RunScope) => void
}

/** Stores what an attempt came to: first the output, then the end; or the next attempt; or the failure. */
export class AttemptEnding {
  readonly #options: EndingOptions

  constructor(options: EndingOptions) {
    this.#options = options
  }

  end(scope: RunScope, ended: AttemptEnd): Awaitable<unknown> {
    if (scope.isEnded) return undefined
    if (ended.kind === 'threw') return this.#threw(scope, ended)
    const hasMore = this.#options.streams.hasOpen(scope) || scope.definition.options.onSuccess !== undefined
    if (hasMore) return this.#drained(scope, ended)
    return this.#finish(scope, 'COMPLETED', { outputJson: ended.outputJson, errorJson: undefined })
  }

  /** The output is stored first: a crash from here on completes the run and never repeats it. */
  async #drained(scope: RunScope, { output, outputJson }: ReturnedAttempt): Promise<void> {
    const { streams, draining } = this.#options
    const stored = await this.#update(scope, {
      outputJson,
      errorJson: undefined,
      returned: true,
      slot: false,
    })
    if (stored === undefined || scope.isEnded) return
    draining(scope)
    const { onSuccess } = scope.definition.options
    const hook = this.#hook(scope, () => onSuccess?.({ ...hookContext(scope), output }))
    // The minute that streams have starts with the return; what the hook registers late has its own.
    await Promise.all([hook, streams.drain(scope)])
    if (streams.hasOpen(scope)) await streams.drain(scope)
    await this.#finish(scope, 'COMPLETED', { outputJson })
  }

  async #threw(scope: RunScope, ended: ThrownAttempt): Promise<void> {
    const { host, streams } = this.#options
    await streams.stop(scope)
    if (isOver(scope)) return
    const plan = await planRetry(scope, ended, { now: host.now(), fraction: () => host.random.fraction() })
    if (scope.isEnded) return
    const errorJson = errorToJson(plan.error)
    if (plan.retryAt !== undefined) {
      await this.#retry(scope, plan.retryAt, errorJson)
      return
    }
    const { onFailure } = scope.definition.options
    await this.#hook(scope, () => onFailure?.({ ...hookContext(scope), error: plan.error }))
    await this.#finish(scope, 'FAILED', { errorJson })
  }

  async #retry(scope: RunScope, retryAt: number, errorJson: string): Promise<void> {
    const stored = await this.#update(scope, { status: 'DELAYED', wakeAt: retryAt, errorJson, slot: false })
    if (stored !== undefined) this.#options.retrying(stored, retryAt)
  }

  /** The attempt took too long: the run ends, whatever its function still does. */
  timedOut(scope: RunScope, error: Error): Awaitable<unknown> {
    return this.#finish(scope, 'TIMED_OUT', { errorJson: errorToJson(error) })
  }

  /** Hot, with every field by its name: a spread costs a quarter of a short run. */
  #finish(
    scope: RunScope,
    status: RunStatus,
    { outputJson, errorJson }: Pick<RunChange, 'outputJson' | 'errorJson'>,
  ): Awaitable<unknown> {
    if (scope.isEnded) return undefined
    const finishedAt = this.#options.host.now()
    return this.#update(scope, { status, outputJson, errorJson, finishedAt, slot: false })
  }

  /** Nothing when storage no longer knows this attempt as the one that runs. */
  #update(scope: RunScope, change: RunChange): Awaitable<RunRecord | undefined> {
    const { host, journal } = this.#options
    const { id } = scope
    const metadataJson = scope.unsavedMetadata
    const stored = persist({ host, events: journal.events }, scope, () =>
      host.storage.runs.update({
        id,
        expected: { status: ACTIVE_STATUSES, epoch: scope.record.epoch },
        change: metadataJson === undefined ? change : { ...change, metadataJson },
        by: host.owner,
        now: host.now(),
      }),
    )
    return chain(stored, (updated) => {
      if (updated === undefined) {
        this.#options.stale(scope)
        return undefined
      }
      const isNews = learn(scope, updated.record)
      if (change.status === undefined) journal.touched(id)
      else if (isNews) journal.run(updated.record)
      return updated.record
    })
  }

  async #hook(scope: RunScope, call: () => unknown): Promise<void> {
    try {
      await call()
    } catch (error) {
      this.#options.journal.events.error(error, scope.id)
    }
  }
}

/** Asked again after every wait: the attempt may have been aborted meanwhile. */
function isOver(scope: RunScope): boolean {
  return scope.isEnded
}
