import { currentRun } from './current-run.ts'

/** The limit of an attempt. */
export const timeout: {
  /** A `maxDuration` that is no limit. */
  readonly None: number
  /** Aborted when the attempt that calls has to end. */
  readonly signal: AbortSignal | undefined
} = {
  None: 2_147_483_647,
  get signal() {
    return currentRun()?.signal
  },
}
