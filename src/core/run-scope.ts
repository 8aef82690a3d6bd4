import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunRecord } from '../contract/records.ts'
import type { AttemptFence } from '../contract/storage.ts'
import { type Few, itemsOf } from '../primitives/few.ts'
import { WaitpointError } from './errors.ts'
import { Seat } from './seat.ts'
import { WaitPlaces } from './wait-places.ts'

/** What a scope needs of a wait that is under way in it. */
export interface ScopedWait {
  readonly tokenId: string
  readonly isRegistered: boolean
  reject(error: unknown): void
}

/** One attempt of a run, from the claim to its end: what the ambient functions find. */
export class RunScope {
  readonly id: string
  /** Identity of the engine that executes the run. */
  readonly engine: object
  /** The waits that are under way. */
  waits: Few<ScopedWait> = undefined
  readonly seat: Seat
  readonly places: WaitPlaces = new WaitPlaces()
  record: RunRecord
  /** Metadata, as JSON text, that storage has not acknowledged: whatever the attempt writes takes it along. */
  unsavedMetadata: string | undefined = undefined
  /** What the function was called with. */
  payload: unknown
  #controller: AbortController | undefined
  #isEnded = false
  #aborted: Error | undefined

  constructor(engine: object, record: RunRecord) {
    this.engine = engine
    this.id = record.id
    this.seat = new Seat(record.id)
    this.record = record
  }

  /** Made when first asked for: most attempts never do. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#aborted !== undefined) this.#controller.abort(this.#aborted)
    }
    return this.#controller.signal
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** Throws what calls from an attempt that has ended get. */
  assertOpen(): void {
    if (this.#isEnded) throw this.endError()
  }

  /** What calls from an ended attempt get. Made when somebody has to be told: most attempts end with nobody left. */
  endError(): Error {
    const message = `Cannot go on in run "${this.id}": this attempt has ended`
    return this.#aborted ?? new WaitpointError('ERR_RUN_ENDED', message)
  }

  /** Ended by its function: nobody is left who could be told of a wait. */
  get isFinished(): boolean {
    return this.#isEnded && this.#aborted === undefined
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
    this.#aborted = error
    this.#end()
    this.#controller?.abort(error)
  }

  #end(): void {
    this.#isEnded = true
    this.seat.dropDeliveries()
    if (this.waits === undefined) return
    const error = this.endError()
    const waits = itemsOf(this.waits)
    this.waits = undefined
    for (const wait of waits) wait.reject(error)
  }
}

/** What a write says who it is; nothing outside of a run. */
export function fenceOf(scope: RunScope | undefined): AttemptFence | undefined {
  return scope && { runId: scope.id, epoch: scope.record.epoch }
}

const scopes = new AsyncLocalStorage<RunScope>()

/** The attempt that the caller runs in, if any. */
export function currentScope(): RunScope | undefined {
  return scopes.getStore()
}

/** Calls `body` inside an attempt. */
export function runInScope<T>(scope: RunScope, body: () => T): T {
  return scopes.run(scope, body)
}

/** Calls `body` as if outside of any run. */
export function outsideRuns<T>(body: () => T): T {
  return scopes.exit(body)
}
