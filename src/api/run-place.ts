/** A run that executes, and the way into it. */
export interface RunPlace {
  readonly id: string
  /** Calls `body` as the function of the run would. */
  inside<Result>(body: () => Result): Result
}

/** Tools that tell the place of their run, for adapters that act for it from outside of its function. */
export interface HasRunPlace {
  readonly place: RunPlace
}
