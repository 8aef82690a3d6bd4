import type { RetrievedRun, RunReference } from './run.ts'

/** A namespace `runs` for adapters that show runs in their own way. */
export interface PollsAs {
  /** Like `poll`, with what `show` makes of the run. */
  pollAs<Shown>(run: RunReference, show: (view: RetrievedRun) => Shown | Promise<Shown>): Promise<Shown>
}
