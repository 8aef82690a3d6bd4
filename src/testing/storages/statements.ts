import { macrotaskTurn } from '../../clock/macrotask-turn.ts'
import type { RealIo } from '../../clock/real-io.ts'

/** What is asked of a database server, and not answered yet. */
export class Statements implements RealIo {
  readonly #open = new Set<Promise<unknown>>()

  get isUnderWay(): boolean {
    return this.#open.size > 0
  }

  /** Answers the same promise. */
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

  /** Resolves once nothing is under way, nor what the answers to these have led to. */
  async atRest(): Promise<void> {
    while (this.isUnderWay) await this.ended()
  }
}

/** Of the servers that `WAITPOINT_STORAGE` has this process use. */
export const statements: Statements = new Statements()
