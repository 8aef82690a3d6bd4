import type { Hint, Unsubscribe } from '../../contract/storage.ts'
import { HintBoard } from '../hint-board.ts'

/**
 * A hint for other processes. `queue`, `run`, `stream` and `any` end with the owner that need not be told; `waits` names an
 * owner, followed by the runs of the waits, if they are known.
 */
export type FarHint = readonly [topic: Hint['topic'], ...rest: readonly (string | null)[]]

/** Collects hints. Those of a change made by `by` go to all other owners. */
export interface HintCollector {
  /** There is something to claim. */
  queue(by: string | undefined): void
  /** A claim of `owner` has left something to claim. */
  left(owner: string): void
  run(runId: string, by: string | undefined): void
  stream(runId: string, key: string, by: string | undefined): void
  /** Waits of `owner` became ready: of this run, or else it is to look for itself. */
  waits(owner: string, by: string | undefined, runId?: string): void
  /** A slot of a queue was given back. */
  freed(queue: string, by: string | undefined): void
  /** Schedules were changed. */
  all(by: string): void
}

/** Reports committed changes: to the engines of this process at once, to others by messages. */
export class PostgresHints implements HintCollector {
  readonly #board = new HintBoard()
  readonly #sendFar: (hints: readonly FarHint[]) => void
  readonly #limited = new Set<string>()
  #far = new Map<string, FarHint>()
  #hasClaimed = false
  #isPlanned = false
  #subscribers = new Map<string, number>()

  /** `sendFar` tells other processes. */
  constructor(sendFar: (hints: readonly FarHint[]) => void) {
    this.#sendFar = sendFar
  }

  subscribe(owner: string, listener: (hint: Hint) => void): Unsubscribe {
    const unsubscribe = this.#board.subscribe(owner, listener)
    this.#subscribers.set(owner, (this.#subscribers.get(owner) ?? 0) + 1)
    let isOver = false
    return () => {
      unsubscribe()
      if (isOver) return
      isOver = true
      const left = (this.#subscribers.get(owner) ?? 0) - 1
      if (left > 0) this.#subscribers.set(owner, left)
      else this.#subscribers.delete(owner)
    }
  }

  queue(by: string | undefined): void {
    this.#board.queue(by)
    this.#tellFar(['queue', by ?? null])
  }

  left(owner: string): void {
    this.#board.left(owner)
    this.#plan()
  }

  run(runId: string, by: string | undefined): void {
    this.#board.run(runId, by)
    this.#tellFar(['run', runId, by ?? null])
  }

  stream(runId: string, key: string, by: string | undefined): void {
    this.#board.stream(runId, key, by)
    this.#tellFar(['stream', runId, key, by ?? null])
  }

  waits(owner: string, by: string | undefined, runId?: string): void {
    if (owner === by) return
    this.#board.waits(owner, by, runId)
    if (this.#subscribers.has(owner)) this.#plan()
    else this.#tellFar(runId === undefined ? ['waits', owner] : ['waits', owner, runId])
  }

  all(by: string): void {
    this.#board.all(by)
    this.#tellFar(['any', by])
  }

  /** Matters if the queue has a limit, as far as engines of this process know. */
  freed(queue: string, by: string | undefined): void {
    if (!this.#hasClaimed || this.#limited.has(queue)) this.queue(by)
  }

  /** Notes queues that have a limit, as a claim or a resume reported them. */
  learnLimits(queues: Iterable<string>): void {
    this.#hasClaimed = true
    for (const queue of queues) this.#limited.add(queue)
  }

  /** Passes on the hints of another process. */
  hear(hints: readonly FarHint[]): void {
    for (const hint of hints) this.#hearOne(hint)
    this.#board.flush()
  }

  /** Messages may have been lost: all engines here look at everything. */
  stir(): void {
    for (const owner of this.#subscribers.keys()) this.#board.any(owner)
    this.#board.flush()
  }

  #hearOne(hint: FarHint): void {
    const [topic, first, second, third] = hint
    const name = first ?? ''
    switch (topic) {
      case 'queue':
        return this.#board.queue(first ?? undefined)
      case 'run':
        return this.#board.run(name, second ?? undefined)
      case 'stream':
        return this.#board.stream(name, second ?? '', third ?? undefined)
      case 'waits':
        return this.#hearWaits(hint)
      case 'any':
        return this.#board.all(first ?? undefined)
    }
  }

  #hearWaits([, owner, ...runIds]: FarHint): void {
    if (runIds.length === 0) this.#board.waits(owner ?? '', undefined)
    for (const runId of runIds) this.#board.waits(owner ?? '', undefined, runId ?? undefined)
  }

  #tellFar(hint: FarHint): void {
    this.#far.set(hint.join('\n'), hint)
    this.#plan()
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    void Promise.resolve().then(() => {
      this.#isPlanned = false
      const far = this.#far
      this.#far = new Map()
      if (far.size > 0) this.#sendFar([...far.values()])
      this.#board.flush()
    })
  }
}
