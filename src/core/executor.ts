import { AsyncResource } from 'node:async_hooks'
import type { RunRecord } from '../contract/records.ts'
import type { Awaitable, RunClaim, RunClaimed } from '../contract/storage.ts'
import { chain, isPromise } from '../primitives/awaitable.ts'
import { createDeferred, type Deferred } from '../primitives/deferred.ts'
import { itemsOf } from '../primitives/few.ts'
import { FewMap } from '../primitives/few-map.ts'
import type { AttemptEnd } from './attempt.ts'
import { readOverrides, TaskCaller } from './attempt.ts'
import type { AttemptStreams } from './attempt-ending.ts'
import { AttemptEnding } from './attempt-ending.ts'
import { AttemptTimes } from './attempt-times.ts'
import { DelayedRuns } from './delayed-runs.ts'
import { RunCanceledError, WaitpointError } from './errors.ts'
import type { Host } from './host.ts'
import type { RunJournal } from './run-journal.ts'
import { endError, hasFinished, learn, RunScope } from './run-scope.ts'
import { isFinal } from './run-status.ts'
import type { Slots } from './slots.ts'
import type { RunTools } from './task.ts'
import type { TaskRegistry } from './task-definition.ts'
import type { Ticker } from './ticker.ts'
import type { Waitpoints } from './waitpoints.ts'
import { staleAttempt } from './waitpoints.ts'

const CLAIM_LIMIT = 256
const SETTLED = Promise.resolve()

export interface ExecutorOptions {
  readonly host: Host
  readonly engine: object
  readonly tasks: TaskRegistry
  readonly maxInterruptions: number
  /** Without it nothing is claimed. */
  readonly execute: boolean
  readonly slots: Slots
  readonly waitpoints: Waitpoints
  readonly journal: RunJournal
  readonly ticker: Ticker
  readonly streams: AttemptStreams
  readonly tools: (scope: RunScope) => RunTools
  /** A run that executes here was canceled by others: the children that it waited for go with it. */
  readonly cancelChildren: (runId: string, tokenIds: readonly string[]) => Promise<void>
}

