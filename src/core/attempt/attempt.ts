import { AsyncLocalStorage } from 'node:async_hooks'
import type { CancelTimer, Clock, ReleaseHold } from '../../contract/clock.ts'
import type { RunRecord } from '../../contract/records.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { AttemptFence, Awaitable } from '../../contract/storage.ts'
import { type Few, itemsOf } from '../../primitives/few.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Namespaces } from '../../api/task.ts'
import { ExecutionLimit } from './execution-limit.ts'
import type { WaitPlace } from './places.ts'
import type { TaskDefinition } from './task-definition.ts'

/** How long the function of an aborted attempt may take to settle before its slot is given away. */
export const GRACE_MS = 5_000

/** The result of a wait, and the output or the error that unwrapping it gives. */
export type Settlement<Result, Output> =
  { readonly result: Result; readonly output: Output } | { readonly result: Result; readonly error: Error }

/** How a wait ended: its token was settled, the settled token could not be read, or its signal dropped it. */
export type WaitOutcome =
  | { readonly kind: 'settled'; readonly settlement: Settlement<unknown, unknown> }
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
  resolve(settlement: Settlement<unknown, unknown>): void
  reject(error: unknown): void
}

/** The streams that an attempt writes. */
export interface AttemptStreams {
  readonly keys: readonly string[]
  /** Resolves when every source has ended, or was stopped after 60 s; see docs/streams.md. */
  drain(): Promise<void>
  /** Stops every source at once. */
  stop(): Awaitable<void>
}

/** The namespaces of one engine, as its tasks and the module's functions use them. */
export interface EngineNamespaces extends Namespaces {
  once<Result>(key: string, effect: () => Result | Promise<Result>): Promise<Result>
}

/** The parts of an engine that its attempts use. The kernel is also the identity of the engine. */
export interface AttemptKernel {
  readonly namespaces: EngineNamespaces
  readonly host: { readonly clock: Clock }
  readonly waitpoints: { handOver(wait: AttemptWait, outcome: WaitOutcome): void }
  readonly slots: { resume(attempt: Attempt): void }
  readonly executor: { timedOut(attempt: Attempt): void; leave(attempt: Attempt): void }
}

/**
 * - `executing`: the function is called, with a slot. `parking`: storage is asked to park the run.
 * - `parked`: the run waits, without a slot. `queued`: it may go on, but all slots are taken.
 * - `resuming`: storage is asked to resume the run, which has a slot again.
 * - `draining`: the function has returned, its streams go on without a slot.
 * - `ended`: the attempt is over. An aborted one keeps its slot until its function has settled, for 5 s at most.
 */
