import { AsyncResource } from 'node:async_hooks'
import type { TaskRegistry } from '../../api/task-definition.ts'
import type { CancelTimer } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, NewRunClaim, RunClaim, RunClaimed, RunInserted } from '../../contract/storage.ts'
import { isPromise, rescue, unawaited } from '../../primitives/awaitable.ts'
import { type Late, late } from '../../primitives/late.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Breath } from '../host/breath.ts'
import type { Host } from '../host/host.ts'
import type { Ticker } from '../host/ticker.ts'
import type { Slots } from '../slots/slots.ts'
import type { Executor } from './executor.ts'
import { doubtfulOf, type Ticket, Tickets } from './tickets.ts'
import type * as trials from './trials.ts'
import type { Trials, TrialSettings } from './trials.ts'

const CLAIM_LIMIT = 256
/** Of more runs that are triggered at once the rest are claimed together. */
const MOST_INSERTS = 16
/** The name of the timer that waits for a rate. */
const RATE = 'the rate of a queue'
const SETTLED = /* @__PURE__ */ Promise.resolve()
const NONE: readonly never[] = []

/** Once a run is due to be executed alone, which is rare. */
export const TRIALS: Late<typeof trials> = /* @__PURE__ */ late(() => import('./trials.ts'))

interface Parts {
  readonly host: Host
  readonly breath: Breath
  readonly tasks: TaskRegistry
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly ticker: Ticker
  readonly slots: Slots
  readonly executor: Executor
}

export interface ClaimSettings extends TrialSettings {
  /** An engine that does not hear of storage for so long has lost its runs to others. */
  readonly leaseMs: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
}

/**
 * Asks storage for runs to execute, as many as there are slots for, and starts them. A new run may be claimed by its insert, on a
 * storage that can do so. If the answer to either is lost, storage is asked which runs are executed here: a muster.
 */
export class Claimer {
  readonly #kernel: Parts
  readonly #settings: ClaimSettings
  readonly #tickets = new Tickets()
  /** Runs start in the context the engine was created in, not in that of the call that triggered them. */
  readonly #ownContext = new AsyncResource('waitpoint.executor')
  #trials: Trials | undefined
  readonly #claimOnce = (): void => {
    const { host } = this.#kernel
    if (host.isTurnDue) {
      host.afterTurn('a claim of runs', this.#claimOnce)
      return
    }
    this.#isPoked = false
    this.#ownContext.runInAsyncScope(this.#claim)
  }
  /** A claim comes in this turn's next microtask. */
  #isPoked = false
  /** There was more than the last claim took, or than there was room for. */
  #mayHaveMore = false
  /** The last claim has left runs, because their queue was full. */
  #isHeldBack = false
  /** A slot was given back since the last claim was made. */
  #isSlotFreed = false
  /** For the instant at which a rate lets a run start that the last claim has left. */
  #nextStart: CancelTimer | undefined
  /** The number of the last claim. */
  #number = 0

  constructor(kernel: Parts, settings: ClaimSettings) {
    this.#kernel = kernel
    this.#settings = settings
  }

  /** Whether this engine executes runs at all. */
  get executes(): boolean {
    return this.#settings.execute
  }

  get maxInterruptions(): number {
    return this.#settings.maxInterruptions
  }

