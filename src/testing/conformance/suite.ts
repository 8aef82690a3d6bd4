import type { Awaitable } from '../../contract/storage.ts'
import { requireObject, show as showValue } from '../../primitives/require.ts'
import type { Capability, Law } from './law.ts'
import { exampleLaws } from './laws/example.ts'
import { crashLaws } from './laws/crash.ts'
import { historyLaws } from './laws/history.ts'
import { modelLaw } from './laws/model.ts'
import { overlapLaws } from './laws/overlap.ts'
import { skewLaws } from './laws/skew.ts'
import { Mismatch, describeValue } from './sameness.ts'
import { type OpenStorage, Subject, type TestedStorage } from './subject.ts'

/** Options of `storageConformance`. See docs/writing-a-storage.md. */
export interface ConformanceOptions {
  /**
   * Abandons a storage as the death of its process would, and answers one on the same data. Every call that the abandoned one had
   * under way has happened by then or never will.
   *
   * @default none: the laws of crashes are skipped
   */
  readonly crash?: (storage: TestedStorage) => Awaitable<TestedStorage>
  /**
   * The abilities of the storage. One that it does not offer is `false`; its laws are skipped.
   *
   * @default everything
   */
  readonly capabilities?: {
    /** The storage hints changes to other owners. Without hints, an engine finds changes at its next tick. */
    readonly hints?: boolean
    /** The storage grants endless leases to an owner that is alone. */
    readonly endlessLease?: boolean
    /** The storage keeps only the newest chunks of a stream, as many as its writer asks for; otherwise it keeps all. */
    readonly boundedHistory?: boolean
  }
}

/** One law of the storage contract as a test case, for any test runner. */
export interface ConformanceCase {
  /** A stable id, such as `tokens.settle/late-completion-times-out`. */
  readonly id: string
  /** The law in one sentence. */
  readonly law: string
  /** Resolves when the law holds, in 1970 and in 2099; rejects with a `StorageLawError` when it does not. */
  readonly run: () => Promise<void>
}

export interface StorageConformance {
  readonly cases: readonly ConformanceCase[]
  /** The missing capabilities, whose laws are not among the cases. */
  readonly skipped: readonly Capability[]
}

type Named = 'id' | 'law' | 'capability' | 'optional'

/** A storage violates a law of its contract. */
export class StorageLawError extends Error {
  readonly code = 'ERR_STORAGE_LAW'
  /** The id of the law. */
  readonly law: string
  readonly expected: unknown
  readonly seen: unknown

  constructor(broken: Pick<Law, Named>, { cause, year }: { cause: unknown; year: number }) {
    const { id, law } = broken
    const story = cause instanceof Mismatch ? cause.message : `it threw ${describeValue(cause)}`
    super(`Storage breaks "${id}" (in ${year}).\n  Law: ${law}\n  ${story}${wayOut(broken)}`, { cause })
    this.name = 'StorageLawError'
    this.law = id
    if (!(cause instanceof Mismatch)) return
    this.expected = cause.expected
    this.seen = cause.seen
  }
}

/** What to do if the storage is not to have the ability that a law is about. */
function wayOut({ capability, optional }: Pick<Law, Named>): string {
  const ways = [
    ...(capability === undefined ? [] : [declarationOf(capability)]),
    ...(optional === undefined ? [] : [`leave out ${optional}`]),
  ]
  return ways.length === 0 ? '' : `\n  If the storage does not offer this: ${ways.join(', or ')}.`
}

function declarationOf(capability: Capability): string {
  if (capability === 'crash') return 'leave out the option `crash` of storageConformance'
  return `declare \`capabilities: { ${capability}: false }\``
}

/**
 * Every law is checked in both years, long before and long after the present, so that a storage that reads the real
 * clock fails.
 */
const YEARS = [1970, 2099] as const

/**
 * The laws of the storage contract as test cases, for any test runner or a plain loop. See docs/writing-a-storage.md.
 *
 * @param open Opens an empty storage. Every case opens its own, makes all owners leave at the end, and disposes of it
 * if it has `Symbol.asyncDispose`.
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
  const all = [
    ...exampleLaws,
    ...skewLaws,
    ...historyLaws,
    ...overlapLaws,
    ...(crash ? crashLaws(crash) : []),
    modelLaw,
  ]
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
