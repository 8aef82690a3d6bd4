import type { Hint, Unsubscribe } from '../../contract/storage.ts'
import { HintBoard } from '../hint-board.ts'

/** Reports committed changes: to the engines of this process at once, to other processes by a count. */
export class SqliteHints {
  readonly #board = new HintBoard()
  #pending: (() => void)[] = []
  #counted = 0
  /** Owners that have not looked since another process changed something. */
  readonly #stirred = new Set<string>()
  readonly #owners = new Map<string, number>()

  /** Whether the transaction has changed a record that others may wait for. */
  get isAny(): boolean {
    return this.#pending.length > 0
  }

  /** How many transactions from here were counted as changes. */
  get counted(): number {
    return this.#counted
  }

  get hasListeners(): boolean {
    return this.#owners.size > 0
  }

  subscribe(owner: string, listener: (hint: Hint) => void): Unsubscribe {
    const unsubscribe = this.#board.subscribe(owner, listener)
    this.#owners.set(owner, (this.#owners.get(owner) ?? 0) + 1)
    let isOver = false
    return () => {
      unsubscribe()
      if (isOver) return
      isOver = true
      const left = (this.#owners.get(owner) ?? 0) - 1
      if (left > 0) this.#owners.set(owner, left)
      else this.#owners.delete(owner)
    }
  }

  queue(by: string | undefined): void {
    this.#pending.push(() => this.#board.queue(by))
  }

  run(runId: string, by: string | undefined): void {
    this.#pending.push(() => this.#board.run(runId, by))
  }

  created(runId: string, by: string | undefined): void {
    this.#pending.push(() => this.#board.created(runId, by))
  }

  stream(runId: string, key: string, by: string | undefined): void {
    this.#pending.push(() => this.#board.stream(runId, key, by))
  }

  token(by: string | undefined): void {
    this.#pending.push(() => this.#board.token(by))
  }

  waits(owner: string, by: string | undefined): void {
    this.#pending.push(() => this.#board.waits(owner, by))
  }

  all(by: string | undefined): void {
    this.#pending.push(() => this.#board.all(by))
  }

  /** The transaction was committed. */
  send(): void {
    if (this.#pending.length === 0) return
    const pending = this.#pending
    this.#pending = []
    this.#counted += 1
    for (const tell of pending) tell()
    this.#board.flush()
  }

  /** The transaction was rolled back. */
  discard(): void {
    this.#pending = []
  }

  /** Another process has changed something: all engines here tick, and look at everything. */
  stir(): void {
    for (const owner of this.#owners.keys()) {
      this.#stirred.add(owner)
      this.#board.any(owner)
    }
    this.#board.flush()
  }

  /** Whether the owner has not looked since; it does now. */
  takeStirred(owner: string): boolean {
    return this.#stirred.delete(owner)
  }
}
