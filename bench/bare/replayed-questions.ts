import type { PostgresPool, PostgresResult } from 'waitpoint/postgres'

interface Question {
  readonly text: string
  readonly values: unknown[]
  /** The number of answered questions when this one was asked. */
  readonly after: number
}

/**
 * The queries of a program to a Postgres schema, recorded in order to repeat them on another schema: the same
 * statements with the same rows and the same concurrency.
 */
export class RecordedQuestions {
  readonly #questions: Question[] = []
  readonly #order: number[] = []
  #isOver = false

  /** Records a query, and when it is answered. */
  readonly note = (text: string, values: unknown[], answer: Promise<PostgresResult>): void => {
    if (this.#isOver) return
    const index = this.#questions.push({ text, values, after: this.#order.length }) - 1
    const answered = (): void => void this.#order.push(index)
    answer.then(answered, answered)
  }

  get size(): number {
    return this.#questions.length
  }

  /** Stops recording. */
  stop(): void {
    this.#isOver = true
  }

  /** Repeats the queries on another schema. Each one waits for the answers that had come before it. */
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
