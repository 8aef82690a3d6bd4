import type { Clock } from '../contract/clock.ts'
import type { Awaitable } from '../contract/storage.ts'

/** A run that executes, and the way into it. */
export interface RunPlace {
  readonly id: string
  /** No call of it has an effect any more, though its function may go on. */
  readonly isEnded: boolean
  /** Its function has settled, or no call of it has an effect any more: what it has called may have no caller. */
  readonly isLeft: boolean
  /** The engine that executes it, with all runs that it executes. */
  readonly kernel: { readonly executor: { readonly attempts: { get(runId: string): RunPlace | undefined } } }
  /** What the function was called with. Its adapter may keep something else here while it executes. */
  payload: unknown
  /** That of the engine. */
  readonly clock: Clock
  /** Calls `body` as the function of the run would. */
  inside<Result>(body: () => Result): Result
}

/** Under this name `runs` of the module tells the run that calls. */
export const CALLER: unique symbol = Symbol('caller')

/** The run that calls, if any, by `runs` of the module. For adapters that keep something for a run. */
export function callingRun(runs: object): RunPlace | undefined {
  const { [CALLER]: caller } = runs as { readonly [CALLER]?: () => RunPlace | undefined }
  return caller?.()
}

/** Tools that tell the place of their run, for adapters that act for it from outside of its function. */
export interface HasRunPlace {
  readonly place: RunPlace
}

/** In the options of a task of an adapter: what it makes of the end of each call. */
export const CALL_END: unique symbol = Symbol('call')

/** How a call of the function has ended: with an output, or with an error. */
export interface CallEnd {
  readonly ok: boolean
  readonly value: unknown
}

/** The options of a task of an adapter. */
export interface SettlesCalls {
  /** Answers the output as it is stored, or the error that the engine has to decide about. It never throws or rejects. */
  readonly [CALL_END]?: (end: CallEnd, run: RunPlace) => Awaitable<CallEnd>
}
