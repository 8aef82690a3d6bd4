import type { Subject } from './subject.ts'

/** A capability that a storage may lack; see `ConformanceOptions`. */
export type Capability = 'crash' | 'hints' | 'endlessLease' | 'boundedHistory'

/** One sentence of the storage contract, with a check. See docs/writing-a-storage.md. */
export interface Law {
  /** A stable id: `method/short-statement`. */
  readonly id: string
  readonly law: string
  /** The law applies only to storages with this capability. */
  readonly capability?: Capability
  /** The optional member of a storage that the law is about. A storage without it breaks no such law. */
  readonly optional?: string
  /**
   * Checks the law on an empty storage with a live engine `A`; `another` opens further storages. Throws when the law
   * does not hold.
   */
  readonly check: (subject: Subject, another: () => Promise<Subject>) => Promise<void>
}
