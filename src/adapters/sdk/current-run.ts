import { AsyncLocalStorage, AsyncResource } from 'node:async_hooks'
import { mayBeLeft } from '../../primitives/awaitable.ts'
import type { TaskRunContext } from './context.ts'
import type { TaskWait } from './hooks.ts'

/** What the functions of the module know of the attempt that calls them. */
export interface CurrentRun {
  readonly ctx: TaskRunContext
  readonly signal: AbortSignal
  /** Values by the id of their key. */
  readonly locals: Map<symbol, unknown>
  /** Promises that the end of the attempt waits for. */
  readonly waitUntil: Set<Promise<unknown>>
  /** A number that no other call of the attempt gets, for the name of a wait. */
  nextNumber(): number
  /** Calls a function at the place of another run of the engine, if this process executes it. */
  inOther(runId: string): Scope | undefined
  readonly hasWaitHooks: boolean
  /** Calls the hooks of a wait around it. */
  around<Result>(wait: TaskWait, started: Promise<Result>): Promise<Result>
}

/** Calls a function at a place of the program. */
export type Scope = <Result>(body: () => Result) => Result

const current = new AsyncLocalStorage<CurrentRun>()

/** The runs that each engine executes in this process. An engine is known by an object that it hands to all its tasks. */
const engines = new WeakMap<object, Map<string, Scope>>()

/** Notes that the caller executes a run, until the returned function is called. */
export function enterRun(engine: object, runId: string): () => void {
  const scopes = engines.get(engine) ?? new Map<string, Scope>()
  engines.set(engine, scopes)
  // Cheaper than `AsyncLocalStorage.snapshot` on the Nodes that keep contexts by hooks.
  const place = new AsyncResource('waitpoint run', { requireManualDestroy: true })
  const scope: Scope = (body) => place.runInAsyncScope(body)
  scopes.set(runId, scope)
  return () => {
    // A later attempt may have begun.
    if (scopes.get(runId) === scope) scopes.delete(runId)
  }
}

/** The place of a run that an engine executes in this process. */
export function scopeOf(engine: object, runId: string): Scope | undefined {
  return engines.get(engine)?.get(runId)
}

/** The attempt that calls, if any. */
export function currentRun(): CurrentRun | undefined {
  return current.getStore()
}

/** Calls `body` in an attempt. */
export function inRun<Result>(run: CurrentRun, body: () => Result): Result {
  return current.run(run, body)
}

/**
 * Starts a wait and calls the hooks around it. The wait is started at once: its place among the waits of the run is that
 * of the call.
 */
export function waiting<Result>(wait: () => TaskWait, start: () => Promise<Result>): Promise<Result> {
  const started = start()
  const run = currentRun()
  return run?.hasWaitHooks === true ? mayBeLeft(run.around(wait(), started)) : started
}
