import { KeyedTurns } from '../../primitives/keyed-turns.ts'
import type { Host } from '../host/host.ts'

const PAGE = 100
const MOST_PAGES = 10
/** What was read is used again for so long: an engine that opens asks for all its schedules. */
const FRESH_MS = 1_000

interface Reading {
  readonly at: number
  /** The instants that were found, by the scopes of their keys. */
  readonly found: Map<string, number>
  after: string | undefined
  pagesLeft: number
}

/** Finds the newest instant that a schedule has a run for. Schedules of one task share what was read of its runs. */
export class LastRuns {
  readonly #host: Host
  readonly #turns: KeyedTurns = new KeyedTurns()
  readonly #readings = new Map<string, Reading>()

  constructor(host: Host) {
    this.#host = host
  }

  /** The instant of the newest run whose key is of this scope. Other runs are passed over, a thousand at most. */
  newest(taskId: string, scope: string): Promise<number | undefined> {
    return this.#turns.take(taskId, async () => {
      const reading = this.#readingOf(taskId)
      while (!reading.found.has(scope) && reading.pagesLeft > 0) await this.#readOn(taskId, reading)
      return reading.found.get(scope)
    })
  }

  #readingOf(taskId: string): Reading {
    const at = this.#host.now()
    const known = this.#readings.get(taskId)
    if (known !== undefined && at >= known.at && at - known.at < FRESH_MS) return known
    const reading: Reading = { at, found: new Map(), after: undefined, pagesLeft: MOST_PAGES }
    this.#readings.set(taskId, reading)
    return reading
  }

  async #readOn(taskId: string, reading: Reading): Promise<void> {
    const { after, found } = reading
    const { runs } = this.#host.storage
    const { records, next } = await runs.list({ taskIds: [taskId] }, { limit: PAGE, after })
    for (const { key } of records)
      if (key !== undefined && !found.has(key.scope)) found.set(key.scope, Number(key.value))
    reading.after = next
    reading.pagesLeft = next === undefined ? 0 : reading.pagesLeft - 1
  }
}
