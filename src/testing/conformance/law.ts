import type { Subject } from './subject.ts'

/** What a storage may be without; see `ConformanceOptions`. */
export type Capability = 'crash' | 'hints' | 'endlessLease' | 'boundedHistory'

/** One sentence of the storage contract, and how to see whether it holds. */
export interface Law {
  /** Never changes: `method/what-it-says`. */
  readonly id: string
  readonly law: string
  /** Asked only of a storage that has it. */
  readonly capability?: Capability
  /** Given an empty storage on which engine `A` lives, and the means to get more; throws when the law does not hold. */
  readonly check: (subject: Subject, another: () => Promise<Subject>) => Promise<void>
}
