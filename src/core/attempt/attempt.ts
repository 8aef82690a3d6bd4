import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunRecord } from '../../contract/records.ts'
import type { AttemptFence } from '../../contract/storage.ts'
import { type Few, itemsOf } from '../../primitives/few.ts'
import { WaitpointError } from '../../api/errors.ts'
import { isFinal } from '../../contract/run-states.ts'
import type { WaitPlace } from './places.ts'
import { Seat } from './seat.ts'
import type { TaskDefinition } from './task-definition.ts'

/** What a scope needs of a wait that is under way in it. */
export interface ScopedWait {
  readonly tokenId: string
  readonly isRegistered: boolean
  reject(error: unknown): void
}

/** One attempt of a run, from the claim to its end: what the ambient functions find. */
export class RunScope {
  /** Identity of the engine that executes the run. */
  readonly engine: object
  /** What is called. */
  readonly definition: TaskDefinition
  /** The waits that are under way. */
  waits: Few<ScopedWait> = undefined
  readonly seat: Seat
  /** The next place of a token; none while `onStart` is under way. */
  tokens: number | undefined = 0
  /** The next place of each other kind it waits with. */
  places: Few<WaitPlace> = undefined
  record: RunRecord
  /** Metadata, as JSON text, that storage has not acknowledged: whatever the attempt writes takes it along. */
  unsavedMetadata: string | undefined = undefined
  /** What the function was called with. */
  payload: unknown
  #controller: AbortController | undefined
  #isEnded = false
  /** Why it was ended from outside. */
  aborted: Error | undefined

  constructor(engine: object, definition: TaskDefinition, record: RunRecord) {
    this.engine = engine
    this.definition = definition
    this.seat = new Seat(record.id)
    this.record = record
  }

  get id(): string {
    return this.record.id
  }

  /** Made when first asked for: most attempts never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.aborted !== undefined) this.#controller.abort(this.aborted)
    }
    return this.#controller.signal
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /**
   * The function has settled: later calls are told. Waits that lost a race are dropped and stay pending: what a task
   * chained to one and left alone would otherwise reject with nobody to handle it, which ends the process.
   */
  finish(): void {
    this.#isEnded = true
    this.seat.dropDeliveries()
    this.waits = undefined
  }

  /** The attempt is over from outside: signal, waits and later calls get `error`. */
  abort(error: Error): void {
    if (this.isEnded) return
    this.aborted = error
    const waits = itemsOf(this.waits)
    this.finish()
    for (const wait of waits) wait.reject(error)
    this.#controller?.abort(error)
  }
}

/** Ended by its function: nobody is left who could be told of a wait. */
export function hasFinished(scope: RunScope): boolean {
  return scope.isEnded && scope.aborted === undefined
}

/** Takes what storage answers of the run; false when its end was known before: what comes late does not take it back. */
export function learn(scope: RunScope, record: RunRecord): boolean {
  if (isFinal(scope.record.status)) return false
  scope.record = record
  return true
}

/** Throws what calls from an attempt that has ended get. */
export function assertOpen(scope: RunScope | undefined): void {
  if (scope?.isEnded === true) throw endError(scope)
}

/** What calls from an ended attempt get. Made when somebody has to be told: most attempts end with nobody left. */
export function endError({ id, aborted }: RunScope): Error {
  return aborted ?? new WaitpointError('ERR_RUN_ENDED', `Cannot go on in run "${id}": this attempt has ended`)
}

/** What a write says who it is; nothing outside of a run. */
export function fenceOf(scope: RunScope | undefined): AttemptFence | undefined {
  return scope && { runId: scope.id, epoch: scope.record.epoch }
}

const scopes = new AsyncLocalStorage<RunScope | undefined>()

/** The attempt that the caller runs in, if any. */
export function currentScope(): RunScope | undefined {
  return scopes.getStore()
}

/** Calls `body` inside an attempt. */
export function runInScope<T>(scope: RunScope, body: () => T): T {
  return scopes.run(scope, body)
}

/** Calls `body` as if outside of any run. Not with `exit`, which switches all tracking off and on again. */
export function outsideRuns<T>(body: () => T): T {
  return scopes.run(undefined, body)
}