  /**
   * Claims what can run, in a microtask of its own: many triggers of one turn are one claim. A backlog is worked off in
   * slices, with a turn of the event loop between them for timers and I/O.
   */
  poke(): void {
    if (this.#isPoked || !this.#settings.execute || this.#isOver) return
    this.#isPoked = true
    SETTLED.then(this.#claimOnce, this.#claimOnce)
  }

  /** An engine that closes claims nothing more. It makes a muster all the same, to hand back what it was given. */
  get #isOver(): boolean {
    const { host } = this.#kernel
    return host.isClosed || (host.isClosing && !this.#tickets.areLost)
  }

  /** The last claim may have left runs. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore || this.#isHeldBack
  }

  /** A slot is free: worth a claim when the last one may have left something, or a queue was full. */
  slotFreed(): void {
    const { queueLimits, limits } = this.#kernel.tasks
    if (this.mayHaveMore || queueLimits.size > 0 || limits.size > 0) this.poke()
    else this.#isSlotFreed = true
  }

  /** Resolves when no call is out whose answer may be this run, which executes here already as storage sees it. */
  async answered(runId: string): Promise<void> {
    if (!this.#kernel.host.isClosed) await this.#tickets.closed(runId)
  }

  /** A run that does not execute here was canceled, or changed otherwise: a call that is out may have been given it before. */
  changed(runId: string): void {
    this.#tickets.changed(runId)
  }

  /** A run was canceled here that this engine held and had not begun: the answer to its claim may come, or be lost. */
  canceled(record: RunRecord): void {
    this.#tickets.canceled(record)
  }

  /** Hints were lost: something may have happened to any run. */
  hintsLost(): void {
    this.#tickets.hintsLost()
  }

  /** The engine is closed: who waits for an answer waits no more. */
  close(): void {
    this.#startAt(undefined)
    this.#tickets.end()
    this.#trials?.close()
  }

  /** The claim that the insert of a new run is to make; none if the run is to stand in line. */
  claimFor(record: RunRecord): NewRunClaim | undefined {
    const { host, tasks, slots } = this.#kernel
    if (host.storage.claimsNew !== true || !this.#mayBegin(record) || !slots.reserve()) return undefined
    this.#tickets.open({ runId: record.id, by: host.owner, now: host.now() })
    return { taskIds: tasks.ids, version: tasks.versions.get(record.taskId), number: this.#number }
  }

  #mayBegin({ status, queue, key, parentId, limits }: RunRecord): boolean {
    const { host, tasks, breath, ticker } = this.#kernel
    if (!this.#settings.execute || status !== 'QUEUED' || host.isClosing) return false
    if (!ticker.hasLease || breath.isDue()) return false
    // A key of the user's may be locked for long by a transaction of the user's, and the slot with it.
    if (key !== undefined && key.scope !== parentId) return false
    if (tasks.queueLimits.has(queue) || tasks.queueRates.has(queue) || limits !== undefined) return false
    return this.#tickets.inserts.size < MOST_INSERTS
  }

  /** Makes an insert with such a claim. If it fails, it may have claimed the run all the same. */
  during(runId: string, insert: () => Awaitable<RunInserted>): Awaitable<RunInserted> {
    return rescue(insert, (error) => {
      const ticket = this.#tickets.inserts.get(runId)
      if (ticket !== undefined) this.#lose(ticket)
      throw error
    })
  }

  /** Storage has answered the insert of a run: it starts, or is claimed when it may start. */
  inserted(runId: string, { record, isClaimed = false }: RunInserted): void {
    const ticket = this.#tickets.inserts.get(runId)
    if (ticket !== undefined && isClaimed) {
      this.#takeSafely(ticket, [record])
      return
    }
    if (ticket !== undefined) {
      // It was found: the answer to an insert before was lost.
      const mayBeOurs = record.id === runId && record.status === 'EXECUTING' && record.owner === ticket.by
      if (mayBeOurs) this.#lose(ticket)
      else this.#close(ticket)
    }
    // The slot that was kept for it is free again: a claim meanwhile may have found no room.
    if (this.#tickets.areLost || record.status === 'QUEUED' || this.#mayHaveMore) this.poke()
  }

  readonly #claim = (): void => {
    const { host, tasks, slots, executor, ticker } = this.#kernel
    // A claim that is refused for want of a lease may arrive once more when it is there. The tick that takes it pokes.
    if (this.#isOver || !ticker.hasLease || tasks.ids.length === 0) return
    const isMuster = this.#tickets.areLost
    const limit = this.#tickets.isClaimOut || isMuster ? 0 : this.#nextLimit()
    // Runs that a claim that is out has not seen, or that there is no room for, are asked for again.
    this.#mayHaveMore = limit === 0
    if (this.#tickets.isClaimOut || (limit === 0 && !isMuster)) return
    this.#number += 1
    this.#isSlotFreed = false
    const request = this.#request(limit)
    const ticket = this.#tickets.open({ runId: undefined, by: request.by, now: request.now })
    if (isMuster) executor.beginMuster()
    else slots.beginClaim(limit)
    try {
      const claimed = host.storage.runs.claim(request)
      if (isPromise(claimed)) this.#claimedLater(ticket, claimed, request)
      else this.#claimed(ticket, claimed, request)
    } catch (error) {
      this.#failed(ticket, error)
    }
  }

  /** Apart from `#claim`, which would pay for what these capture. */
  #claimedLater(ticket: Ticket, claimed: Promise<RunClaimed>, request: RunClaim): void {
    claimed
      .then((answer) => this.#claimed(ticket, answer, request))
      .catch((error: unknown) => this.#failed(ticket, error))
  }

  #nextLimit(): number {
    return this.#trials?.ask() === true ? 1 : Math.min(this.#kernel.slots.roomToClaim, CLAIM_LIMIT)
  }

  /** Runs that it may have given wait for a muster, with their slots. */
  #lose(ticket: Ticket): void {
    this.#tickets.lose(ticket)
    if (ticket.lost.length > 0) this.#kernel.executor.endMuster()
    this.#kernel.ticker.answerLost('runs that may have been claimed')
  }

  #failed(ticket: Ticket, error: unknown): void {
    this.#lose(ticket)
    this.#kernel.events.error(error, ticket.runId)
  }

  #request(limit: number): RunClaim {
    const { host, tasks, slots } = this.#kernel
    const { ids: taskIds, versions, queueLimits, queueRates, limits } = tasks
    return {
      by: host.owner,
      now: host.now(),
      number: this.#number,
      taskIds,
      versions,
      limit,
      queueLimits,
      queueRates: queueRates.size === 0 ? undefined : queueRates,
      limits: limits.size === 0 ? undefined : limits,
      maxInterruptions: this.#settings.maxInterruptions,
      suspects: slots.suspects,
      isTrial: this.#trials?.isAsked,
    }
  }

  #claimed(ticket: Ticket, answer: RunClaimed, request: RunClaim): void {
    if (request.limit === 0) {
      this.#mustered(ticket, answer.runs)
      return
    }
    const { runs, ended, isHeldBack = false, nextStartAt, isTrialDue = false } = answer
    this.#isHeldBack = isHeldBack || isTrialDue
    this.#trials?.answered(runs, isTrialDue)
    if (isTrialDue) this.#loadTrials()
    if (nextStartAt !== undefined || this.#nextStart !== undefined) this.#startAt(nextStartAt)
    this.#mayHaveMore ||= runs.length === request.limit || (isHeldBack && this.#isSlotFreed)
    const { publisher, slots } = this.#kernel
    publisher.runs(ended)
    // Those that were ended instead of claimed have given back their slots.
    if (ended.length > 0) slots.retry()
    this.#take(ticket, runs)
  }

  /** Of the runs that storage says are executed here those were given by answers that were lost that are known to no other call. */
  #mustered(ticket: Ticket, runs: readonly RunRecord[]): void {
    const { executor } = this.#kernel
    const unknown = runs.filter((run) => {
      const insert = this.#tickets.inserts.get(run.id)
      return (insert === undefined || ticket.lost.includes(insert)) && !executor.knows(run)
    })
    executor.endMuster()
    const given = new Set(runs.map(({ id }) => id))
    for (const record of this.#tickets.takeCanceled())
      if (!given.has(record.id)) executor.claimedCanceled(record)
    this.#trials?.answered(unknown)
    ticket.doubtful = 'any'
    this.#take(ticket, unknown)
  }

  #loadTrials(): void {
    const made = (module: typeof trials): void => {
      this.#trials ??= new module.Trials(this.#kernel, this.#settings, () => this.poke())
      this.poke()
    }
    if (this.#trials === undefined) this.#kernel.events.report(() => TRIALS.use(made))
  }

  /** Claims again at the instant at which a rate lets a run start. Until then the process waits for it, as for a delayed run. */
  #startAt(at: number | undefined): void {
    this.#nextStart?.()
    this.#nextStart = undefined
    const { host } = this.#kernel
    if (at === undefined || host.isClosing) return
    const release = host.clock.hold?.({ kind: 'scheduled', id: RATE })
    const start = (): void => {
      this.#startAt(undefined)
      this.poke()
    }
    const cancel = host.clock.setTimer(at, start, { label: RATE })
    this.#nextStart = () => {
      cancel()
      release?.()
    }
  }

  /** Starts the runs that a call has given, within this very step, if nothing has happened to them: one may be canceled in the next. */
  #take(ticket: Ticket, runs: readonly RunRecord[]): void {
    const { host } = this.#kernel
    // Under a name that has lost its lease since, they belong to another engine by now.
    const ours = ticket.by === host.owner && !host.isClosed ? runs : NONE
    const isLate = host.now() - ticket.now > this.#settings.leaseMs / 3
    const doubtful = isLate ? ours : doubtfulOf(ticket, ours)
    if (doubtful.length > 0) {
      this.#lookFirst(ticket, ours, doubtful)
      return
    }
    const started = this.#start(ours)
    if (started < ours.length) this.#takeLater(ticket, ours.slice(started))
    else this.#close(ticket)
  }

  /** Apart from `#take`, which would pay for what this captures. */
  #lookFirst(ticket: Ticket, runs: readonly RunRecord[], doubtful: readonly RunRecord[]): void {
    unawaited(
      () => this.#look(ticket, runs, doubtful),
      (error) => this.#failed(ticket, error),
    )
  }

