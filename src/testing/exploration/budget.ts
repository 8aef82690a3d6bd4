import type { Clock } from '../../contract/clock.ts'

interface BudgetOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly runs: number
  readonly ms: number
}

/** The schedules and the real time that an exploration may take. */
export class Budget {
  readonly #clock: Pick<Clock, 'now'>
  readonly #all: { readonly runs: number; readonly ms: number }
  readonly #endsAt: number
  #runs = 0

  constructor({ clock, runs, ms }: BudgetOptions) {
    this.#clock = clock
    this.#all = { runs, ms }
    this.#endsAt = clock.now() + ms
  }

  get isSpent(): boolean {
    return this.#runs >= this.#all.runs || this.#clock.now() > this.#endsAt
  }

  /** Counts a schedule. */
  spend(): void {
    this.#runs += 1
  }

  /** What is left, and at least a quarter of the whole: a failure that was found late is to be shrunk too. */
  rest(): Budget {
    const { runs, ms } = this.#all
    return new Budget({
      clock: this.#clock,
      runs: Math.max(runs - this.#runs, Math.ceil(runs / 4)),
      ms: Math.max(this.#endsAt - this.#clock.now(), ms / 4),
    })
  }
}
