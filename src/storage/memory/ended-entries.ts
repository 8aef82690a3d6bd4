import type { KeyRecord } from '../../contract/records.ts'
import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { RunEntry, type TokenEntry } from './entries.ts'
import { NOWHERE, OrderedHeap } from '../../primitives/ordered-heap.ts'

export type EndedEntry = RunEntry | TokenEntry

/**
 * Finished runs and settled tokens, in the order in which a prune may drop them.
 *
 * Entries that must be kept leave that order, so that no prune meets them again. They come back when their idempotency
 * key expires or the run they belong to ends.
 */
export class EndedEntries {
  readonly #order = new OrderedHeap<EndedEntry>()
  readonly #keyed = new DeadlineQueue<EndedEntry>()
  readonly #kept = new Map<RunEntry, EndedEntry[]>()
  #count = 0
  #arrivals = 0

  /** All that have ended and were not dropped. */
  get count(): number {
    return this.#count
  }

  add(entry: EndedEntry): void {
    this.#count += 1
    this.#enqueue(entry)
  }

  /** The one that ended first, at its `at`. */
  get oldest(): EndedEntry | undefined {
    return this.#order.first
  }

  /** The entry was dropped. */
  drop(entry: EndedEntry): void {
    this.#count -= 1
    this.#dequeue(entry)
  }

  /** The entry stays until its key has expired. */
  keepUntil(entry: EndedEntry, instant: number): void {
    this.#dequeue(entry)
    this.#keyed.add(instant, entry)
  }

  /** The entry stays until `run` is over. */
  keepFor(entry: EndedEntry, run: RunEntry): void {
    this.#dequeue(entry)
    const kept = this.#kept.get(run)
    if (kept === undefined) this.#kept.set(run, [entry])
    else kept.push(entry)
  }

  /** Puts the entries that were kept for a run back in order, once the run has ended. */
  release(run: RunEntry): void {
    const kept = this.#kept.get(run)
    if (kept === undefined) return
    this.#kept.delete(run)
    for (const entry of kept) this.#enqueue(entry)
  }

  /** Puts the entries that were kept for expired keys back in order. */
  releaseKeys(now: number): void {
    for (let due = this.#keyed.popDue(now); due !== undefined; due = this.#keyed.popDue(now)) {
      this.#enqueue(due.value)
    }
  }

  #enqueue(entry: EndedEntry): void {
    if (entry.isDropped) return
    entry.rank = 0
    entry.at = endOf(entry)
    entry.order = this.#arrivals++
    this.#order.add(entry)
  }

  #dequeue(entry: EndedEntry): void {
    if (entry.place !== NOWHERE) this.#order.remove(entry)
  }
}

/** Until when a key keeps its record. A key without an end is valid as long as there is a record: it keeps nothing. */
export function keptUntil(key: KeyRecord | undefined): number {
  return key?.expiresAt ?? -Infinity
}

function endOf(entry: EndedEntry): number {
  return (entry instanceof RunEntry ? entry.record.finishedAt : entry.record.completedAt) ?? 0
}
