import type { AccessGrant, AccessTokenOptions } from '../../api/access.ts'
import { AsyncLocalStorage } from 'node:async_hooks'
import type { CancelTimer, Clock, ReleaseHold } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { AttemptFence, Awaitable } from '../../contract/storage.ts'
import { isPromise, mayBeLeft } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { countOf, type Few, itemsOf } from '../../primitives/few.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { EngineRunsNamespace } from '../../api/run.ts'
import type { EngineWaitNamespace } from '../../api/token.ts'
import type { PollsAs } from '../../api/shown-run.ts'
import type { QueueHandle, RetrievedQueue } from '../../api/queue.ts'
import type { SchedulesNamespace } from '../../api/schedule.ts'
import type { MetadataNamespace } from '../../api/stream.ts'
import type { InputCalls } from '../../api/input-calls.ts'
import type { Namespaces } from '../../api/task.ts'
import type { LogEntry } from './log-entry.ts'
import { AnswerOrder, type GivenAnswer } from './answer-order.ts'
import type { EffectChunks } from './effect-chunks.ts'
import { ExecutionLimit } from './execution-limit.ts'
import { EffectPlace, enterCall, Place } from './places.ts'
import type { Recall } from './recall.ts'
import type { TaskDefinition } from '../../api/task-definition.ts'

/** How long the function of an aborted attempt may take to settle before its slot is given away. */
export const GRACE_MS = 5_000

/** The result of a wait, and the output or the error that unwrapping it gives. */
export type Settlement<Result, Output> =
  { readonly result: Result; readonly output: Output } | { readonly result: Result; readonly error: Error }

/** How a wait ended: its token was settled, the settled token could not be read, or its signal dropped it. */
export type WaitOutcome =
  | { readonly kind: 'settled'; readonly settlement: Settlement<unknown, unknown>; readonly at: number }
  | { readonly kind: 'unreadable'; readonly error: unknown }
  | { readonly kind: 'dropped'; readonly reason: unknown }

/** One wait of an attempt. */
export interface AttemptWait {
  readonly attempt: Attempt
  /** Empty until it is known. */
  readonly tokenId: string
  /** Storage has said that it registered the wait. */
  readonly isStored: boolean
  readonly isSettled: boolean
  /** So many answers had been handed over to the attempt when it began. */
  readonly since: number
  resolve(settlement: Settlement<unknown, unknown>): void
  reject(error: unknown): void
}

/** The streams that an attempt writes. */
export interface AttemptStreams {
  readonly keys: readonly string[]
  /** A source is being read that goes on by itself. */
  readonly isWorking: boolean
  /** Resolves when every source has ended, or was stopped after 60 s; see docs/streams.md. */
  drain(): Promise<void>
  /** Stops every source at once. */
  stop(): Awaitable<void>
}

/** The values of metadata, by key: a map, in which `__proto__` is a key like any other. */
export type MetadataValues = ReadonlyMap<string, unknown>

/** The metadata of an attempt, as they change. */
export interface SeenMetadata {
  /** Those of now. */
  readonly values: MetadataValues
  /** How many changes were made. */
  readonly changes: number
}

/** New metadata of a run, which nothing else changes, and their text. */
export interface ReplacedMetadata {
  readonly values: Map<string, unknown>
  readonly json: string
}

/** The namespaces of one engine, as its tasks and the module's functions use them. */
export interface EngineNamespaces extends Namespaces {
  readonly metadata: MetadataNamespace & {
    /** Those of the attempt that the caller is in. */
    seen(): SeenMetadata
    /** Changes all of it at once. */
    replace(metadata: ReplacedMetadata): void
  }
  readonly runs: EngineRunsNamespace & PollsAs
  readonly wait: EngineWaitNamespace
  readonly schedules: SchedulesNamespace
  queue(name: string): QueueHandle
  queues(): Promise<readonly RetrievedQueue[]>
  once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result>
  readonly inputs: InputCalls
  log(entry: LogEntry): void
  createAccessToken(grant: AccessGrant, options?: AccessTokenOptions): Promise<string>
  /** Those whose values are as they are stored. Absent where these do without a codec. */
  readonly stored?: EngineNamespaces
}

