/** Carries out calls one after the other, in order of arrival. */
export class CallQueue {
  #last: Promise<unknown> = Promise.resolve()
  #open = 0
  #listener: (() => void) | undefined

  get isIdle(): boolean {
    return this.#open === 0
  }

  /** Sets the one listener, called when the last open call has ended. */
  onIdle(listener: () => void): void {
    this.#listener = listener
  }

  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#open += 1
    const previous = this.#last
    const current = previous.then(call, call)
    this.#last = current
    try {
      return await current
    } finally {
      this.#open -= 1
      if (this.#open === 0) this.#listener?.()
    }
  }
}
