import { stderr } from 'node:process'
import type { Clock } from '../../contract/clock.ts'

const EVERY_MS = 200

export interface ProgressOptions {
  readonly clock: Pick<Clock, 'now'>
  readonly budget: { readonly runs: number; readonly ms: number }
  /** The output: a terminal, or nothing is written. */
  readonly out?: { readonly isTTY?: boolean; write(text: string): unknown }
  /** The environment, like `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/** One status line on a terminal for a long exploration; silent in CI and without a terminal. */
export class Progress {
  readonly #clock: Pick<Clock, 'now'>
  readonly #budget: ProgressOptions['budget']
  readonly #out: NonNullable<ProgressOptions['out']>
  readonly #isShown: boolean
  readonly #startedAt: number
  #shownAt: number
  #hasWritten = false

  constructor({ clock, budget, out = stderr, env = process.env }: ProgressOptions) {
    this.#clock = clock
    this.#budget = budget
    this.#out = out
    this.#isShown = out.isTTY === true && (env['CI'] ?? '') === ''
    this.#startedAt = clock.now()
    this.#shownAt = this.#startedAt
  }

  /** Reports an executed schedule. */
  ran(runs: number, deepest: number): void {
    if (!this.#isShown) return
    const now = this.#clock.now()
    if (now - this.#shownAt < EVERY_MS) return
    this.#shownAt = now
    this.#hasWritten = true
    const passedMs = now - this.#startedAt
    const rate = Math.round((runs * 1_000) / passedMs)
    const byRuns = ((this.#budget.runs - runs) * 1_000) / Math.max(1, rate)
    const leftS = Math.max(0, Math.ceil(Math.min(this.#budget.ms - passedMs, byRuns) / 1_000))
    const line = `exploring: ${runs} schedules, ${rate}/s, up to ${deepest} deviations, at most ${leftS} s left`
    this.#out.write(`\r\u001b[2K${line}`)
  }

  /** Removes the line. */
  end(): void {
    if (this.#hasWritten) this.#out.write('\r\u001b[2K')
  }
}
