import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'

/** Hands what runs say to whoever asks, in order. The same on both sides of every contest. */
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

  /** The next word; one asks at a time. */
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
