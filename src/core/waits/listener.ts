import type { TokenRecord } from '../../contract/records.ts'
import type { TokenSignal, WaitResult } from '../../api/token.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { Attempt, Settlement } from '../attempt/attempt.ts'
import { Waiter } from './waiter.ts'

/** A wait that no code awaits: its run has other things to do, and does not park for it. */
export class UnawaitedWaiter<Result, Output> extends Waiter<Result, Output> {
  override awaited(): void {
    // See above.
  }
}

/** The answer to a token, which aborts a signal. */
export class Listener<Output> extends UnawaitedWaiter<WaitResult<Output>, Output> {
  readonly #controller = new AbortController()
  readonly #begun: Deferred<TokenSignal<Output>> = createDeferred()

  constructor(attempt: Attempt, read: (token: TokenRecord) => Settlement<WaitResult<Output>, Output>) {
    super(attempt, (token) => {
      // It has its turn among the answers that were there before, some of which its flow has yet to ask for.
      if (attempt.isReplaying) this.#begin()
      return read(token)
    })
    const answered = (answer: WaitResult<Output>): void => {
      if (answer.ok) {
        const { tokenId } = this
        const reason = new DOMException(`Token "${tokenId}" was completed`, 'AbortError')
        this.#controller.abort(Object.assign(reason, { tokenId, output: answer.output }))
      }
      this.#begin()
    }
    this.promise.then(answered, this.#begun.reject)
  }

  /** The signal, once the wait is registered, or over. */
  get begun(): Promise<TokenSignal<Output>> {
    return this.#begun.promise
  }

  override stored(): void {
    super.stored()
    this.#begin()
  }

  #begin(): void {
    this.#begun.resolve(this.#controller.signal)
  }
}
