import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'

/** Delivers messages of runs to readers, in order. Both sides of every contest use it. */
export class Mailbox {
  #said: string[] = []
  #taken = 0
  #asking: DeferredPromise<string> | undefined

  say(word: string): void {
    const asking = this.#asking
    this.#asking = undefined
    if (asking === undefined) this.#said.push(word)
    else asking.resolve(word)
  }

  /** The next message. Only one reader at a time. */
  next(): Promise<string> {
    const word = this.#said[this.#taken]
    if (word !== undefined) {
      this.#taken += 1
      return Promise.resolve(word)
    }
    this.#said = []
    this.#taken = 0
    this.#asking = pDefer<string>()
    return this.#asking.promise
  }
}
