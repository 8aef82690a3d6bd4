import { DeadlineQueue } from '../../primitives/deadline-queue.ts'
import { itemsOf, withItem, withoutItem } from '../../primitives/few.ts'
import { type EndedEntry, isSettled, RunEntry } from './entries.ts'
import { neededUntil, userOf } from './needs.ts'
import { NOWHERE, OrderedHeap } from '../../primitives/ordered-heap.ts'
import { sizeOf } from './sizes.ts'

/**
 * Finished runs and settled tokens, in the order in which a prune may drop them.
 *
 * Only entries that may go are in that order, and only they count: what has to stay must not crowd out the others. An
 * entry that is needed waits beside until its key or its deadline is over, or with the run that needs it until that ends.
 */
export class EndedEntries {
  readonly #order = new OrderedHeap<EndedEntry>()
  readonly #later = new DeadlineQueue<EndedEntry>()
  readonly #runOf: (id: string) => RunEntry | undefined
  #count = 0
  #bytes = 0
  #arrivals = 0

  constructor(runOf: (id: string) => RunEntry | undefined) {
    this.#runOf = runOf
  }

  /** How many may go. */
  get count(): number {
    return this.#count
  }

  /** The memory of those that may go, as estimated. */
  get bytes(): number {
    return this.#bytes
  }

  /** Of those that may go the one that ended first, at its `at`. */
  get oldest(): EndedEntry | undefined {
    return this.#order.first
  }

  /** The entry has ended, or is needed no longer by one that needed it. */
  add(entry: EndedEntry, now: number): void {
    this.#leave(entry)
    const until = neededUntil(entry)
    if (now < until) {
      this.keepUntil(entry, until)
      return
    }
    const user = userOf(entry, this.#runOf)
    if (user === undefined) this.#enter(entry)
    else this.keepFor(entry, user)
  }

  /** The entry was dropped. */
  drop(entry: EndedEntry): void {
    this.#leave(entry)
    if (entry instanceof RunEntry || entry.asker === undefined) return
    entry.asker.kept = withoutItem(entry.asker.kept, entry)
  }

  /** The entry stays until `instant`. */
  keepUntil(entry: EndedEntry, instant: number): void {
    this.#leave(entry)
    const deadline = this.#later.add(instant, entry)
    if (!(entry instanceof RunEntry)) entry.deadline = deadline
  }

  /** The entry stays until `run` is over. */
  keepFor(entry: EndedEntry, run: RunEntry): void {
    this.#leave(entry)
    run.kept = withItem(run.kept, entry)
  }

  /** The run has ended: what was kept for it may go, if nothing else needs it. */
  release(run: RunEntry, now: number): void {
    const { kept } = run
    run.kept = undefined
    for (const entry of itemsOf(kept)) {
      const isOver = isSettled(entry)
      if (!(entry instanceof RunEntry) && entry.asker === run) {
        entry.asker = undefined
        entry.isAnswered = isOver
      }
      if (isOver && !entry.isDropped) this.add(entry, now)
    }
  }

  /** Looks again at the entries whose time is over. */
  releaseDue(now: number): void {
    for (let due = this.#later.popDue(now); due !== undefined; due = this.#later.popDue(now)) {
      if (!due.value.isDropped) this.add(due.value, now)
    }
  }

  #enter(entry: EndedEntry): void {
    entry.rank = 0
    entry.at = endOf(entry)
    entry.order = this.#arrivals++
    entry.bytes = sizeOf(entry)
    this.#order.add(entry)
    this.#count += 1
    this.#bytes += entry.bytes
  }

  /** Takes the entry from wherever it is, but for the runs that it is kept for. */
  #leave(entry: EndedEntry): void {
    if (!(entry instanceof RunEntry) && entry.deadline !== undefined) {
      this.#later.cancel(entry.deadline)
      entry.deadline = undefined
    }
    if (entry.place === NOWHERE) return
    this.#order.remove(entry)
    this.#count -= 1
    this.#bytes -= entry.bytes
  }
}

function endOf(entry: EndedEntry): number {
  return (entry instanceof RunEntry ? entry.record.finishedAt : entry.record.completedAt) ?? 0
}
