import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { itemsOf, FewMap } from '../../primitives/few.ts'
import type { AttemptEndMessage } from '../../api/diagnostics.ts'
import { RunCanceledError, WaitpointError } from '../../api/errors.ts'
import type { AttemptKernel } from '../attempt/attempt.ts'
import { assertOpen, Attempt, learn } from '../attempt/attempt.ts'
import { AnswerOrder } from '../attempt/answer-order.ts'
import { Recall } from '../attempt/recall.ts'
import { toldBefore } from '../../contract/told-answers.ts'
import { fits, type TaskRegistry } from '../../api/task-definition.ts'
import { ATTEMPT } from '../diagnostics.ts'
import type { Host } from '../host/host.ts'
import type { Portions } from '../host/portions.ts'
import { storedAttempts } from '../../api/thrown-attempts.ts'
import type { Values } from '../../api/values.ts'
import type { Outage } from '../host/outage.ts'
import type { EventQueue } from '../changes/events.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Slots } from '../slots/slots.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'
import type { Upcalls } from '../upcalls.ts'
import { AttemptEnding } from './attempt-ending.ts'
import type { Compensations } from './compensations.ts'
import type { DelayedRuns } from './delayed-runs.ts'
import { tellEnd } from '../host/attempt-messages.ts'
import type { AttemptEnd } from './task-call.ts'
import { VersionMismatchError } from './pending-versions.ts'
import { AttemptTools, maxDurationOf, TaskCaller } from './task-call.ts'

interface Parts extends AttemptKernel {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly values: Values
  readonly portions: Portions
  readonly outage: Outage
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly slots: Slots
  readonly waitpoints: Waitpoints
  readonly delayed: DelayedRuns
  readonly compensations: Compensations
  readonly upcalls: Upcalls
}

/** The life of attempts: the call of the function, the end that is stored, and ends that come from outside. */
export class Executor {
  readonly #kernel: Parts
  readonly #ending: AttemptEnding
  readonly #caller: TaskCaller
  readonly #attempts = new FewMap<Attempt>()
  /** Runs that are being given up, and their epochs: storage may say that they execute here. */
  readonly #givingUp = new Map<string, number>()
  /** While a muster is out, the runs that have left since it was asked, and their epochs. */
  #left: Map<string, number> | undefined

