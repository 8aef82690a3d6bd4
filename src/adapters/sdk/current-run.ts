import { AsyncLocalStorage } from 'node:async_hooks'
import { type CallEnd, callingRun, type RunPlace } from '../../api/run-place.ts'
import { runs } from '../../core/ambient/ambient.ts'
import type { Awaitable } from '../../contract/storage.ts'
import type { TriggerMarks } from '../../api/trigger-marks.ts'
import { leftAtEnd, mayBeLeft } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { TaskRunContext } from './context.ts'
import type { TaskWait } from './hooks.ts'

/** What the functions of the module know of the attempt that calls them. */
export interface CurrentRun {
  readonly place: RunPlace
  readonly payload: unknown
  readonly ctx: TaskRunContext
  readonly signal: AbortSignal
  /** Promises that the end of the attempt waits for, and functions that answer some then. */
  readonly waitUntil: Set<unknown>
  /** A number that no other call of the attempt gets, for the name of a wait. */
  nextNumber(): number
  readonly hasWaitHooks: boolean
  /** What becomes of the end of its function, in an attempt without hooks. */
  ended(end: CallEnd): Awaitable<CallEnd>
  /** Calls the hooks of a wait around it. A wait that is known later may reject as it does. */
  around<Result>(wait: TaskWait | Promise<TaskWait>, started: Promise<Result>): Promise<Result>
}

/**
 * Attempts whose hooks are called: that may be outside of the flow of the run. A task without hooks does without it: Node
 * below 24 hands each one that is used on to every promise.
 */
const inHooks = new AsyncLocalStorage<CurrentRun>()

/** Notes that an attempt executes, until {@link leaveRun}. */
export function enterRun(run: CurrentRun): void {
  run.place.payload = run
}

/** The execution of the attempt is over. */
export function leaveRun(run: CurrentRun): void {
  run.place.payload = run.payload
}

/** The attempt that calls, if any. An engine that was made in hooks keeps their flow: the run that it executes comes first. */
export function currentRun(): CurrentRun | undefined {
  return executingRun(callingRun(runs)) ?? inHooks.getStore()
}

/**
 * An answer for the caller. If the attempt of the caller has ended by then, its code may have left the call behind: a rejection does
 * not end the process.
 */
export function leavable<Answer>(answer: Answer): Answer {
  const place = callingRun(runs)
  if (place === undefined || !(answer instanceof Promise)) return answer
  if (place.isLeft) void mayBeLeft(answer)
  // Waits and pages are more than a promise, and see to it themselves.
  if ('unwrap' in answer || Symbol.asyncIterator in answer) return answer
  // Cast: it resolves and rejects as the answer does.
  return leftAtEnd(place, answer) as Answer & Promise<unknown>
}

/** The attempt that executes at a place. A function that goes on after its attempt is outside of it. */
export function executingRun(place: RunPlace | undefined): CurrentRun | undefined {
  // A task that was defined otherwise has its payload there.
  const run = place?.payload as CurrentRun | null | undefined
  return run?.place === place ? (run ?? undefined) : undefined
}

/** Calls `body`, which may be hooks, in an attempt. */
export function inRun<Result>(run: CurrentRun, body: () => Result): Result {
  return inHooks.run(run, body)
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

/** Like `waiting`, for a child run: which one it waits for is known when that is stored. */
export function waitingForRun<Result>(
  start: (marks: TriggerMarks | undefined) => Promise<Result>,
): Promise<Result> {
  const run = currentRun()
  if (run?.hasWaitHooks !== true) return start(undefined)
  const child = createDeferred<TaskWait>()
  const started = start({ stored: (runId) => child.resolve({ type: 'task', runId }) })
  started.catch(child.reject)
  return mayBeLeft(run.around(child.promise, started))
}
