import type { Awaitable } from '../../contract/storage.ts'
import { requireObject, show as showValue } from '../../primitives/require.ts'
import type { Capability, Law } from './law.ts'
import { exampleLaws } from './laws/example.ts'
import { crashLaws } from './laws/crash.ts'
import { historyLaws } from './laws/history.ts'
import { modelLaw } from './laws/model.ts'
import { skewLaws } from './laws/skew.ts'
import { Mismatch, describeValue } from './sameness.ts'
import { type OpenStorage, Subject, type TestedStorage } from './subject.ts'

/** Options of `storageConformance`. */
export interface ConformanceOptions {
  /**
   * Abandons a storage as the death of its process would, and answers one on the same data. What the abandoned one had
   * under way has happened by then or never will.
   *
   * @default none: the laws of crashes are skipped
   */
  readonly crash?: (storage: TestedStorage) => Awaitable<TestedStorage>
  /**
   * What the storage does not even try to do is `false`; its laws are skipped.
   *
   * @default everything
   */
  readonly capabilities?: {
    /** Tells other owners of changes; without it an engine finds them by its next tick. */
    readonly hints?: boolean
    /** Grants leases without an end to an owner that is alone. */
    readonly endlessLease?: boolean
    /** Keeps the newest chunks of a stream only, as many as its writer says; else it keeps all. */
    readonly boundedHistory?: boolean
  }
}

/** One law of the storage contract, ready to be run by anything that can call a function. */
export interface ConformanceCase {
  /** Never changes: `tokens.settle/late-completion-times-out`. */
  readonly id: string
  /** The law in one sentence. */
  readonly law: string
  /** Resolves when the law holds, in 1970 and in 2099; rejects with a `StorageLawError` when it does not. */
  readonly run: () => Promise<void>
}

export interface StorageConformance {
  readonly cases: readonly ConformanceCase[]
  /** Capabilities whose laws are not among the cases. */
  readonly skipped: readonly Capability[]
}

/** A storage breaks a law of its contract. */
export class StorageLawError extends Error {
  readonly code = 'ERR_STORAGE_LAW'
  /** The id of the law. */
  readonly law: string
  readonly expected: unknown
  readonly seen: unknown

  constructor({ id, law }: Pick<Law, 'id' | 'law'>, { cause, year }: { cause: unknown; year: number }) {
    const story = cause instanceof Mismatch ? cause.message : `it threw ${describeValue(cause)}`
    super(`Storage breaks "${id}" (in ${year}).\n  Law: ${law}\n  ${story}`, { cause })
    this.name = 'StorageLawError'
    this.law = id
    if (!(cause instanceof Mismatch)) return
    this.expected = cause.expected
    this.seen = cause.seen
  }
}

/** The years every law is judged in: long before and long after any real clock, so that one that is read shows. */
const YEARS = [1970, 2099] as const

/**
 * The laws of the storage contract as data: every runner can run them, and a plain loop too.
 *
 * @param open Opens a storage that is empty. Every case opens its own, makes all owners leave it when it is over, and
 *   disposes of it if it has `Symbol.asyncDispose`.
 *
 * @example
 * ```ts
 * const { cases, skipped } = storageConformance(() => myStorage())
 * for (const { id, run } of cases) test(id, run)
 * ```
 */
export function storageConformance(open: OpenStorage, options: ConformanceOptions = {}): StorageConformance {
  if (typeof open !== 'function')
    throw new TypeError(`Cannot use open ${showValue(open)}: it must be a function that opens a storage`)
  requireObject(options, 'the options of storageConformance')
  const skipped = skippedOf(options)
  const { crash } = options
  const all = [...exampleLaws, ...skewLaws, ...historyLaws, ...(crash ? crashLaws(crash) : []), modelLaw]
  const laws = all.filter(({ capability }) => capability === undefined || !skipped.includes(capability))
  return { cases: laws.map((law) => caseOf(law, open)), skipped }
}

function skippedOf({ crash, capabilities = {} }: ConformanceOptions): readonly Capability[] {
  const { hints = true, endlessLease = true, boundedHistory = true } = capabilities
  const has = { crash: crash !== undefined, hints, endlessLease, boundedHistory }
  const names: readonly Capability[] = ['crash', 'hints', 'endlessLease', 'boundedHistory']
  return names.filter((name) => !has[name])
}

function caseOf(law: Law, open: OpenStorage): ConformanceCase {
  const run = async (): Promise<void> => {
    for (const year of YEARS) {
      try {
        await judge(law, open, Date.UTC(year, 0))
      } catch (cause) {
        throw new StorageLawError(law, { cause, year })
      }
    }
  }
  return { id: law.id, law: law.law, run }
}

async function judge(law: Law, open: OpenStorage, origin: number): Promise<void> {
  const another = (): Promise<Subject> => Subject.open(open, origin)
  const subject = await another()
  await subject.use(() => law.check(subject, another))
}
