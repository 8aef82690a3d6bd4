import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, isPromise, unawaited } from '../../primitives/awaitable.ts'
import { itemsOf, FewMap } from '../../primitives/few.ts'
import type { AttemptEnd } from './task-call.ts'
import { readOverrides, TaskCaller } from './task-call.ts'
import { AttemptEnding } from './attempt-ending.ts'
import { AttemptTimes } from './attempt-times.ts'
import { Claimer, type ClaimerOptions } from './claimer.ts'
import { DelayedRuns } from './delayed-runs.ts'
import { RunCanceledError, WaitpointError } from '../../api/errors.ts'
import { endError, hasFinished, learn, RunScope } from '../attempt/attempt.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { RunTools } from '../../api/task.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'
import { staleAttempt } from '../waits/waitpoints.ts'
import type { AttemptStreams } from '../streams/registry.ts'

export interface ExecutorOptions extends ClaimerOptions {
  readonly engine: object
  readonly waitpoints: Waitpoints
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
  readonly #claimer: Claimer
  /** A write of theirs was refused, and storage could not be asked why. */
  readonly #unclear = new Set<RunScope>()

  constructor(options: ExecutorOptions) {
    this.#options = options
    const { host, journal, streams, slots } = options
    this.#delayed = new DelayedRuns(host)
    this.#times = new AttemptTimes(host)
    this.#claimer = new Claimer(options, {
      start: (record) => this.#start(record),
      canceled: (record) => this.#report(() => this.#giveSlotBack(record), record.id),
    })
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
  claimAnswered(): Promise<void> {
    return this.#claimer.answered()
  }

  get #attempts(): readonly RunScope[] {
    return this.#scopes.entries().map(([, scope]) => scope)
  }

  /** There may be something to execute. */
  poke(): void {
    this.#claimer.poke()
  }

  /** There may be room for something to execute. */
  slotFreed(): void {
    this.#claimer.slotFreed()
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

  /** What changed elsewhere was not told: a look at everything follows, but not at what is being claimed. */
  lost(): void {
    this.#claimer.lost()
  }

  /** The record of a run changed elsewhere: was it canceled, or rescheduled? */
  changedElsewhere(runId: string): void {
    const scope = this.#scopes.get(runId)
    if (scope === undefined || scope.isEnded) {
      this.#claimer.changed(runId)
      if (!this.#delayed.has(runId)) return
    }
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
    if (scope === undefined || scope.isEnded) {
      this.#claimer.changed(record.id)
      return []
    }
    learn(scope, record)
    return this.#abort(scope, new RunCanceledError(record.id))
  }

  /** Whoever canceled the run may not have seen what it had begun to wait for. An engine that closes does nothing more. */
  cancelChildren(runId: string, waited: readonly string[]): void {
    if (this.#options.host.isClosing) return
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
      if (isCurrent && scope.record.status === 'CANCELED') return this.#giveSlotBack(scope.record)
    })
  }

  /** A canceled run keeps its slot, for a while, until its function has settled. */
  #giveSlotBack({ id, epoch }: RunRecord): Awaitable<void> {
    const { host } = this.#options
    if (host.isClosed) return
    const expected = { status: ['CANCELED'] as const, epoch }
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
    unawaited(action, fail)
  }

  #failed(error: unknown, runId: string | undefined): void {
    if (!this.#options.host.isClosed) this.#options.journal.events.error(error, runId)
  }
}