  /** Takes the runs that are as they were handed over. */
  async #look(ticket: Ticket, runs: readonly RunRecord[], doubtful: readonly RunRecord[]): Promise<void> {
    const { host, executor } = this.#kernel
    ticket.doubtful = undefined
    ticket.now = host.now()
    const found = await Promise.all(doubtful.map(async ({ id }) => host.storage.runs.get(id)))
    const gone = new Set<RunRecord>()
    for (const [at, run] of doubtful.entries()) {
      const record = found[at]
      if (record?.epoch === run.epoch && record.status === run.status && record.owner === run.owner) continue
      gone.add(run)
      this.#tickets.forget(run.id)
      if (record?.status === 'CANCELED' && record.epoch === run.epoch + 1) executor.claimedCanceled(record)
    }
    this.#take(
      ticket,
      runs.filter((run) => !gone.has(run)),
    )
  }

  /** Starts runs until the event loop is due a turn; answers how many. */
  #start(runs: readonly RunRecord[]): number {
    const { breath, executor } = this.#kernel
    let started = 0
    for (const record of runs) {
      if (started > 0 && breath.isDue()) break
      executor.start(record)
      started += 1
    }
    return started
  }

  /** The claim stays out: something may happen to these runs before they start. */
  #takeLater(ticket: Ticket, runs: readonly RunRecord[]): void {
    const { host, slots } = this.#kernel
    slots.beginClaim(runs.length)
    host.afterTurn('claimed runs that wait for a turn', () => this.#takeSafely(ticket, runs))
  }

  #takeSafely(ticket: Ticket, runs: readonly RunRecord[]): void {
    this.#ownContext.runInAsyncScope(() =>
      unawaited(
        () => this.#take(ticket, runs),
        (error) => this.#failed(ticket, error),
      ),
    )
  }

  #close(ticket: Ticket): void {
    const { slots } = this.#kernel
    this.#tickets.close(ticket)
    if (ticket.runId !== undefined) {
      slots.endReservation()
      return
    }
    // The slots of a claim are those of its muster.
    for (const lost of ticket.lost) if (lost.runId !== undefined) this.#close(lost)
    slots.endClaim()
    this.#trials?.started()
    // Without room, runs that could not be read would be asked for again and again.
    if (this.#mayHaveMore && slots.room > 0) this.poke()
  }
}