export type AttemptState = 'executing' | 'parking' | 'parked' | 'queued' | 'resuming' | 'draining' | 'ended'

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
  /** The waits that are under way. */
  waits: Few<AttemptWait> = undefined
  /** Waits that are in the storage and not over: while there is none the run has no reason to park. */
  registeredWaits = 0
  /** The next place of a token; none while `onStart` is under way. */
  tokens: number | undefined = 0
  /** The next place of each other kind it waits with. */
  places: Few<WaitPlace> = undefined
  /** Something was delivered since the last turn: the run may not park before another one has passed. */
  hasGoneOn = false
  /** There are some from the first key on until they are closed. */
  streams: AttemptStreams | undefined = undefined
  /** Metadata, as JSON text, that storage has not acknowledged: whatever the attempt writes takes it along. */
  unsavedMetadata: string | undefined = undefined
  /** The payload that the function was called with. */
  payload: unknown
  /** Why it was ended from outside. */
  aborted: Error | undefined
  #state: AttemptState = 'executing'
  #holdsSlot = true
  #occupation: Occupation = 'executing'
  #release: ReleaseHold | undefined
  #deliveries: Delivery[] | undefined
  /** Tokens whose waits were delivered and that storage still lists as ready. */
  #delivered: string[] | undefined
  #controller: AbortController | undefined
  #limit: ExecutionLimit | undefined
  #cancelGrace: CancelTimer | undefined

  constructor(kernel: AttemptKernel, definition: TaskDefinition, record: RunRecord) {
    this.kernel = kernel
    this.definition = definition
    this.record = record
  }

  get id(): string {
    return this.record.id
  }

  get clock(): Clock {
    return this.kernel.host.clock
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

  get isEnded(): boolean {
    return this.#state === 'ended'
  }

  get holdsSlot(): boolean {
    return this.#holdsSlot
  }

  /** Storage is asked to park the run. */
  park(): void {
    this.#move('parking', 'executing')
  }

  /** Storage has parked the run: the slot is free. */
  parked(): void {
    this.#move('parked', 'parking')
    this.#holdsSlot = false
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
    this.#limit?.start()
    this.hold('executing')
  }

  /** The function has returned, and the run has streams or a hook: they go on without a slot. */
  drain(): void {
    if (this.#state === 'ended') throw this.#cannotMove('draining')
    this.#state = 'draining'
    this.#limit?.pause()
    this.hold('draining')
  }

  /**
   * The function has settled: later calls are told. Waits that lost a race are dropped and stay pending: a rejection of a
   * wait that a task has chained to and left would have no handler, and would end the process.
   */
  finish(): void {
    this.#state = 'ended'
    this.#deliveries = undefined
    this.waits = undefined
  }

  /** Ends the attempt from outside: signal, waits and later calls get `error`. The function has 5 s to settle. */
  abort(error: Error): void {
    if (this.isEnded) return
    this.aborted = error
    const waits = itemsOf(this.waits)
    this.finish()
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

  /** Storing what an attempt returned may take its time, which is not the function's. */
  pauseLimit(): void {
    this.#limit?.pause()
  }

  /** The limit is up. */
  timeIsUp(): void {
    this.kernel.executor.timedOut(this)
  }

  /** Hands a wait its outcome: at once if the attempt executes, else once it has its slot again. */
  deliver(wait: AttemptWait, outcome: WaitOutcome): void {
    switch (this.#state) {
      case 'ended':
        return
      case 'executing':
      case 'draining':
        this.hasGoneOn = true
        this.kernel.waitpoints.handOver(wait, outcome)
        return
      default:
        if (this.#deliveries === undefined) this.#deliveries = [{ wait, outcome }]
        else this.#deliveries.push({ wait, outcome })
    }
    if (this.#state === 'parked') this.kernel.slots.resume(this)
  }

  /** Outcomes that are kept until the run has its slot again. */
  get hasDeliveries(): boolean {
    return this.#deliveries !== undefined
  }

  /** The run has its slot: its waits get the outcomes that were kept for them. */
  handOverAll(): void {
    const deliveries = this.#deliveries ?? []
    this.#deliveries = undefined
    this.hasGoneOn = true
    for (const { wait, outcome } of deliveries) this.kernel.waitpoints.handOver(wait, outcome)
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

  /** Tells the clock what the run is busy with, instead of what it was told before. */
  hold(kind: Occupation): void {
    const release = this.#release
    this.#occupation = kind
    this.#release = this.clock.hold?.({ kind, id: this.id })
    release?.()
  }

  /** Tells the clock that the run waits until what this returns is called, unless it was told something else since. */
  rest(): () => void {
    if (this.#release === undefined) return () => undefined
    const busy = this.#occupation
    this.hold('parked')
    return () => {
      if (this.#release !== undefined && this.#occupation === 'parked') this.hold(busy)
    }
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

/** Takes what storage answers of the run; false when its end was known before: a late answer does not take it back. */
export function learn(attempt: Attempt, record: RunRecord): boolean {
  if (isFinal(attempt.record.status)) return false
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

/** The error for an attempt that lost its run to another one. */
export function staleAttempt(runId: string): WaitpointError {
  return new WaitpointError(
    'ERR_STALE_ATTEMPT',
    `Cannot go on with run "${runId}": another attempt has taken it over since this one lost its lease`,
  )
}

/** The attempt that a write names as its author; none outside of a run. */
export function fenceOf(attempt: Attempt | undefined): AttemptFence | undefined {
  return attempt && { runId: attempt.id, epoch: attempt.record.epoch }
}

const attempts = new AsyncLocalStorage<Attempt | undefined>()

/** The attempt that the caller runs in, if any. */
export function currentAttempt(): Attempt | undefined {
  return attempts.getStore()
}

/** Calls `body` inside an attempt. */
export function runInAttempt<T>(attempt: Attempt, body: () => T): T {
  return attempts.run(attempt, body)
}

/** Calls `body` as if outside of any run. Not with `exit`, which switches all tracking off and on again. */
export function outsideRuns<T>(body: () => T): T {
  return attempts.run(undefined, body)
}
