import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, NewRunClaim, RunInserted } from '../../contract/storage.ts'
import { rescue, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Breath } from '../host/breath.ts'
import type { Host } from '../host/host.ts'
import type { Ticker } from '../host/ticker.ts'
import type { Slots } from '../slots/slots.ts'
import type { TaskRegistry } from '../../api/task-definition.ts'
import { type ClaimedRuns, type Doubt, doubtRun } from './claimed-runs.ts'
import type { Executor } from './executor.ts'

/** Of more that are triggered at once the rest are claimed together. */
const MOST_AT_ONCE = 16

/** The parts of an engine that claim runs. */
export interface ClaimParts {
  readonly host: Host
  readonly breath: Breath
  readonly tasks: TaskRegistry
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly ticker: Ticker
  readonly slots: Slots
  readonly executor: Executor
}

/** A run that its insert is to claim, until it has started or is known not to be claimed. A slot is kept for it. */
interface NewRun extends Doubt {
  readonly id: string
  readonly by: string
  readonly now: number
  /** For callers that wait for the answer. */
  answered: Deferred<void> | undefined
}

/** Runs whose inserts may have claimed them: the answers were lost. */
export type LostRuns = readonly NewRun[]

/**
 * New runs that are claimed by their inserts, on a storage that can do so. If the answer to such an insert is lost, the next
 * claim of the engine makes sure that the insert claims nothing any more; then storage is asked whether it has.
 */
export class NewRuns {
  readonly #kernel: ClaimParts
  readonly #claimed: ClaimedRuns
  readonly #underWay = new Map<string, NewRun>()
  /** The answers to their inserts were lost. */
  #lost: NewRun[] = []

  constructor(kernel: ClaimParts, claimed: ClaimedRuns) {
    this.#kernel = kernel
    this.#claimed = claimed
  }

  /** The claim that the insert of a run is to make; none if the run is to stand in line. */
  claimFor(record: RunRecord, number: number): NewRunClaim | undefined {
    const { host, tasks, slots } = this.#kernel
    if (host.storage.claimsNew !== true || !this.#mayBegin(record) || !slots.reserve()) return undefined
    const run = { id: record.id, by: host.owner, now: host.now(), doubtful: undefined, answered: undefined }
    this.#underWay.set(record.id, run)
    return { taskIds: tasks.ids, version: tasks.versions.get(record.taskId), number }
  }

  #mayBegin({ status, queue, key, parentId }: RunRecord): boolean {
    const { host, tasks, breath, ticker } = this.#kernel
    if (status !== 'QUEUED' || host.isClosing || !ticker.hasLease || breath.isDue()) return false
    // A key of the user's may be locked for long by a transaction of the user's, and the slot with it.
    if (key !== undefined && key.scope !== parentId) return false
    if (tasks.queueLimits.has(queue) || tasks.queueRates.has(queue)) return false
    return this.#underWay.size < MOST_AT_ONCE
  }

  /** Makes an insert that claims its run. If it fails, it may have done so all the same. */
  during(runId: string, insert: () => Awaitable<RunInserted>): Awaitable<RunInserted> {
    return rescue(insert, (error) => {
      this.#lose(runId)
      throw error
    })
  }

  /** Storage has answered the insert of a run; it starts if that has claimed it. Answers whether it has. */
  inserted(runId: string, { record, isClaimed = false }: RunInserted): boolean {
    const run = this.#underWay.get(runId)
    if (run === undefined) return false
    if (isClaimed) {
      unawaited(
        () => this.#start(run, record, run.now),
        (error) => this.#failed(run, error),
      )
    }
    // It was found: the answer to an insert before was lost.
    else if (record.id === runId && record.status === 'EXECUTING' && record.owner === run.by)
      this.#lose(runId)
    else this.#end(run)
    return isClaimed
  }

  /** Something happened to a run that does not execute here. */
  changed(runId: string): void {
    const run = this.#underWay.get(runId)
    if (run !== undefined) doubtRun(run, runId)
  }

  /** Hints were lost: something may have happened to any run. */
  hintsLost(): void {
    for (const run of this.#underWay.values()) run.doubtful = 'any'
  }

  /** Resolves when it is known whether the insert of a run has claimed it, or the engine is closed. */
  async answered(runId: string): Promise<void> {
    const run = this.#underWay.get(runId)
    if (run === undefined || this.#kernel.host.isClosed) return
    run.answered ??= createDeferred<void>()
    await run.answered.promise
  }

  /** The engine is closed: it makes no claim that would tell. */
  close(): void {
    for (const { answered } of this.#underWay.values()) answered?.resolve()
  }

  /** Those that may be claimed without this engine knowing. A claim with a new number is to be made, and then they are found. */
  takeLost(): LostRuns {
    const lost = this.#lost
    if (lost.length > 0) this.#lost = []
    return lost
  }

  /** The claim has failed. */
  putBack(lost: LostRuns): void {
    this.#lost.push(...lost)
  }

  /** The claim was answered, and no other is out: starts those of them that their inserts have claimed. */
  async find(lost: LostRuns): Promise<void> {
    await Promise.all(
      lost.map(async (run) =>
        rescue(
          () => this.#find(run),
          (error) => this.#failed(run, error),
        ),
      ),
    )
  }

  async #find(run: NewRun): Promise<void> {
    const { host, executor } = this.#kernel
    if (host.isClosed) {
      this.#end(run)
      return
    }
    run.doubtful = undefined
    const lookedAt = host.now()
    const record = await host.storage.runs.get(run.id)
    const isOurs = record?.status === 'EXECUTING' && record.owner === run.by && record.attempt === 1
    if (isOurs && executor.attempts.get(run.id) === undefined) await this.#start(run, record, lookedAt)
    else this.#end(run)
  }

  #start(run: NewRun, record: RunRecord, now: number): void | Promise<void> {
    const { executor } = this.#kernel
    const start = (runs: readonly RunRecord[]): void => {
      for (const one of runs) this.#claimed.inOwnContext(() => executor.start(one))
      this.#end(run)
    }
    return this.#claimed.take(run, { runs: [record], by: run.by, now }, start)
  }

  #failed(run: NewRun, error: unknown): void {
    const { events, host } = this.#kernel
    if (!host.isClosed) events.error(error, run.id)
    this.#lose(run.id)
  }

  #lose(runId: string): void {
    const run = this.#underWay.get(runId)
    if (run === undefined) return
    this.#lost.push(run)
    this.#kernel.ticker.answerLost('a run that may have been claimed')
  }

  #end(run: NewRun): void {
    this.#underWay.delete(run.id)
    run.answered?.resolve()
    this.#kernel.slots.endReservation()
  }
}
