import type { PostgresPool, PostgresResult } from 'waitpoint/postgres'

interface Question {
  readonly text: string
  readonly values: unknown[]
  /** How many were answered when it was asked. */
  readonly after: number
}

/**
 * What a program asks of a Postgres schema, to be asked of another one: the same statements with the same rows, as many
 * of them at once.
 */
export class RecordedQuestions {
  readonly #questions: Question[] = []
  readonly #order: number[] = []
  #isOver = false

  /** Notes a question, and when it is answered. */
  readonly note = (text: string, values: unknown[], answer: Promise<PostgresResult>): void => {
    if (this.#isOver) return
    const index = this.#questions.push({ text, values, after: this.#order.length }) - 1
    const answered = (): void => void this.#order.push(index)
    answer.then(answered, answered)
  }

  get size(): number {
    return this.#questions.length
  }

  /** From now on nothing more is noted. */
  stop(): void {
    this.#isOver = true
  }

  /** Asks them all of another schema: each one when those have been answered that had been answered before it. */
  async ask(pool: PostgresPool, from: string, to: string): Promise<void> {
    const answers: Promise<unknown>[] = []
    for (const { text, values, after } of this.#questions) {
      const earlier = new Set(this.#order.slice(0, after))
      await Promise.all(answers.filter((_, index) => earlier.has(index)))
      answers.push(pool.query(text.replaceAll(from, to), values))
    }
    await Promise.all(answers)
  }
}
