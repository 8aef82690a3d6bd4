import type { TestClock } from '../../clock/test.ts'

/** Longer than any history. What sleeps for so long on the clock of a replay is not busy, and waits for what is replayed. */
export const LONG = '36500d'

interface HeldCall {
  /** What the call asked. */
  readonly questionId: string
  readonly returned: AbortController
}

/** Calls of a run that are done and have not returned: an answer to another question may come before. */
export class HeldCalls {
  readonly #clock: TestClock
  readonly #held: HeldCall[] = []

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#held.length
  }

  has(questionId: string): boolean {
    return this.#held.some((held) => held.questionId === questionId)
  }

  async hold(questionId: string): Promise<void> {
    const returned = new AbortController()
    this.#held.push({ questionId, returned })
    await this.#clock.sleep(LONG, { signal: returned.signal }).catch(() => undefined)
  }

  letAllReturn(): void {
    for (const { returned } of this.#held.splice(0)) returned.abort()
  }

  /** One call returns before the others: they are counted from the oldest on. */
  letReturn(at: number): void {
    for (const { returned } of this.#held.splice(at, 1)) returned.abort()
  }
}
