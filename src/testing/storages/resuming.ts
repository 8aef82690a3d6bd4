import type { RunRecord, WaitRecord } from '../../contract/records.ts'
import type { Awaitable, Storage } from '../../contract/storage.ts'
import { chain } from '../../primitives/awaitable.ts'
import type { Inside } from '../../core/inside.ts'
import { wrapStorage } from './wrapped.ts'

export interface ResumingOptions {
  readonly storage: Storage
  /** The number of re-executions of each run, shared by all engines on a storage. */
  readonly restarts: Map<string, number>
  /** The inside of the engine on this storage, available once it exists. */
  readonly inside: () => Inside
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
  readonly #inside: () => Inside
  readonly #restarts: Map<string, number>

  constructor({ storage, restarts, inside }: ResumingOptions) {
    this.#storage = wrapStorage(storage, (_name, operation) => operation)
    this.#restarts = restarts
    this.#inside = inside
  }

  /** The storage for the engine. */
  get storage(): Storage {
    // All answers come one microtask later, because changed ones do, and their order must stay the same.
    const later = wrapStorage(
      this.#storage,
      (_name, operation) =>
        (...args) =>
          chain(operation(...args), (answer) =>
            chain(this.#restartAll(readyIn(answer)), () => this.#seen(answer)),
          ),
    )
    // A run that resumes with its answer would not be executed again.
    return { ...later, resumesWaiting: false }
  }

  /** An answer with its runs as the engine is to see them. */
  #seen<Answer>(answer: Answer): Answer {
    if (typeof answer !== 'object' || answer === null) return answer
    if (Array.isArray(answer)) return answer.map((item: unknown) => this.#seen(item)) as Answer
    if (isRun(answer)) {
      const restarts = this.#restarts.get(answer.id)
      return restarts === undefined ? answer : { ...answer, policyAttempt: answer.policyAttempt - restarts }
    }
    const parts = Object.entries(answer).filter(([name]) => RUNS.has(name))
    return parts.length === 0
      ? answer
      : { ...answer, ...Object.fromEntries(parts.map(([name, part]) => [name, this.#seen(part)])) }
  }

  #restartAll(ready: readonly WaitRecord[]): Awaitable<void> {
    let done: Awaitable<void> = undefined
    for (const { runId } of ready) done = chain(done, () => this.#restart(runId))
    return done
  }

  #restart(runId: string): Awaitable<void> {
    const { host, runs } = this.#inside()
    const record = runs.abandon(runId)
    if (record === undefined) return
    const { epoch } = record
    const expected = { status: ['WAITING'] as const, epoch }
    const change = { status: 'QUEUED', epoch: epoch + 1 } as const
    const request = { id: runId, expected, change, by: host.owner, now: host.now() }
    return chain(this.#storage.runs.update(request), (updated) => {
      if (updated === undefined) return
      this.#restarts.set(runId, (this.#restarts.get(runId) ?? 0) + 1)
      runs.claim()
    })
  }
}

/** Where answers have runs. */
const RUNS: ReadonlySet<string> = new Set(['record', 'records', 'runs', 'ended', 'expired'])

function isRun(answer: object): answer is RunRecord {
  return 'policyAttempt' in answer
}

/** The waits that a call has made ready. */
function readyIn(answer: unknown): readonly WaitRecord[] {
  const hasReady = typeof answer === 'object' && answer !== null && 'ready' in answer
  return hasReady ? (answer.ready as readonly WaitRecord[]) : []
}
