import type { RunRecord } from '../contract/records.ts'

/** Several runs that somebody follows at once. */
export interface RunSet {
  /** The same text for the same set. */
  readonly name: string
  /** All that there are. */
  list(): Promise<readonly RunRecord[]>
  /** Of runs that changed, those that are worth reading. */
  among(ids: ReadonlySet<string>): readonly string[]
  /** Whether a run is one of them. */
  has(record: RunRecord): boolean
}
