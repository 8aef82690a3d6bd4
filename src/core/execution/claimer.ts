import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../../contract/records.ts'
import type { RunClaim, RunClaimed, RunUpdated } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { Host } from '../host/host.ts'
import type { TaskRegistry } from '../attempt/task-definition.ts'

const CLAIM_LIMIT = 256
/** While claimed runs start, the clock is asked after so many of them whether the event loop is due a turn. */
const LOOK_EVERY = 16
const SETTLED = Promise.resolve()

/** The parts of an engine that its claims concern. */
export interface ClaimKernel {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly events: { error(error: unknown): void }
  readonly publisher: { runs(updates: readonly RunUpdated[]): void }
  readonly ticker: { answerLost(what: string): void }
  readonly slots: { readonly room: number; beginClaim(count: number): void; endClaim(): void }
  readonly executor: { start(record: RunRecord): void; claimedCanceled(record: RunRecord): void }
}

export interface ClaimSettings {
  readonly maxInterruptions: number
  /** An engine that does not hear of storage for so long has lost its runs to others. */
  readonly leaseMs: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
}

/** Runs that something happened to while the answer to a claim was not known: these, any, or none. */
type Doubtful = Set<string> | 'any' | undefined

/** A claim is out. */
interface Asking {
  readonly kind: 'asking'
  readonly limit: number
  doubtful: Doubtful
  /** For callers that wait for the answer. */
  answered: Deferred<void> | undefined
  /** Its runs are being started. */
  isAnswered: boolean
  /** A slot was given back meanwhile. */
  isSlotFreed: boolean
}

/** The answer was lost: the claim is asked again under its number, for as many runs. */
interface AnswerUnknown {
  readonly kind: 'answer unknown'
  readonly limit: number
  doubtful: Doubtful
}

type ClaimState = { readonly kind: 'idle' } | Asking | AnswerUnknown

const IDLE: ClaimState = { kind: 'idle' }

/** Asks storage for runs to execute, as many as there are slots for. */
export class Claimer {
  readonly #kernel: ClaimKernel
  readonly #settings: ClaimSettings
  /** Runs start in the context the engine was created in, not in that of the call that triggered them. */
  readonly #ownContext = new AsyncResource('waitpoint.executor')
  readonly #claimOnce = (): void => {
    const { host } = this.#kernel
    if (host.isTurnDue) {
      host.afterTurn('a claim of runs', this.#claimOnce)
      return
    }
    this.#isPoked = false
    this.#ownContext.runInAsyncScope(() => this.#claim())
  }
  #state: ClaimState = IDLE
  /** A claim comes in this turn's next microtask. */
  #isPoked = false
  /** There was more than the last claim took, or than there was room for. */
  #mayHaveMore = false
  /** The last claim has left runs, because their queue was full. */
  #isHeldBack = false
  /** The number of the last claim. */
  #number = 0

  constructor(kernel: ClaimKernel, settings: ClaimSettings) {
    this.#kernel = kernel
    this.#settings = settings
  }

