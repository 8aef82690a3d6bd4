import type { CancelTimer } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, NewRunClaim, RunClaim, RunClaimed, RunInserted } from '../../contract/storage.ts'
import { isPromise, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { type Late, late } from '../../primitives/late.ts'
import { ClaimedRuns, type Doubt, doubtRun } from './claimed-runs.ts'
import { type ClaimParts, type LostRuns, NewRuns } from './new-runs.ts'
import type * as trials from './trials.ts'
import type { Trials, TrialSettings } from './trials.ts'

const CLAIM_LIMIT = 256
/** The name of the timer that waits for a rate. */
const RATE = 'the rate of a queue'
const SETTLED = Promise.resolve()
const NONE: readonly never[] = []

/** Once a run is due to be executed alone, which is rare. */
export const TRIALS: Late<typeof trials> = /* @__PURE__ */ late(() => import('./trials.ts'))

export interface ClaimSettings extends TrialSettings {
  /** An engine that does not hear of storage for so long has lost its runs to others. */
  readonly leaseMs: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
}

/** A claim is out. */
interface Asking extends Doubt {
  readonly kind: 'asking'
  readonly limit: number
  /** Runs whose inserts claim nothing any more once this claim is answered. */
  lost: LostRuns
  /** For callers that wait for the answer. */
  answered: Deferred<void> | undefined
  /** Its runs are being started. */
  isAnswered: boolean
  /** A slot was given back meanwhile. */
  isSlotFreed: boolean
}

/** The answer was lost: the claim is asked again under its number, for as many runs. */
interface AnswerUnknown extends Doubt {
  readonly kind: 'answer unknown'
  readonly limit: number
  readonly lost: LostRuns
}

type ClaimState = { readonly kind: 'idle' } | Asking | AnswerUnknown

const IDLE: ClaimState = { kind: 'idle' }

/** Asks storage for runs to execute, as many as there are slots for. */
export class Claimer {
  readonly #kernel: ClaimParts
  readonly #settings: ClaimSettings
  readonly #claimedRuns: ClaimedRuns
  readonly #newRuns: NewRuns
  #trials: Trials | undefined
  readonly #claimOnce = (): void => {
    const { host } = this.#kernel
    if (host.isTurnDue) {
      host.afterTurn('a claim of runs', this.#claimOnce)
      return
    }
    this.#isPoked = false
    this.#claimedRuns.inOwnContext(this.#claim)
  }
  #state: ClaimState = IDLE
  /** A claim comes in this turn's next microtask. */
  #isPoked = false
  /** There was more than the last claim took, or than there was room for. */
  #mayHaveMore = false
  /** The last claim has left runs, because their queue was full. */
  #isHeldBack = false
  /** For the instant at which a rate lets a run start that the last claim has left. */
  #nextStart: CancelTimer | undefined
  /** The number of the last claim. */
  #number = 0

  constructor(kernel: ClaimParts, settings: ClaimSettings) {
    this.#kernel = kernel
    this.#settings = settings
    this.#claimedRuns = new ClaimedRuns(kernel, settings)
    this.#newRuns = new NewRuns(kernel, this.#claimedRuns)
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
    if (this.#isPoked || !this.#settings.execute || this.#kernel.host.isClosing) return
    this.#isPoked = true
    SETTLED.then(this.#claimOnce, this.#claimOnce)
  }

  /** The last claim may have left runs. */
  get mayHaveMore(): boolean {
    return this.#mayHaveMore || this.#isHeldBack
  }

  /** A slot is free: worth a claim when the last one may have left something, or a queue was full. */
  slotFreed(): void {
    if (this.mayHaveMore || this.#kernel.tasks.queueLimits.size > 0) this.poke()
    else if (this.#state.kind === 'asking') this.#state.isSlotFreed = true
  }

  /** Resolves when no claim is out whose answer may be this run, which executes here already as storage sees it. */
  async answered(runId: string): Promise<void> {
    await this.#newRuns.answered(runId)
    const state = this.#state
    if (state.kind !== 'asking') return
    state.answered ??= createDeferred<void>()
    await state.answered.promise
  }

  /** A run that does not execute here was canceled, or changed otherwise: a claim that is out may have had it before. */
  changed(runId: string): void {
    if (this.#state.kind !== 'idle') doubtRun(this.#state, runId)
    this.#newRuns.changed(runId)
  }

  /** Hints were lost: something may have happened to any run. */
  hintsLost(): void {
    if (this.#state.kind !== 'idle') this.#state.doubtful = 'any'
    this.#newRuns.hintsLost()
  }

  /** The engine is closed: who waits for an answer waits no more. */
  close(): void {
    this.#startAt(undefined)
    this.#newRuns.close()
    this.#trials?.close()
  }

  /** The claim that the insert of a new run is to make, if the run would be the next to start here. */
  claimFor(record: RunRecord): NewRunClaim | undefined {
    return this.#settings.execute ? this.#newRuns.claimFor(record, this.#number) : undefined
  }

  /** Makes an insert with such a claim. */
  during(runId: string, insert: () => Awaitable<RunInserted>): Awaitable<RunInserted> {
    return this.#newRuns.during(runId, insert)
  }

  /** Storage has answered the insert of a run: it starts, or is claimed when it may start. */
  inserted(runId: string, inserted: RunInserted): void {
    const isClaimed = this.#newRuns.inserted(runId, inserted)
    // The slot that was kept for it is free again: a claim meanwhile may have found no room.
    if (!isClaimed && (inserted.record.status === 'QUEUED' || this.#mayHaveMore)) this.poke()
  }

  readonly #claim = (): void => {
    const { host, tasks, slots, ticker } = this.#kernel
    // A claim that is refused for want of a lease may arrive once more when it is there. The tick that takes it pokes.
    if (host.isClosing || !ticker.hasLease || tasks.ids.length === 0) return
    const before = this.#state
    const limit = before.kind === 'idle' ? this.#nextLimit() : before.limit
    const lost = before.kind === 'idle' ? this.#newRuns.takeLost() : before.lost
    if (before.kind === 'asking' || (limit === 0 && lost.length === 0)) {
      // Runs that a claim that is out has not seen, or that there is no room for, are asked for again.
      this.#mayHaveMore = true
      return
    }
    if (before.kind === 'idle') this.#number += 1
    // A claim that is repeated does not answer all runs there are.
    this.#mayHaveMore = before.kind === 'answer unknown'
    const doubtful = before.kind === 'idle' ? undefined : before.doubtful
    const asking: Asking = {
      kind: 'asking',
      limit,
      doubtful,
      lost,
      answered: undefined,
      isAnswered: false,
      isSlotFreed: false,
    }
    this.#state = asking
    slots.beginClaim(limit)
    const request = this.#request(limit)
    try {
      const claimed = host.storage.runs.claim(request)
      const done = isPromise(claimed)
        ? this.#claimedLater(asking, claimed, request)
        : this.#claimed(asking, claimed, request)
      if (isPromise(done)) this.#follow(asking, done)
    } catch (error) {
      this.#failed(asking, error)
    }
  }

  /** Apart from `#claim`, which would pay for what these capture. */
  #claimedLater(asking: Asking, claimed: Promise<RunClaimed>, request: RunClaim): Promise<void> {
    return claimed.then((answer) => this.#claimed(asking, answer, request))
  }

  #follow(asking: Asking, done: Promise<void>): void {
    done.catch((error: unknown) => this.#failed(asking, error))
  }

  #nextLimit(): number {
    return this.#trials?.ask() === true ? 1 : Math.min(this.#kernel.slots.roomToClaim, CLAIM_LIMIT)
  }

  #failed(asking: Asking, error: unknown): void {
    const { host, slots, ticker, events } = this.#kernel
    const { limit, doubtful, lost, isAnswered } = asking
    // Runs that it may have claimed wait for its repetition, with their slots.
    if (!isAnswered) this.#state = { kind: 'answer unknown', limit, doubtful, lost }
    else {
      this.#newRuns.putBack(lost)
      this.#state = IDLE
      slots.endClaim()
    }
    asking.answered?.resolve()
    ticker.answerLost('a claim that failed')
    if (!host.isClosed) events.error(error)
  }

  #request(limit: number): RunClaim {
    const { host, tasks, slots } = this.#kernel
    const { ids: taskIds, versions, queueLimits, queueRates } = tasks
    return {
      by: host.owner,
      now: host.now(),
      number: this.#number,
      taskIds,
      versions,
      limit,
      queueLimits,
      queueRates: queueRates.size === 0 ? undefined : queueRates,
      maxInterruptions: this.#settings.maxInterruptions,
      suspects: slots.suspects,
      isTrial: this.#trials?.isAsked,
    }
  }

  #claimed(
    asking: Asking,
    { runs, ended, isHeldBack = false, nextStartAt, isTrialDue = false }: RunClaimed,
    claim: RunClaim,
  ): void | Promise<void> {
    this.#isHeldBack = isHeldBack || isTrialDue
    this.#trials?.answered(runs, isTrialDue)
    if (isTrialDue) this.#loadTrials()
    if (nextStartAt !== undefined || this.#nextStart !== undefined) this.#startAt(nextStartAt)
    this.#mayHaveMore ||= runs.length === claim.limit || (isHeldBack && asking.isSlotFreed)
    const { publisher, slots } = this.#kernel
    publisher.runs(ended)
    // Those that were ended instead of claimed have given back their slots.
    if (ended.length > 0) slots.retry()
    return this.#take(asking, runs, claim)
  }

  #loadTrials(): void {
    const made = (module: typeof trials): void => {
      this.#trials ??= new module.Trials(this.#kernel, this.#settings, () => this.poke())
      this.poke()
    }
    if (this.#trials === undefined)
      unawaited(
        () => TRIALS.use(made),
        (error) => this.#kernel.events.error(error),
      )
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

  #take(
    asking: Asking,
    runs: readonly RunRecord[],
    claim: Pick<RunClaim, 'by' | 'now'>,
  ): void | Promise<void> {
    return this.#claimedRuns.take(asking, { runs, by: claim.by, now: claim.now }, (unchanged) => {
      asking.isAnswered = true
      const started = this.#start(unchanged)
      if (started < unchanged.length) this.#takeLater(asking, unchanged.slice(started), claim)
      else this.#end(asking)
    })
  }

  /** Runs whose insert may have claimed them are found while no other claim is out. */
  #end(asking: Asking): void {
    const { lost } = asking
    if (lost.length === 0) {
      this.#goIdle(asking)
      return
    }
    asking.lost = NONE
    void this.#newRuns.find(lost).then(() => this.#goIdle(asking))
  }

  #goIdle(asking: Asking): void {
    this.#state = IDLE
    asking.answered?.resolve()
    this.#kernel.slots.endClaim()
    this.#trials?.started()
    // Without room, runs that could not be read for an answer that was lost would be asked for again and again.
    if (this.#mayHaveMore && this.#kernel.slots.room > 0) this.poke()
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
  #takeLater(asking: Asking, runs: readonly RunRecord[], claim: Pick<RunClaim, 'by' | 'now'>): void {
    const { host, slots } = this.#kernel
    slots.beginClaim(runs.length)
    const take = (): void => {
      unawaited(
        () => this.#take(asking, runs, claim),
        (error) => this.#failed(asking, error),
      )
    }
    host.afterTurn('claimed runs that wait for a turn', () => this.#claimedRuns.inOwnContext(take))
  }
}