/** The parts of an engine that its attempts use. The kernel is also the identity of the engine. */
export interface AttemptKernel {
  readonly namespaces: EngineNamespaces
  /** The namespaces that a task is handed: they end with the attempt. */
  readonly tools: Namespaces
  readonly host: { readonly clock: Clock }
  readonly waitpoints: { handOver(wait: AttemptWait, outcome: WaitOutcome): void }
  readonly slots: {
    resume(attempt: Attempt): void
    parkAfterTurn(attempt: Attempt): void
    answerAfterTurn(attempt: Attempt): void
  }
  readonly effects: { areOf(attempt: Attempt): boolean }
  readonly events: { error(error: unknown, runId: string): void }
  readonly logs: { write(entry: LogEntry, attempt: Attempt): void }
  readonly outage: { isResting(attempt: Attempt): boolean }
  readonly executor: {
    readonly attempts: { get(runId: string): Attempt | undefined }
    timedOut(attempt: Attempt): void
    leave(attempt: Attempt): void
  }
}

/**
 * - `executing`: the function is called, with a slot. `parking`: storage is asked to park the run.
 * - `parked`: the run waits, without a slot. `queued`: it may go on, but all slots are taken.
 * - `resuming`: storage is asked to resume the run, which has a slot again.
 * - `draining`: the function has returned, its streams go on without a slot.
 * - `compensating`: no call of the function, but that of `onCancel` for a run that was canceled. It holds no slot and never waits.
 * - `aborted`: ended from outside; its function has not settled. It keeps its slot until then, for 5 s at most.
 * - `ended`: the attempt is over, and its function has settled.
 */
export type AttemptState =
  | 'executing'
  | 'parking'
  | 'parked'
  | 'queued'
  | 'resuming'
  | 'draining'
  | 'compensating'
  | 'aborted'
  | 'ended'

/** The state of an attempt, as the clock is told. */
type Occupation = 'executing' | 'draining' | 'parked'

interface Delivery {
  readonly wait: AttemptWait
  readonly outcome: WaitOutcome
}

const NONE: readonly string[] = []

/**
 * One attempt of a run, from the claim to its end. Its fields are counted: they are held for as long as the run waits.
 */
export class Attempt {
  readonly kernel: AttemptKernel
  readonly definition: TaskDefinition
  record: RunRecord
  /** When it was claimed. */
  readonly startedAt: number
  /** The waits that are under way. */
  waits: Few<AttemptWait> = undefined
  /** Waits that are in the storage and not over: while there is none the run has no reason to park. */
  registeredWaits = 0
  /** The questions of earlier executions, while the attempt is executed again. */
  recall: Recall | undefined = undefined
  /** So many answers were handed over. */
  handed = 0
  /** So many calls were made of the storage. */
  calls = 0
  /** So many answers to its calls wait for a turn of the event loop: until then it does not park. */
  heldAnswers = 0
  /** So many of its writes are out: until they are answered it does not park. */
  writesOut = 0
  /** So many waits are open that it does not park for. */
  awake = 0
  /** Calls that were refused since it ended. */
  refusals = 0
  /** The order of its answers, from the first one on. */
  answers: AnswerOrder | undefined = undefined
  /** The names of its waits so far. */
  names: Set<string> | undefined = undefined
  /** Something was delivered since the last turn: the run may not park before another one has passed. */
  hasGoneOn = false
  /** There are some from the first key on until they are closed. */
  streams: AttemptStreams | undefined = undefined
  /** Metadata that storage has not acknowledged: every write of the attempt takes it along. */
  unsavedMetadata: { readonly json: string } | undefined = undefined
  /** The payload that the function was called with. */
  payload: unknown
  /** Why it was ended from outside. */
  aborted: Error | undefined
  #state: AttemptState = 'executing'
  #holdsSlot = true
  #occupation: Occupation = 'executing'
  #release: ReleaseHold | undefined
  #deliveries: Delivery[] | undefined
  /** Calls that wait until it has its slot again. */
  #held: (() => void)[] | undefined
  /** Tokens whose waits were delivered and that storage still lists as ready. */
  #delivered: string[] | undefined
  #controller: AbortController | undefined
  #limit: ExecutionLimit | undefined
  #hasSettled = false
  /** How long it has waited without a slot; while it does, less the instant since when. */
  #waitedMs = 0
  #cancelGrace: CancelTimer | undefined

