/** The payload of a run. */
export interface Draft {
  readonly doc: string
}

/** The output of a run's token. */
export interface Verdict {
  readonly approved: boolean
}

/** The output of a run. */
export interface Review {
  readonly doc: string
  readonly approved: boolean
}

/**
 * A system that can do the benchmark job: a run creates a token, reports it, waits for it, and returns its output.
 * Implemented by an engine and by the systems it is compared with.
 */
export interface Approvals {
  trigger(draft: Draft): Promise<{ result(): Promise<Review> }>
  complete(tokenId: string, verdict: Verdict): Promise<unknown>
  /** The token of the next waiting run. */
  asked(): Promise<string>
  /** Resolves when every waiting run has given its slot back. */
  parked(): Promise<void>
  close(): Promise<void>
}