/** Claims runs and calls their functions. */
export class Executor {
  readonly #options: ExecutorOptions
  readonly #ending: AttemptEnding
  readonly #delayed: DelayedRuns
  readonly #caller = new TaskCaller((scope, end) => this.#ended(scope, end))
  readonly #scopes = new FewMap<RunScope>()
  readonly #times: AttemptTimes
  /** Runs start in the context the engine was created in, not in that of whoever triggered them. */
  readonly #ownContext = new AsyncResource('waitpoint.executor')
  readonly #claimOnce = (): void => {
    this.#isClaimSet = false
    this.#ownContext.runInAsyncScope(() => this.#claim())
  }
  /** A write of theirs was refused, and storage could not be asked why. */
  readonly #unclear = new Set<RunScope>()
  #isClaimSet = false
  #isClaiming = false
  /** For who waits for the answer to the claim under way. */
  #claimAnswered: Deferred<void> | undefined
  /** Claims so far, and for how many runs the last one was while its answer is not known. */
  #claims = 0
  #unanswered: number | undefined
  #mayHaveMore = false

  constructor(options: ExecutorOptions) {
    this.#options = options
    const { host, journal, streams, slots } = options
    this.#delayed = new DelayedRuns(host)
    this.#times = new AttemptTimes(host)
    this.#ending = new AttemptEnding({
      host,
      journal,
      streams,
      draining: (scope) => {
        this.#times.pause(scope)
        slots.drain(scope)
      },
      retrying: ({ id }, at) => this.delayed(id, at),
      stale: (scope) => this.stale(scope),
    })
  }

  /** Attempts under way here. */
  get scopes(): Pick<FewMap<RunScope>, 'get' | 'size'> {
    return this.#scopes
  }

  /** Resolves when no claim is out whose answer may be runs that, as storage sees it, execute here already. */
  async claimAnswered(): Promise<void> {
    if (!this.#isClaiming) return
    this.#claimAnswered ??= createDeferred<void>()
    await this.#claimAnswered.promise
  }

  get #attempts(): readonly RunScope[] {
    return this.#scopes.entries().map(([, scope]) => scope)
  }

  /** Claims what can run, in a microtask of its own: many triggers of one turn are one claim. */
  poke(): void {
    if (this.#isClaimSet || !this.#options.execute || this.#options.host.isClosing) return
    this.#isClaimSet = true
    SETTLED.then(this.#claimOnce, this.#claimOnce)
  }

  /** A slot is free: worth a claim when the last one may have left something, or a queue was full. */
  slotFreed(): void {
    if (this.#mayHaveMore || this.#options.tasks.queueLimits.size > 0) this.poke()
  }

  /** A run is due at `at`. */
  delayed(runId: string, at: number): void {
    if (this.#options.host.isClosed) return
    this.#options.ticker.expect(at, `run ${runId}`)
    this.#delayed.add(runId, at)
  }

  /** A run parked or resumed. */
  slotChanged(scope: RunScope, record: RunRecord): void {
    if (scope.seat.state === 'held') this.#times.start(scope)
    else this.#times.pause(scope)
    if (learn(scope, record)) this.#options.journal.run(record)
  }

  /** A write of this attempt was refused: find out why and stop it. */
  stale(scope: RunScope): void {
    if (!hasFinished(scope)) this.#findOut(scope)
  }

  /** The same for a call that made the write: answers what the call rejects with. */
  refused(scope: RunScope): Awaitable<Error> {
    if (scope.isEnded) return endError(scope)
    return chain(this.#look(scope), () => endError(scope))
  }

  /** What cannot be seen now is looked at again soon: the end of a run is told, however late. */
  #findOut(scope: RunScope): void {
    const failed = (): void => {
      this.#unclear.add(scope)
      this.#options.ticker.catchUp(`what became of ${scope.id}`)
    }
    this.#report(() => this.#look(scope), scope.id, failed)
  }

  #look(scope: RunScope): Awaitable<void> {
    return chain(this.#options.host.storage.runs.get(scope.id), (record) => {
      if (this.#options.host.isClosed) return
      // The write that was refused may be the second of one that was stored and not acknowledged: told once all the same.
      if (record?.epoch === scope.record.epoch && isFinal(record.status)) {
        if (learn(scope, record)) this.#options.journal.run(record)
        // Another refused write of the attempt may have been told sooner.
      } else if (!scope.isEnded || hasFinished(scope)) this.#stop(scope, record)
    })
  }

  /** The run is somebody else's by now, or over, or to be tried again. */
  #stop(scope: RunScope, record: RunRecord | undefined): void {
    const isCanceled = record?.status === 'CANCELED'
    if (isCanceled) learn(scope, record)
    const waited = this.#abort(scope, isCanceled ? new RunCanceledError(scope.id) : staleAttempt(scope.id))
    if (isCanceled) this.cancelChildren(scope.id, waited)
    if (record !== undefined && isFinal(record.status)) this.#options.journal.heard(record)
    if (record?.status === 'DELAYED' && record.wakeAt !== undefined) this.delayed(record.id, record.wakeAt)
  }

  /** The record of a run changed elsewhere: was it canceled, or rescheduled? */
  changedElsewhere(runId: string): void {
    const scope = this.#scopes.get(runId)
    if ((scope === undefined || scope.isEnded) && !this.#delayed.has(runId)) return
    const ask = (): Awaitable<void> =>
      chain(this.#options.host.storage.runs.get(runId), (record) => {
        if (record?.status !== 'DELAYED') this.#notDelayed(runId)
        else if (record.wakeAt !== undefined && this.#delayed.has(runId)) this.delayed(runId, record.wakeAt)
        if (record?.status === 'CANCELED') this.cancelChildren(runId, this.canceled(record))
      })
    this.#report(ask, runId)
  }

  /**
   * Whatever hints were lost: what others may have done to the runs that execute here, or that are put off. `held`: how many
   * are ours as storage sees it, if it has counted them; while these are as many as here nobody has canceled one.
   */
  recheck(held?: number): void {
    const unclear = [...this.#unclear]
    this.#unclear.clear()
    for (const scope of unclear) this.#findOut(scope)
    const scopes = this.#attempts.filter((scope) => !scope.isEnded)
    const isCertain = held === scopes.length
    const ids = isCertain ? [] : scopes.map(({ id }) => id)
    for (const id of [...ids, ...this.#delayed.ids]) this.changedElsewhere(id)
  }

  /** Nobody has to wait for the end of its delay any more. */
  #notDelayed(runId: string): void {
    if (!this.#delayed.has(runId)) return
    this.#delayed.remove(runId)
    this.#options.ticker.recheck()
  }

  /** The run was canceled: if it executes here, it is told. Answers the tokens that it waited for. */
  canceled(record: RunRecord): readonly string[] {
    this.#delayed.remove(record.id)
    const scope = this.#scopes.get(record.id)
    if (scope === undefined || scope.isEnded) return []
    learn(scope, record)
    return this.#abort(scope, new RunCanceledError(record.id))
  }

  /** Whoever canceled the run may not have seen what it had begun to wait for. */
  cancelChildren(runId: string, waited: readonly string[]): void {
    this.#report(() => this.#options.cancelChildren(runId, waited), runId)
  }

  /** Every attempt here is over; what its function still does has no effect. */
  abortAll(error: (runId: string) => Error): void {
    if (this.#options.host.isClosed) this.#delayed.clear()
    const scopes = this.#attempts
    for (const scope of scopes) this.#abort(scope, error(scope.id))
    // Only now: a slot that is given back must not go to one of them.
    for (const scope of scopes) this.#leave(scope)
  }

  #claim(): void {
    const { host, tasks, slots, maxInterruptions } = this.#options
    if (host.isClosing || tasks.ids.length === 0) return
    const limit = this.#unanswered ?? Math.min(slots.room, CLAIM_LIMIT)
    // What a claim that is out has not seen, or what there is no room for, is asked for again.
    this.#mayHaveMore ||= this.#isClaiming || limit === 0
    if (this.#isClaiming || limit === 0) return
    this.#isClaiming = true
    // What a claim that is repeated answers is not all there is.
    this.#mayHaveMore = this.#unanswered !== undefined
    if (this.#unanswered === undefined) this.#claims += 1
    this.#unanswered = limit
    slots.beginClaim(limit)
    const { ids: taskIds, queueLimits } = tasks
    const by = host.owner
    const request = {
      by,
      now: host.now(),
      number: this.#claims,
      taskIds,
      limit,
      queueLimits,
      maxInterruptions,
    }
    this.#report(
      () => chain(host.storage.runs.claim(request), (claimed) => this.#claimed(claimed, request)),
      undefined,
      () => {
        // What it may have claimed waits for its repetition; the slots stay with it.
        this.#endClaim()
        if (this.#unanswered === undefined) slots.endClaim()
        this.#options.ticker.catchUp('a claim that failed')
      },
    )
  }

  #claimed({ runs, ended }: RunClaimed, { by, limit }: RunClaim): void {
    this.#endClaim()
    this.#unanswered = undefined
    this.#mayHaveMore ||= runs.length === limit
    this.#options.journal.runs(ended)
    // Under a name that has lost its lease since, they are somebody else's by now.
    if (by === this.#options.host.owner) for (const record of runs) this.#start(record)
    this.#options.slots.endClaim()
    if (this.#mayHaveMore) this.poke()
  }

  /** Whoever waits for it goes on in a microtask, when its runs have been started. */
  #endClaim(): void {
    this.#isClaiming = false
    this.#claimAnswered?.resolve()
    this.#claimAnswered = undefined
  }

  #start(record: RunRecord): void {
    const { engine, tasks, slots, journal, host } = this.#options
    if (host.isClosing) return
    const definition = tasks.require(record.taskId)
    const scope = new RunScope(engine, definition, record)
    this.#scopes.set(record.id, scope)
    slots.take(scope)
    journal.run(record)
    this.#limit(scope)
    this.#caller.call(scope, this.#options.tools(scope))
  }

  /** Stores what came of a call; the scope ends with it, also when that cannot be stored. */
  #ended(scope: RunScope, end: AttemptEnd): void {
    // Storing what came of it may take its time.
    this.#times.pause(scope)
    const settle = (): void => this.#report(() => this.#settled(scope), scope.id)
    const fail = (error: unknown): void => {
      this.#failed(error, scope.id)
      settle()
    }
    try {
      const stored = this.#ending.end(scope, end)
      if (isPromise(stored)) stored.then(settle, fail)
      else settle()
    } catch (error) {
      fail(error)
    }
  }

  /** The function has settled and its end is stored, or it no longer matters. */
  #settled(scope: RunScope): Awaitable<void> {
    this.#options.waitpoints.leave(scope)
    scope.finish()
    return chain(this.#options.streams.stop(scope), () => {
      const isCurrent = this.#scopes.get(scope.id) === scope
      this.#leave(scope)
      if (isCurrent && scope.record.status === 'CANCELED') return this.#giveSlotBack(scope)
    })
  }

  /** A canceled run keeps its slot, for a while, until its function has settled. */
  #giveSlotBack({ id }: RunScope): Awaitable<void> {
    const { host } = this.#options
    if (host.isClosed) return
    const expected = { status: ['CANCELED'] as const }
    const change = { slot: false, slotUntil: undefined }
    const updated = host.storage.runs.update({ id, expected, change, by: host.owner, now: host.now() })
    return chain(updated, () => {
      this.#options.slots.retry()
      this.poke()
    })
  }

  #leave(scope: RunScope): void {
    if (this.#scopes.get(scope.id) === scope) this.#scopes.delete(scope.id)
    this.#times.end(scope)
    this.#options.slots.release(scope)
  }

  /**
   * The attempt is over while its function still runs: it has 5 s to settle before its slot is given away. Answers the
   * tokens that it waited for.
   */
  #abort(scope: RunScope, error: Error): readonly string[] {
    if (scope.isEnded) return []
    const waited = itemsOf(scope.waits).map(({ tokenId }) => tokenId)
    const { waitpoints, streams } = this.#options
    waitpoints.leave(scope)
    scope.abort(error)
    this.#times.abort(scope, () => this.#leave(scope))
    this.#report(() => streams.stop(scope), scope.id)
    return waited
  }

  #limit(scope: RunScope): void {
    const ms = readOverrides(scope).maxDurationMs ?? scope.definition.maxDurationMs
    if (ms === undefined) return
    this.#times.limit(scope, ms, () => {
      const message = `Cannot go on with run "${scope.id}": it executed for longer than its maxDuration of ${ms} ms`
      const error = new WaitpointError('ERR_RUN_TIMED_OUT', message)
      this.#report(
        () => chain(this.#ending.timedOut(scope, error), () => this.#abort(scope, error)),
        scope.id,
      )
    })
  }

  /** Does something nobody awaits: what goes wrong is an `error` event. */
  #report(action: () => Awaitable<unknown>, runId: string | undefined, failed?: () => void): void {
    const fail = (error: unknown): void => {
      failed?.()
      this.#failed(error, runId)
    }
    try {
      const done = action()
      if (isPromise(done)) done.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  #failed(error: unknown, runId: string | undefined): void {
    if (!this.#options.host.isClosed) this.#options.journal.events.error(error, runId)
  }
}
