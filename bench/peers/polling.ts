import { setTimeout as sleep } from 'node:timers/promises'

/** The worker of a peer, polled repeatedly: at once after it had work, otherwise after `intervalMs`. */
export class Polling {
  readonly #work: () => Promise<boolean>
  readonly #intervalMs: number
  readonly #ended: Promise<void>
  #isOn = true

  constructor(intervalMs: number, work: () => Promise<boolean>) {
    this.#intervalMs = intervalMs
    this.#work = work
    this.#ended = this.#poll()
  }

  stop(): Promise<void> {
    this.#isOn = false
    return this.#ended
  }

  async #poll(): Promise<void> {
    while (this.#isOn) {
      if (!(await this.#work())) await sleep(this.#intervalMs)
    }
  }
}