  constructor(kernel: AttemptKernel, definition: TaskDefinition, record: RunRecord) {
    this.kernel = kernel
    this.definition = definition
    this.record = record
    this.startedAt = record.updatedAt
  }

  get id(): string {
    return this.record.id
  }

  get clock(): Clock {
    return this.kernel.host.clock
  }

  /** Calls `body` inside the attempt, where its flow begins. */
  inside<Result>(body: () => Result): Result {
    return runInAttempt(this, body)
  }

  /** Made when first asked for: most attempts never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.aborted !== undefined) this.#controller.abort(this.aborted)
    }
    return this.#controller.signal
  }

  get state(): AttemptState {
    return this.#state
  }

  /** A call instead of a comparison: storage may change the state within the caller's own call. */
  is(state: AttemptState): boolean {
    return this.#state === state
  }

  /** No call of the attempt has an effect any more, though its function may go on. */
  get isEnded(): boolean {
    return this.#state === 'ended' || this.#state === 'aborted'
  }

  /** Its function has settled, or the attempt has ended: what it has called may be left. */
  get isLeft(): boolean {
    return this.#hasSettled || this.isEnded
  }

  /** Its function has settled: code that it has left behind is outside of the run. */
  get isOver(): boolean {
    return this.#state === 'ended'
  }

  get holdsSlot(): boolean {
    return this.#holdsSlot
  }

  /** Storage is asked to park the run. */
  park(): void {
    this.#move('parking', 'executing')
  }

  /** Whether the run waits, without a slot or about to give it back. */
  get isParked(): boolean {
    return this.#state === 'parking' || this.#state === 'parked' || this.#state === 'queued'
  }

  /** Parked, or about to be, or not resumed yet: its calls that write wait for its slot. */
  get isAway(): boolean {
    return this.#state === 'resuming' || this.isParked
  }

  /** Storage has parked the run: the slot is free. */
  parked(): void {
    this.#move('parked', 'parking')
    this.#holdsSlot = false
    this.#waitedMs -= this.clock.now()
    this.#limit?.pause()
    this.hold('parked')
  }

  /** The run could go on, but found no slot. */
  queue(): void {
    this.#move('queued', 'parked', 'resuming')
    this.#holdsSlot = false
  }

  /** Storage is asked to resume the run, for which a slot is kept. */
  resume(): void {
    this.#move('resuming', 'parked', 'queued')
    this.#holdsSlot = true
  }

  /** Storage has resumed the run. */
  resumed(): void {
    this.#move('executing', 'resuming')
    this.#waitedMs += this.clock.now()
    this.#limit?.start()
    this.hold('executing')
  }

  /** The run does more than wait: it has a source that goes on, or an effect of `once`, or waits with its slot. */
  get isWorking(): boolean {
    return this.awake > 0 || this.streams?.isWorking === true || this.kernel.effects.areOf(this)
  }

  /** Its function waits while a source of its goes on: the clock is told of sources by themselves. */
  waitBeside(): void {
    if (!this.kernel.effects.areOf(this)) this.hold('parked')
  }

  /** Such work has come to its end: if all that is left are waits, the run parks. */
  rested(): void {
    if (this.registeredWaits > 0) this.kernel.slots.parkAfterTurn(this)
  }

