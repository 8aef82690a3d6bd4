/** What a run is triggered with. */
export interface Draft {
  readonly doc: string
}

/** What its token is completed with. */
export interface Verdict {
  readonly approved: boolean
}

/** What the run comes to. */
export interface Review {
  readonly doc: string
  readonly approved: boolean
}

/**
 * Somewhere the same job can be done: a run creates a token, says which, waits for it and returns what it was completed
 * with. Ours is an engine; the others are what it is measured against.
 */
export interface Approvals {
  trigger(draft: Draft): Promise<{ result(): Promise<Review> }>
  complete(tokenId: string, verdict: Verdict): Promise<unknown>
  /** The token of the next run that waits. */
  asked(): Promise<string>
  /** Resolves when every run that waits has given its slot back. */
  parked(): Promise<void>
  close(): Promise<void>
}
