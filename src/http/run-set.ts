import type { RunRecord } from '../contract/records.ts'
import type { RunFilter } from '../contract/storage.ts'
import type { Kernel } from '../core/kernel.ts'
import { parseDuration } from '../primitives/duration.ts'
import { Refusal } from './refusal.ts'

/** How many runs a subscriber follows at most, the newest ones; more would be a list to page through. */
const MOST_RUNS = 1_000
const PAGE = 250
const DEFAULT_PERIOD = '24h'

/** The runs that have all of some tags and were created lately. */
export class RunSet {
  readonly tags: readonly string[]
  readonly #periodMs: number

  /** @throws Refusal 400 for a period that cannot be read. */
  constructor({ searchParams }: URL) {
    this.tags = (searchParams.get('tags') ?? '').split(',').filter((tag) => tag !== '')
    this.#periodMs = readPeriod(searchParams.get('createdAt') ?? DEFAULT_PERIOD)
  }

  /** The same text for the same set. */
  get name(): string {
    return JSON.stringify([this.#periodMs, ...this.tags])
  }

  /** Newest first. */
  async list(kernel: Kernel): Promise<readonly RunRecord[]> {
    const { host } = kernel.parts
    // Storages filter by any of the tags: with one of them nearly all is done.
    const filter: RunFilter = { tags: this.tags.slice(0, 1), from: host.now() - this.#periodMs }
    const wanted = this.tags.length === 0 ? { from: filter.from } : filter
    const found: RunRecord[] = []
    let after: string | undefined
    do {
      const page = { limit: PAGE, after }
      const { records, next } = await kernel.call(() => host.storage.runs.list(wanted, page))
      found.push(...records.filter((record) => this.tags.every((tag) => record.tags.includes(tag))))
      after = next
    } while (after !== undefined && found.length < MOST_RUNS)
    return found.slice(0, MOST_RUNS)
  }
}

function readPeriod(text: string): number {
  try {
    return parseDuration(text, 'createdAt')
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new Refusal(400, message, { cause })
  }
}