  constructor(kernel: Parts) {
    this.#kernel = kernel
    this.#ending = new AttemptEnding(kernel)
    this.#caller = new TaskCaller(
      kernel,
      (attempt, end) => this.#ended(attempt, end),
      (attempt) => this.#recall(attempt),
    )
  }

  /** Attempts under way here, by the id of their run. */
  get attempts(): Pick<FewMap<Attempt>, 'get' | 'size' | 'entries'> {
    return this.#attempts
  }

  /** Storage is asked which runs execute here: those that leave meanwhile may be among them. */
  beginMuster(): void {
    this.#left = new Map()
  }

  endMuster(): void {
    this.#left = undefined
  }

  /** Whether a run that storage says executes here does, or did so when it was asked. */
  knows({ id, epoch }: RunRecord): boolean {
    const known = [this.#attempts.get(id)?.record.epoch, this.#left?.get(id), this.#givingUp.get(id)]
    return known.some((one = -1) => one >= epoch)
  }

  /** Calls the function of a run that was claimed. */
  start(record: RunRecord): void {
    const { tasks, slots, publisher, host } = this.#kernel
    if (host.isClosing) {
      this.#leaveToOthers(record)
      return
    }
    const attempt = new Attempt(this.#kernel, tasks.codeFor(record), record)
    this.#attempts.set(record.id, attempt)
    slots.take(attempt)
    publisher.run(record)
    const limitMs = maxDurationOf(attempt)
    if (limitMs !== undefined) attempt.limitTo(limitMs)
    this.#caller.call(attempt, new AttemptTools(attempt))
  }

  /** A run that was claimed does not begin here: an engine that closes may take long until it leaves its runs to others. */
  #leaveToOthers({ id, epoch }: RunRecord): void {
    const { host } = this.#kernel
    if (host.isClosed) return
    const expected = { status: ['EXECUTING'] as const, epoch }
    const change = { status: 'EXECUTING', owner: undefined } as const
    this.#kernel.events.report(
      () => host.storage.runs.update({ id, expected, change, by: host.owner, now: host.now() }),
      id,
    )
  }

  /** A run that was claimed was canceled before it started: it still has a slot in the storage. */
  claimedCanceled(record: RunRecord): void {
    // An earlier attempt of it may have begun. The engine that canceled it leaves `onCancel` to the one that has claimed it.
    if (record.attempt > 1) this.#kernel.compensations.begin(record)
    this.#kernel.events.report(() => this.#giveSlotBack(record), record.id)
  }

  /** Reads what earlier executions of the attempt have asked, before the function is called again. */
  async #recall(attempt: Attempt): Promise<void> {
    const { host } = this.#kernel
    const { id, record, definition } = attempt
    const asked = await this.#kernel.outage.persist(attempt, () => host.storage.runs.asked(id))
    assertOpen(attempt)
    const { policyAttempt, version } = record
    const since = storedAttempts(record.attemptsJson).at(-1)?.endedAt ?? 0
    const recall = new Recall(asked, { policyAttempt, version, since })
    // Also without unnamed questions: the answers to all other waits keep their order, too.
    attempt.recall = recall
    attempt.answers = new AnswerOrder(toldBefore(asked, policyAttempt))
    if (recall.size === 0 || fits(definition, version)) {
      // What this code asks from now on, only this code knows.
      if (version !== undefined && version !== definition.version) await this.#ending.adopt(attempt)
      assertOpen(attempt)
      return
    }
    const error = new VersionMismatchError(id, { begunOn: version ?? '', version: definition.version })
    this.standStill(attempt, error)
    throw error
  }

  /** Ends an attempt whose code does not fit what the run has asked before: the run waits for code that does. */
  standStill(attempt: Attempt, error: Error): void {
    if (attempt.isEnded) return
    this.abort(attempt, error)
    this.#kernel.events.error(error, attempt.id)
    this.#giveUp(attempt, () => this.#ending.standStill(attempt, error))
  }

  /** Ends an attempt that has waited for its storage for too long: the run is executed again when that is back. */
  interrupt(attempt: Attempt, error: Error): void {
    if (attempt.isEnded) return
    const isExecuted = !attempt.is('compensating')
    this.abort(attempt, error)
    if (isExecuted) this.#giveUp(attempt, () => this.#ending.handBack(attempt))
  }

  /** Stores that a run does not execute here any more: its slot may be another one's, also if its function has settled before. */
  #giveUp(attempt: Attempt, store: () => Awaitable<unknown>): void {
    const { id, record } = attempt
    this.#givingUp.set(id, record.epoch)
    const stored = (): void => {
      if (this.#givingUp.get(id) === record.epoch) this.#givingUp.delete(id)
      this.#kernel.slots.retry()
    }
    this.#kernel.events.report(() => chain(store(), stored), id)
  }

  /** Stores the end of a call; the attempt ends with it, also when that cannot be stored. */
  #ended(attempt: Attempt, end: AttemptEnd): void {
    if (ATTEMPT.hasSubscribers && !attempt.isEnded) tellEnd(attempt, this.#kernel.host, endOf(end))
    attempt.endLimit()
    const settle = (): void => this.#kernel.events.report(() => this.#settled(attempt), attempt.id)
    const fail = (error: unknown): void => {
      this.#kernel.events.error(error, attempt.id)
      settle()
    }
    try {
      const stored = this.#ending.end(attempt, end)
      if (isPromise(stored)) stored.then(settle, fail)
      else settle()
    } catch (error) {
      fail(error)
    }
  }

  /** The function has settled and its end is stored, or it no longer matters. */
  #settled(attempt: Attempt): Awaitable<void> {
    this.#kernel.waitpoints.leave(attempt)
    attempt.finish()
    return chain(attempt.streams?.stop(), () => {
      const isCurrent = this.#attempts.get(attempt.id) === attempt
      this.leave(attempt)
      if (isCurrent && attempt.record.status === 'CANCELED') return this.#giveSlotBack(attempt.record)
    })
  }

  /** A canceled run keeps its slot, for a while, until its function has settled. */
  #giveSlotBack({ id, epoch }: RunRecord): Awaitable<void> {
    const { host, slots, upcalls } = this.#kernel
    if (host.isClosed) return
    const expected = { status: ['CANCELED'] as const, epoch }
    const change = { slot: false, slotUntil: undefined }
    const updated = host.storage.runs.update({ id, expected, change, by: host.owner, now: host.now() })
    return chain(updated, () => {
      slots.retry()
      upcalls.claimable()
    })
  }

  /** The attempt is gone: its slot goes to another run. Also when an aborted one has not settled within 5 s. */
  leave(attempt: Attempt): void {
    if (this.#attempts.get(attempt.id) === attempt) {
      this.#attempts.delete(attempt.id)
      this.#left?.set(attempt.id, attempt.record.epoch)
    }
    attempt.stopTimers()
    this.#kernel.slots.release(attempt)
    this.#kernel.compensations.left(attempt)
  }

  /** Ends an attempt while its function still runs. Answers the tokens that it waited for. */
  abort(attempt: Attempt, error: Error): readonly string[] {
    if (attempt.isEnded) return []
    const waited = itemsOf(attempt.waits).map(({ tokenId }) => tokenId)
    this.#kernel.waitpoints.leave(attempt)
    if (ATTEMPT.hasSubscribers && !attempt.is('draining'))
      tellEnd(attempt, this.#kernel.host, { outcome: 'aborted', error })
    attempt.abort(error)
    this.#kernel.events.report(() => attempt.streams?.stop(), attempt.id)
    return waited
  }

  /**
   * Ends the attempt of a run that was canceled, and begins `onCancel`, also if the function has settled meanwhile. Answers
   * the tokens that it waited for.
   */
  cancel(attempt: Attempt, record: RunRecord): readonly string[] {
    // Else it had lost the run by then.
    const isCalled = record.epoch === attempt.record.epoch + 1
    const isNew = learn(attempt, record)
    const waited = this.abort(attempt, new RunCanceledError(attempt.id))
    if (isNew && isCalled) this.#kernel.compensations.begin(record, attempt)
    return waited
  }

  /** Every attempt here that is meant is over; later calls of its function have no effect. */
  abortAll(error: (runId: string) => Error, isMeant: (attempt: Attempt) => boolean = () => true): void {
    const { host, delayed } = this.#kernel
    if (host.isClosed) delayed.clear()
    const attempts = this.#attempts
      .entries()
      .map(([, attempt]) => attempt)
      .filter(isMeant)
    for (const attempt of attempts) this.abort(attempt, error(attempt.id))
    // Only now: a slot that is given back must not go to one of them.
    for (const attempt of attempts) this.leave(attempt)
  }

  /** The attempt has executed for as long as it may. */
  timedOut(attempt: Attempt): void {
    const seconds = (maxDurationOf(attempt) ?? 0) / 1_000
    const message = `Cannot go on with run "${attempt.id}": it executed for longer than its maxDuration of ${seconds} s`
    const error = new WaitpointError('ERR_RUN_TIMED_OUT', message)
    const stored = (): Awaitable<unknown> =>
      chain(this.#ending.timedOut(attempt, error), () => this.abort(attempt, error))
    this.#kernel.events.report(stored, attempt.id)
  }
}

function endOf(end: AttemptEnd): Pick<AttemptEndMessage, 'outcome' | 'error'> {
  return { outcome: end.kind, error: end.kind === 'threw' ? end.error : undefined }
}
