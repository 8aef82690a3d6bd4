/** What `setTimeout` answers in virtual time; it keeps no process alive, whatever it is told. */
export class VirtualTimeout {
  readonly #callback: () => void
  readonly #sleep: (signal: AbortSignal) => Promise<void>
  #controller: AbortController
  #isReferenced = true

  constructor(callback: () => void, sleep: (signal: AbortSignal) => Promise<void>) {
    this.#callback = callback
    this.#sleep = sleep
    this.#controller = this.#start()
  }

  /** Counts anew from now on. */
  refresh(): this {
    this.close()
    this.#controller = this.#start()
    return this
  }

  close(): this {
    this.#controller.abort()
    return this
  }

  ref(): this {
    this.#isReferenced = true
    return this
  }

  unref(): this {
    this.#isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.#isReferenced
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #start(): AbortController {
    const controller = new AbortController()
    const ignore = (): void => undefined
    void this.#sleep(controller.signal).then(this.#callback, ignore)
    return controller
  }
}