  /** Whether this engine executes runs at all. */
  get executes(): boolean {
    return this.#settings.execute
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

  /** A slot is free: worth a claim when the last one may have left something, or a queue was full. */
  slotFreed(): void {
    if (this.#mayHaveMore || this.#isHeldBack || this.#kernel.tasks.queueLimits.size > 0) this.poke()
    else if (this.#state.kind === 'asking') this.#state.isSlotFreed = true
  }

  /** Resolves when no claim is out whose answer may be runs that, as storage sees it, execute here already. */
  async answered(): Promise<void> {
    const state = this.#state
    if (state.kind !== 'asking') return
    state.answered ??= createDeferred<void>()
    await state.answered.promise
  }

  /** A run that does not execute here was canceled, or changed otherwise: a claim that is out may have had it before. */
  changed(runId: string): void {
    const state = this.#state
    if (state.kind === 'idle' || state.doubtful === 'any') return
    if (state.doubtful === undefined) state.doubtful = new Set([runId])
    else state.doubtful.add(runId)
  }

  /** Hints were lost: something may have happened to any run. */
  hintsLost(): void {
    if (this.#state.kind !== 'idle') this.#state.doubtful = 'any'
  }

  #claim(): void {
    const { host, tasks, slots } = this.#kernel
    if (host.isClosing || tasks.ids.length === 0) return
    const before = this.#state
    const limit = before.kind === 'idle' ? Math.min(slots.room, CLAIM_LIMIT) : before.limit
    if (before.kind === 'asking' || limit === 0) {
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
      answered: undefined,
      isAnswered: false,
      isSlotFreed: false,
    }
    this.#state = asking
    slots.beginClaim(limit)
    const request = this.#request(limit)
    unawaited(
      () => chain(host.storage.runs.claim(request), (claimed) => this.#claimed(asking, claimed, request)),
      (error) => this.#failed(asking, error),
    )
  }

  #failed(asking: Asking, error: unknown): void {
    const { host, slots, ticker, events } = this.#kernel
    const { limit, doubtful, isAnswered } = asking
    // Runs that it may have claimed wait for its repetition, with their slots.
    if (!isAnswered) this.#state = { kind: 'answer unknown', limit, doubtful }
    else {
      this.#state = IDLE
      slots.endClaim()
    }
    asking.answered?.resolve()
    ticker.answerLost('a claim that failed')
    if (!host.isClosed) events.error(error)
  }

  #request(limit: number): RunClaim {
    const { host, tasks } = this.#kernel
    const { ids: taskIds, versions, queueLimits } = tasks
    return {
      by: host.owner,
      now: host.now(),
      number: this.#number,
      taskIds,
      versions,
      limit,
      queueLimits,
      maxInterruptions: this.#settings.maxInterruptions,
    }
  }

  #claimed(
    asking: Asking,
    { runs, ended, isHeldBack = false }: RunClaimed,
    claim: RunClaim,
  ): void | Promise<void> {
    this.#isHeldBack = isHeldBack
    this.#mayHaveMore ||= runs.length === claim.limit || (isHeldBack && asking.isSlotFreed)
    this.#kernel.publisher.runs(ended)
    return this.#take(asking, runs, claim)
  }

  /** Starts runs that nothing has happened to since `now`; those that something may have happened to are looked at first. */
  #take(
    asking: Asking,
    runs: readonly RunRecord[],
    { by, now }: Pick<RunClaim, 'by' | 'now'>,
  ): void | Promise<void> {
    const { host, slots } = this.#kernel
    // Under a name that has lost its lease since, they belong to another engine by now.
    const areOurs = by === host.owner && !host.isClosed
    const isLate = host.now() - now > this.#settings.leaseMs / 3
    const doubtful = areOurs ? runsAmong(runs, isLate ? 'any' : asking.doubtful) : []
    if (doubtful.length > 0) {
      const lookedAt = host.now()
      return this.#look(asking, doubtful).then((gone) => {
        const rest = runs.filter((record) => !gone.has(record))
        return this.#take(asking, rest, { by, now: lookedAt })
      })
    }
    asking.isAnswered = true
    const started = areOurs ? this.#start(runs) : runs.length
    if (started < runs.length) {
      this.#takeLater(asking, runs.slice(started), { by, now })
      return
    }
    this.#state = IDLE
    asking.answered?.resolve()
    slots.endClaim()
    if (this.#mayHaveMore) this.poke()
  }

  /** Starts runs until the event loop is due a turn; answers how many. */
  #start(runs: readonly RunRecord[]): number {
    const { host, executor } = this.#kernel
    let started = 0
    for (const record of runs) {
      if (started > 0 && started % LOOK_EVERY === 0 && host.isTurnDue) break
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
    host.afterTurn('claimed runs that wait for a turn', () => this.#ownContext.runInAsyncScope(take))
  }

  /** The runs that are not as they were handed over any more. */
  async #look(asking: Asking, runs: readonly RunRecord[]): Promise<ReadonlySet<RunRecord>> {
    asking.doubtful = undefined
    const { host, executor } = this.#kernel
    const found = await Promise.all(runs.map(async ({ id }) => host.storage.runs.get(id)))
    for (const [at, { epoch }] of runs.entries()) {
      const record = found[at]
      if (record?.status === 'CANCELED' && record.epoch === epoch + 1) executor.claimedCanceled(record)
    }
    return new Set(runs.filter((record, at) => !isSame(record, found[at])))
  }
}

const NONE: readonly RunRecord[] = []

function runsAmong(runs: readonly RunRecord[], doubtful: Doubtful): readonly RunRecord[] {
  if (doubtful === undefined) return NONE
  return doubtful === 'any' ? runs : runs.filter(({ id }) => doubtful.has(id))
}

function isSame(record: RunRecord, found: RunRecord | undefined): boolean {
  return found?.epoch === record.epoch && found.status === record.status
}
