import type { Body, ExploreOptions, Invariant } from 'waitpoint/testing'

/** A body with a bug, or its twin without, and what an exploration of it takes. */
export interface Planted {
  readonly body: Body
  readonly options: ExploreOptions
  /** What does not hold because of the bug. */
  readonly breaks: Invariant
}
