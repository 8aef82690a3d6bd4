import { AsyncLocalStorage } from 'node:async_hooks'
import type { RunPlace } from '../../api/run-place.ts'
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
  /** Another run of the engine, if this process executes it. */
  other(runId: string): RunPlace | undefined
  readonly hasWaitHooks: boolean
  /** Calls the hooks of a wait around it. */
  around<Result>(wait: TaskWait, started: Promise<Result>): Promise<Result>
}

const current = new AsyncLocalStorage<CurrentRun>()

/** The runs that each engine executes in this process. An engine is known by an object that it hands to all its tasks. */
const engines = new WeakMap<object, Map<string, RunPlace>>()

/** Notes that an engine executes a run, until {@link leaveRun}. */
export function enterRun(engine: object, run: RunPlace): void {
  const runs = engines.get(engine)
  if (runs === undefined) engines.set(engine, new Map([[run.id, run]]))
  else runs.set(run.id, run)
}

/** The execution of the run is over. A later attempt of it may have begun. */
export function leaveRun(engine: object, run: RunPlace): void {
  const runs = engines.get(engine)
  if (runs?.get(run.id) === run) runs.delete(run.id)
}

/** The place of a run that an engine executes in this process. */
export function executedRun(engine: object, runId: string): RunPlace | undefined {
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
