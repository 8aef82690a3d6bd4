import type { Clock } from '../contract/clock.ts'

/** A run that executes, and the way into it. */
export interface RunPlace {
  readonly id: string
  /** The engine that executes it is known by this object, which all its runs have. */
  readonly kernel: object
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
