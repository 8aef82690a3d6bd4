import type { RunRecord } from '../../contract/records.ts'
import type { RunFilter } from '../../contract/storage.ts'
import type { Inside } from '../../core/inside.ts'
import { parseDuration } from '../../primitives/duration.ts'
import { messageOf } from '../../primitives/message.ts'
import { Refusal } from '../refusal.ts'
import type { RunSet } from './run-set.ts'
import { SetPage } from './set-page.ts'

/** A subscriber follows at most this many runs, the newest ones. For more, use the paged list. */
const MOST_RUNS = 1_000
const DEFAULT_PERIOD = '24h'

/** The runs that have all given tags and were created recently. */
export class TaggedRuns implements RunSet {
  readonly tags: readonly string[]
  readonly #inside: Inside
  readonly #periodMs: number

  /** @throws Refusal 400 for a period that cannot be read. */
  constructor(inside: Inside, { searchParams }: URL) {
    this.#inside = inside
    this.tags = (searchParams.get('tags') ?? '').split(',').filter((tag) => tag !== '')
    this.#periodMs = readPeriod(searchParams.get('createdAt') ?? DEFAULT_PERIOD)
  }

  get name(): string {
    return JSON.stringify([this.#periodMs, ...this.tags])
  }

  /** Newest first. */
  async *pages(): AsyncGenerator<readonly RunRecord[]> {
    const { host } = this.#inside
    const from = this.#from()
    // Storages filter by any of the tags. Filtering by one tag leaves few runs to check.
    const filter: RunFilter = this.tags.length === 0 ? { from } : { tags: this.tags.slice(0, 1), from }
    const page = new SetPage()
    let left = MOST_RUNS
    let after: string | undefined
    do {
      const asked = { limit: page.size, after }
      const { records, next } = await this.#inside.read(() => host.storage.runs.list(filter, asked))
      page.read(records)
      const found = records.filter((record) => this.has(record)).slice(0, left)
      left -= found.length
      yield found
      after = next
    } while (after !== undefined && left > 0)
  }

  /** Only the record of a run has its tags. */
  among(ids: ReadonlySet<string>): readonly string[] {
    return [...ids]
  }

  has({ tags, createdAt }: RunRecord): boolean {
    return createdAt >= this.#from() && this.tags.every((tag) => tags.includes(tag))
  }

  #from(): number {
    return this.#inside.host.now() - this.#periodMs
  }
}

function readPeriod(text: string): number {
  try {
    return parseDuration(text, 'createdAt')
  } catch (cause) {
    const message = messageOf(cause)
    throw new Refusal(400, message, { cause })
  }
}
