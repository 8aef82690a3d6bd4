import type { RunRecord, WaitRecord } from '../../contract/records.ts'
import type { Awaitable, RunStore, RunUpdated, Storage } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import type { Claimer } from '../../core/execution/claimer.ts'
import type { Executor } from '../../core/execution/executor.ts'
import type { Host } from '../../core/host/host.ts'
import type { Attempt } from '../../core/attempt/attempt.ts'
import type { Waitpoints } from '../../core/waits/waitpoints.ts'
import { wrapStorage } from './wrapped.ts'

/** The parts of an engine needed to abandon an attempt. */
export interface ResumedParts {
  readonly host: Host
  readonly executor: Executor
  readonly claimer: Claimer
  readonly waitpoints: Waitpoints
}

export interface ResumingOptions {
  readonly storage: Storage
  /** The number of re-executions of each run, shared by all engines on a storage. */
  readonly restarts: Map<string, number>
  /** The parts of the engine on this storage, available once it exists. */
  readonly parts: () => ResumedParts
}

/**
 * Executes a run again from the top after every settled wait for which it had parked, as after a crash. The old call of
 * its function hangs forever in that wait and has no further effect.
 *
 * Storage distinguishes an execution after a crash from one after a failure. The planned execution is of the second
 * kind, so the number of policy attempts is corrected in every record that the engine sees.
 */
export class ResumingStorage {
  readonly #storage: Storage
  readonly #parts: () => ResumedParts
  readonly #restarts: Map<string, number>

  constructor({ storage, restarts, parts }: ResumingOptions) {
    this.#storage = wrapStorage(storage, (_name, operation) => operation)
    this.#restarts = restarts
    this.#parts = parts
  }

  /** The storage for the engine. */
  get storage(): Storage {
    // All answers come one microtask later, because changed ones do, and their order must stay the same.
    const later = wrapStorage(
      this.#storage,
      (_name, operation) =>
        (...args) =>
          chain(operation(...args), (answer) => answer),
    )
    const { tokens } = this.#storage
    return {
      ...later,
      // A run that resumes with its answer would not be executed again.
      resumesWaiting: false,
      runs: { ...later.runs, ...this.#runs() },
      tokens: {
        ...later.tokens,
        settle: (request) =>
          chain(tokens.settle(request), (settled) => {
            if (settled === undefined || settled === 'stale') return settled
            return chain(this.#restartAll(settled.ready), () => settled)
          }),
      },
      tick: (request) =>
        chain(this.#storage.tick(request), (result) => {
          const expired = result.expired.map((updated) => this.#seenUpdate(updated))
          return chain(this.#restartAll(result.ready), () => ({ ...result, expired }))
        }),
    }
  }

  #runs(): Pick<RunStore, 'insert' | 'get' | 'list' | 'asked' | 'update' | 'claim' | 'park' | 'resume'> {
    const { runs } = this.#storage
    return {
      insert: (request) =>
        chain(runs.insert(request), (inserted) =>
          inserted === 'stale' ? inserted : { ...inserted, record: this.#seen(inserted.record) },
        ),
      get: (id, among) => chain(runs.get(id, among), (record) => record && this.#seen(record)),
      list: (filter, page) =>
        chain(runs.list(filter, page), (listed) => ({
          ...listed,
          records: listed.records.map((record) => this.#seen(record)),
        })),
      asked: (id) =>
        chain(runs.asked(id), (asked) => ({ ...asked, runs: asked.runs.map((run) => this.#seen(run)) })),
      update: (request) =>
        chain(runs.update(request), (updated) => {
          if (updated === undefined) return updated
          return chain(this.#restartAll(updated.ready), () => this.#seenUpdate(updated))
        }),
      claim: (request) =>
        chain(runs.claim(request), ({ runs: claimed, ended }) => ({
          runs: claimed.map((record) => this.#seen(record)),
          ended: ended.map((updated) => this.#seenUpdate(updated)),
        })),
      park: (request) => chain(runs.park(request), (record) => record && this.#seen(record)),
      resume: (request) =>
        chain(runs.resume(request), (resumed) =>
          resumed.outcome === 'resumed' ? { ...resumed, record: this.#seen(resumed.record) } : resumed,
        ),
    }
  }

  #seenUpdate(updated: RunUpdated): RunUpdated {
    return { ...updated, record: this.#seen(updated.record) }
  }

  #seen(record: RunRecord): RunRecord {
    const restarts = this.#restarts.get(record.id)
    return restarts === undefined ? record : { ...record, policyAttempt: record.policyAttempt - restarts }
  }

  #restartAll(ready: readonly WaitRecord[]): Awaitable<void> {
    let done: Awaitable<void> = undefined
    for (const { runId } of ready) done = chain(done, () => this.#restart(runId))
    return done
  }

  #restart(runId: string): Awaitable<void> {
    const { executor, claimer, host } = this.#parts()
    const attempt = executor.attempts.get(runId)
    if (attempt?.is('parked') !== true) return
    const { epoch } = attempt.record
    const expected = { status: ['WAITING'] as const, epoch }
    const change = { status: 'QUEUED', epoch: epoch + 1 } as const
    this.#abandon(attempt)
    const request = { id: runId, expected, change, by: host.owner, now: host.now() }
    return chain(this.#storage.runs.update(request), (updated) => {
      if (updated === undefined) return
      this.#restarts.set(runId, (this.#restarts.get(runId) ?? 0) + 1)
      claimer.poke()
    })
  }

  /** The waits of the attempt never end, and it is told nothing, as if its process were gone. */
  #abandon(attempt: Attempt): void {
    const { streams } = attempt
    this.#parts().waitpoints.leave(attempt)
    attempt.finish()
    attempt.letGo()
    // Its sources are told, as a connection that breaks would be.
    void Promise.resolve(streams?.stop()).catch(() => undefined)
  }
}
