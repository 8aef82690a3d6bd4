import { Mailbox } from '../bare/mailbox.ts'

/** Peers that replay run a function twice. This reports its questions the first time only. */
export class FirstPass {
  readonly #mailbox = new Mailbox()
  readonly #asking = new Set<string>()

  say(runId: string, tokenId: string): void {
    if (this.#asking.has(runId)) return
    this.#asking.add(runId)
    this.#mailbox.say(tokenId)
  }

  /** The run has continued. */
  forget(runId: string): void {
    this.#asking.delete(runId)
  }

  next(): Promise<string> {
    return this.#mailbox.next()
  }
}