  /** How long it has waited without a slot, until `now`. */
  waitedMs(now: number): number {
    const isAway = this.#state === 'parked' || this.#state === 'queued' || this.#state === 'resuming'
    return Math.max(0, isAway ? this.#waitedMs + now : this.#waitedMs)
  }

  /** The function has returned, and the run has streams or a hook: they go on without a slot, as do calls that waited for one. */
  drain(): void {
    if (this.isEnded) throw this.#cannotMove('draining')
    this.#state = 'draining'
    this.#limit?.pause()
    this.hold('draining')
    this.#goOn()
  }

  /** Makes a new attempt one for the call of `onCancel`. */
  compensate(): void {
    this.#move('compensating', 'executing')
    this.#holdsSlot = false
    this.hold('executing')
  }

  /**
   * The function has settled: later calls are told. Waits that lost a race are dropped and stay pending: a rejection of a
   * wait that a task has chained to and left would have no handler, and would end the process.
   */
  finish(): void {
    this.#end('ended')
  }

  /** Ends the attempt from outside: signal, waits and later calls get `error`. The function has 5 s to settle. */
  abort(error: Error): void {
    if (this.isEnded) return
    this.aborted = error
    const waits = itemsOf(this.waits)
    this.#end('aborted')
    for (const wait of waits) wait.reject(error)
    this.#controller?.abort(error)
    this.#limit?.pause()
    const { clock } = this
    const giveUp = (): void => this.kernel.executor.leave(this)
    this.#cancelGrace = clock.setTimer(clock.now() + GRACE_MS, giveUp, { label: `grace of ${this.id}` })
  }

  /** The slot goes to another run; false when there is none to give back. */
  giveSlotBack(): boolean {
    const held = this.#holdsSlot
    this.#holdsSlot = false
    return held
  }

  /** The attempt is over, and the clock need not care for it any more. */
  letGo(): void {
    this.#release?.()
    this.#release = undefined
  }

  /** Nothing of the attempt is timed any more. */
  stopTimers(): void {
    this.#limit?.pause()
    this.#cancelGrace?.()
  }

  /** From now on the function may execute for so long in all. */
  limitTo(ms: number): void {
    this.#limit = new ExecutionLimit(this, ms)
    this.#limit.start()
  }

  /** The function has settled: storing that may take its time, which is not the function's. */
  endLimit(): void {
    this.#hasSettled = true
    this.#limit?.pause()
    this.#limit = undefined
  }

  /** The run waits for its storage, which is not the function's time either. */
  pauseLimit(): void {
    this.#limit?.pause()
  }

  /** The storage has answered. */
  continueLimit(): void {
    if (this.#state === 'executing') this.#limit?.start()
  }

  /** The limit is up. */
  timeIsUp(): void {
    this.kernel.executor.timedOut(this)
  }

  /** Hands a wait its outcome: at once if the attempt executes, else once it has its slot again. */
  deliver(wait: AttemptWait, outcome: WaitOutcome): void {
    switch (this.#state) {
      case 'aborted':
      case 'ended':
        return
      case 'executing':
      case 'draining':
        this.#deliverNow(wait, outcome)
        return
      default:
        if (this.#deliveries === undefined) this.#deliveries = [{ wait, outcome }]
        else this.#deliveries.push({ wait, outcome })
    }
    if (this.#state === 'parked') this.kernel.slots.resume(this)
  }

  #deliverNow(wait: AttemptWait, outcome: WaitOutcome): void {
    if (this.#occupation === 'parked') this.hold('executing')
    if (outcome.kind !== 'settled') {
      this.hasGoneOn = true
      this.kernel.waitpoints.handOver(wait, outcome)
      return
    }
    const { tokenId: id, since } = wait
    const answer = { at: outcome.at, id, since }
    if (this.#mustWait(answer)) this.#holdFor(wait, answer, outcome)
    else this.#handOver(answer, wait, outcome)
  }

  #holdFor(wait: AttemptWait, answer: GivenAnswer, outcome: WaitOutcome): void {
    this.#hold({ handOver: () => this.#handOver(answer, wait, outcome), ...answer })
  }

  #handOver(answer: GivenAnswer, wait: AttemptWait, outcome: WaitOutcome): void {
    this.#note(answer, countOf(this.waits) > 1)
    this.kernel.waitpoints.handOver(wait, outcome)
  }

  /** An answer is handed over, and the code goes on. */
  #note(answer: GivenAnswer, areOthersOpen: boolean): void {
    const order = (this.answers ??= new AnswerOrder())
    const isAlone = answer.since === this.handed && !areOthersOpen && order.callsOut === 0
    // A flow that is alone goes on from one call to the next without a turn between.
    if (!isAlone || answer.isOfStorage !== true) this.hasGoneOn = true
    this.handed += 1
    order.note(answer, isAlone)
  }

  /**
   * A flow goes on with an answer that is no wait, such as the result of `once`. It has its turn among those to waits: until
   * then no other flow of the attempt is alone.
   */
  async inTurn<T>(asked: Promise<T>, read: (answer: T, since: number) => GivenAnswer): Promise<T> {
    // It is never executed again.
    if (this.#state === 'compensating') return asked
    const since = this.handed
    const order = (this.answers ??= new AnswerOrder())
    order.callsOut += 1
    const noted = (answer: GivenAnswer): void => {
      order.callsOut -= 1
      this.#note(answer, this.waits !== undefined)
    }
    try {
      const value = await asked
      if (!this.isEnded) await this.#turnOf(read(value, since), noted)
      return value
    } catch (error) {
      order.callsOut -= 1
      throw error
    }
  }

  #turnOf(answer: GivenAnswer, noted: (answer: GivenAnswer) => void): Promise<void> | undefined {
    if (!this.#mustWait(answer)) {
      noted(answer)
      return undefined
    }
    const { promise, resolve } = createDeferred<void>()
    const ended = (): void => resolve()
    const handOver = (): void => {
      noted(answer)
      resolve()
    }
    this.#hold({ handOver, ended, ...answer })
    return promise
  }

  /** Of answers that come at once the second waits for a turn, unless its wait began after the first. */
  #mustWait(answer: GivenAnswer): boolean {
    if (this.#state !== 'executing') return false
    if (this.answers?.isReplaying === true) return true
    return this.hasGoneOn && answer.since !== this.handed && this.answers?.joins(answer) !== true
  }

  #hold(answer: Parameters<AnswerOrder['hold']>[0]): void {
    this.answers ??= new AnswerOrder()
    this.answers.hold(answer)
    this.kernel.slots.answerAfterTurn(this)
  }

  /** The attempt is executed again, and has not got all answers that were there before. */
  get isReplaying(): boolean {
    return this.answers?.isReplaying === true && this.#state === 'executing'
  }

  /** A turn has passed. Says whether an answer that was held was handed over. */
  endTurn(): boolean {
    return this.answers?.endTurn() === true
  }

  /** Storage was asked for the attempt: while it replays, the flow that did so can go on. */
  asked<T>(answer: Awaitable<T>): Awaitable<T> {
    if (this.answers?.isReplaying === true && isPromise(answer))
      this.answers.wait(answer, () => this.kernel.slots.answerAfterTurn(this))
    return answer
  }

  /** Outcomes and calls that are kept until the run has its slot again. */
  get hasDeliveries(): boolean {
    return this.#deliveries !== undefined || this.#held !== undefined
  }

  /**
   * A parked run that writes works again, beside its waits. Resolves once it has its slot, or has ended; `undefined`, as a rule: it
   * has one, or needs none.
   */
  whenExecuting(): Promise<void> | undefined {
    if (!this.isAway) return undefined
    const { promise, resolve } = createDeferred<void>()
    if (this.#held === undefined) this.#held = [resolve]
    else this.#held.push(resolve)
    if (this.#state === 'parked') this.kernel.slots.resume(this)
    return promise
  }

  /** A write is out. A run with waits parks, if at all, once it is answered. */
  writes(answer: Promise<unknown>): void {
    this.writesOut += 1
    const answered = (): void => {
      this.writesOut -= 1
      if (this.writesOut === 0 && !this.isEnded) this.rested()
    }
    answer.then(answered, answered)
  }

  /** The run has its slot: its waits get the outcomes that were kept for them. */
  handOverAll(): void {
    const deliveries = this.#deliveries ?? []
    this.#deliveries = undefined
    for (const { wait, outcome } of deliveries) this.#deliverNow(wait, outcome)
    this.#goOn()
  }

  #goOn(): void {
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) for (const goOn of held) goOn()
  }

  /** Tokens whose waits were delivered and that storage still lists as ready. */
  get delivered(): readonly string[] {
    return this.#delivered ?? NONE
  }

  noteDelivered(tokenId: string): void {
    if (this.#delivered === undefined) this.#delivered = [tokenId]
    else this.#delivered.push(tokenId)
  }

  /** Storage no longer lists the first `count` of them. */
  forgetDelivered(count: number): void {
    this.#delivered?.splice(0, count)
  }

  /**
   * Tells the clock what the run is busy with, instead of what it was told before. A run that waits for its storage is not
   * busy, whatever it does besides.
   */
  hold(kind: Occupation): void {
    const release = this.#release
    this.#occupation = kind
    const isResting = kind === 'executing' && this.kernel.outage.isResting(this)
    this.#release = this.clock.hold?.({ kind: isResting ? 'parked' : kind, id: this.id })
    release?.()
  }

  /** The run has begun to wait for its storage, or does no longer. */
  rest(): void {
    if (this.#release !== undefined) this.hold(this.#occupation)
  }

  #end(state: 'aborted' | 'ended'): void {
    this.#state = state
    this.#deliveries = undefined
    this.waits = undefined
    this.answers?.end()
    this.#goOn()
  }

  #move(to: AttemptState, from: AttemptState, or: AttemptState = from): void {
    if (this.#state !== from && this.#state !== or) throw this.#cannotMove(to)
    this.#state = to
  }

  #cannotMove(to: AttemptState): Error {
    return new Error(`Cannot set the attempt of run "${this.id}" to ${to}: it is ${this.#state}`)
  }
}

/** Ended by its function: there is no caller left that could be told of a wait. */
export function hasFinished(attempt: Attempt): boolean {
  return attempt.isEnded && attempt.aborted === undefined
}

/** Takes what storage answers of the run; false if its end or a later park was known before: a late answer takes neither back. */
export function learn(attempt: Attempt, record: RunRecord): boolean {
  const { status, parks = 0 } = attempt.record
  if (isFinal(status) || parks > (record.parks ?? 0)) return false
  attempt.record = record
  return true
}

/** Throws the error for calls from an attempt that has ended. */
export function assertOpen(attempt: Attempt | undefined): void {
  if (attempt?.isEnded === true) throw endError(attempt)
}

/** The error for calls from an ended attempt. Made for a call only: most attempts end without one. */
export function endError({ id, aborted }: Attempt): Error {
  return aborted ?? new WaitpointError('ERR_RUN_ENDED', `Cannot go on in run "${id}": this attempt has ended`)
}

/** Refused calls of one attempt after its end. */
const MOST_REFUSALS = 10_000

/**
 * Rejects a call. Code of an ended attempt may have left the call behind, so the rejection must not end the process. Code that was
 * refused very often is a loop that catches every error and would never let go of the event loop: it gets no answer any more.
 */
export function refuse<T>(error: Error): Promise<T> {
  const attempt = currentAttempt()
  if (attempt?.isEnded !== true) return Promise.reject(error)
  attempt.refusals += 1
  return attempt.refusals > MOST_REFUSALS ? new Promise(() => undefined) : mayBeLeft(Promise.reject(error))
}

/** What an attempt that has ended reads: an iterable whose reader rejects. */
export function endedReader(refused: () => Promise<never>): AsyncIterable<never> {
  return { [Symbol.asyncIterator]: () => ({ next: refused }) }
}

/** The error for an attempt that lost its run to another one. */
export function staleAttempt(runId: string): WaitpointError {
  return new WaitpointError(
    'ERR_STALE_ATTEMPT',
    `Cannot go on with run "${runId}": another attempt has taken it over since this one lost its lease`,
  )
}

/** The attempt that a write names as its author; none outside of a run, nor for a run that is over. */
export function fenceOf(attempt: Attempt | undefined): AttemptFence | undefined {
  if (attempt?.is('compensating') === true) return undefined
  return attempt && { runId: attempt.id, epoch: attempt.record.epoch }
}

const places = /* @__PURE__ */ new AsyncLocalStorage<Place<Attempt> | undefined>()

/** The attempt that the caller runs in, if any. */
export function currentAttempt(): Attempt | undefined {
  return places.getStore()?.attempt
}

/** What was called of an attempt after its end, by functions that cannot reject. */
const lateCalls = new WeakMap<Attempt, Set<string>>()

/**
 * The attempt that the caller runs in, if it has ended. A call that cannot reject, such as one that a timer makes, has no effect
 * then: an error would end the process. The first one of its kind is an `error` event.
 */
export function lateAttempt(what: string): Attempt | undefined {
  const attempt = currentAttempt()
  if (attempt?.isEnded !== true) return undefined
  const told = lateCalls.get(attempt) ?? new Set()
  lateCalls.set(attempt, told)
  if (told.has(what)) return attempt
  told.add(what)
  const message = `Cannot call ${what} in run "${attempt.id}": this attempt has ended, so the call had no effect`
  attempt.kernel.events.error(
    new WaitpointError('ERR_RUN_ENDED', message, { cause: attempt.aborted }),
    attempt.id,
  )
  return attempt
}

/** The attempt that the caller runs in, unless it is over: a server or a timer that outlives its run is outside of it. */
export function liveAttempt(): Attempt | undefined {
  const attempt = currentAttempt()
  return attempt?.isOver === true ? undefined : attempt
}

/** Calls `body` inside an attempt, where its flow begins. */
export function runInAttempt<T>(attempt: Attempt, body: () => T): T {
  return places.run(new Place(attempt), body)
}

/** Calls `body` as if outside of any run. Not with `exit`, which switches all tracking off and on again. */
export function outsideRuns<T>(body: () => T): T {
  return places.run(undefined, body)
}

/**
 * Makes a call of the engine at the caller's place in the flow of its attempt, and answers that place. The caller goes on
 * from a place of its own.
 */
export function enterPlace(content: number): Place<Attempt> | undefined {
  const current = places.getStore()
  if (current === undefined) return undefined
  const next = enterCall(current, content)
  try {
    places.enterWith(next)
  } catch {
    // A host may have none, as workerd: all calls are then made at one place, and equal ones cannot be told apart later.
  }
  return next.origin
}

/** Calls `body` in a branch of the attempt that only its content names: waits inside move no place outside of it. */
export function inBranch<T>(attempt: Attempt, content: number, body: () => T): T {
  return inPlace(placeOfBranch(attempt, content), body)
}

/** The place where a branch begins: see {@link inBranch}. */
export function placeOfBranch(attempt: Attempt, content: number, chunks?: EffectChunks): Place<Attempt> {
  const place = chunks === undefined ? new Place(attempt) : new EffectPlace(attempt, chunks)
  return place.branch(content)
}

/** What the effect of an attempt writes that the caller runs in, if it does. */
export function effectChunks(attempt: Attempt): EffectChunks | undefined {
  const place = places.getStore()
  return place?.attempt === attempt ? place.chunks : undefined
}

/** Calls `body` at a place. */
export function inPlace<T>(place: Place<Attempt>, body: () => T): T {
  return places.run(place, body)
}
