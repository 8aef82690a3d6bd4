import { macrotaskTurn } from '../../clock/macrotask-turn.ts'
import type { RealIo } from '../../clock/real-io.ts'

/** Statements sent to a database server and not answered yet. */
export class Statements implements RealIo {
  readonly #open = new Set<Promise<unknown>>()

  get isUnderWay(): boolean {
    return this.#open.size > 0
  }

  /** Records a pending statement. Returns the promise. */
  watch<Answer>(answer: Promise<Answer>): Promise<Answer> {
    this.#open.add(answer)
    const done = (): boolean => this.#open.delete(answer)
    answer.then(done, done)
    return answer
  }

  async ended(): Promise<void> {
    await Promise.allSettled(this.#open)
    await macrotaskTurn()
  }

  /** Resolves when no statement is pending, including those that followed from the answers. */
  async atRest(): Promise<void> {
    while (this.isUnderWay) await this.ended()
  }
}

/** The statements to the servers that `WAITPOINT_STORAGE` selects for this process. */
export const statements: Statements = new Statements()
