import { AsyncLocalStorage } from 'node:async_hooks'
import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Approvals, Draft, Review, Verdict } from './approvals.ts'
import { turn } from '../turn.ts'
import { Mailbox } from './mailbox.ts'

const scopes = new AsyncLocalStorage<{ readonly id: string }>()

/**
 * The barest form: a suspended async function in an AsyncLocalStorage scope, a `Map`, and one `p-defer` for its wait.
 * It has no record, no JSON and no deadline; a run is its promise.
 */
export class DeferredApprovals implements Approvals {
  readonly #mailbox = new Mailbox()
  readonly #waits = new Map<string, DeferredPromise<Verdict>>()
  #runs = 0

  trigger(draft: Draft): Promise<{ result(): Promise<Review> }> {
    const id = `run_${(this.#runs += 1)}`
    const review = scopes.run({ id }, () => this.#review(draft))
    return Promise.resolve({ result: () => review })
  }

  async #review({ doc }: Draft): Promise<Review> {
    const tokenId = `token_of_${scopes.getStore()?.id ?? ''}`
    const wait = pDefer<Verdict>()
    this.#waits.set(tokenId, wait)
    this.#mailbox.say(tokenId)
    const { approved } = await wait.promise
    return { doc, approved }
  }

  complete(tokenId: string, verdict: Verdict): Promise<unknown> {
    this.#waits.get(tokenId)?.resolve(verdict)
    this.#waits.delete(tokenId)
    return Promise.resolve()
  }

  asked(): Promise<string> {
    return this.#mailbox.next()
  }

  parked(): Promise<void> {
    return turn()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}
