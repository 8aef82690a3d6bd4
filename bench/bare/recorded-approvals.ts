import { AsyncLocalStorage } from 'node:async_hooks'
import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Approvals, Draft, Review, Verdict } from './approvals.ts'
import { turn } from '../turn.ts'
import { Mailbox } from './mailbox.ts'

interface RunRow {
  readonly id: string
  readonly status: 'QUEUED' | 'EXECUTING' | 'COMPLETED'
  readonly payloadJson: string
  readonly outputJson: string | undefined
  readonly createdAt: number
  readonly finishedAt: number | undefined
}

interface TokenRow {
  readonly id: string
  readonly runId: string
  readonly status: 'WAITING' | 'COMPLETED'
  readonly outputJson: string | undefined
  readonly timeoutAt: number
  readonly createdAt: number
  readonly completedAt: number | undefined
}

const TIMEOUT_MS = 600_000
const scopes = new AsyncLocalStorage<{ readonly id: string }>()

/**
 * The bare limit of a run with one wait: one record for the run and one for the token, replaced at every step and kept
 * in a `Map` each; payload and outputs as JSON text, written and read once; a `p-defer` for the wait and one for the
 * result; the function suspended in an AsyncLocalStorage scope, started in a microtask of its own.
 *
 * It leaves out everything else that an engine must do: checks, sortable ids, leases and fences, a queue with slots,
 * deadlines that fire, events, subscriptions, retries, cancellation, pruning.
 */
export class RecordedApprovals implements Approvals {
  readonly #mailbox = new Mailbox()
  readonly #runs = new Map<string, RunRow>()
  readonly #tokens = new Map<string, TokenRow>()
  readonly #waits = new Map<string, DeferredPromise<Verdict>>()
  #ids = 0

  trigger(draft: Draft): Promise<{ result(): Promise<Review> }> {
    const run: RunRow = {
      id: `run_${(this.#ids += 1)}`,
      status: 'QUEUED',
      payloadJson: JSON.stringify(draft),
      outputJson: undefined,
      createdAt: Date.now(),
      finishedAt: undefined,
    }
    this.#runs.set(run.id, run)
    const result = pDefer<Review>()
    queueMicrotask(() => void scopes.run({ id: run.id }, () => this.#execute(run, result)))
    return Promise.resolve({ result: () => result.promise })
  }

  async #execute(run: RunRow, result: DeferredPromise<Review>): Promise<void> {
    this.#runs.set(run.id, { ...run, status: 'EXECUTING' })
    const review = await this.#review(JSON.parse(run.payloadJson) as Draft)
    const outputJson = JSON.stringify(review)
    this.#runs.set(run.id, { ...run, status: 'COMPLETED', outputJson, finishedAt: Date.now() })
    result.resolve(JSON.parse(outputJson) as Review)
  }

  async #review({ doc }: Draft): Promise<Review> {
    const { id } = await this.#createToken()
    this.#mailbox.say(id)
    const { approved } = await this.#forToken(id)
    return { doc, approved }
  }

  #createToken(): Promise<TokenRow> {
    const now = Date.now()
    const token: TokenRow = {
      id: `token_${(this.#ids += 1)}`,
      runId: scopes.getStore()?.id ?? '',
      status: 'WAITING',
      outputJson: undefined,
      timeoutAt: now + TIMEOUT_MS,
      createdAt: now,
      completedAt: undefined,
    }
    this.#tokens.set(token.id, token)
    return Promise.resolve(token)
  }

  #forToken(id: string): Promise<Verdict> {
    const wait = pDefer<Verdict>()
    this.#waits.set(id, wait)
    return wait.promise
  }

  complete(id: string, verdict: Verdict): Promise<unknown> {
    const token = this.#tokens.get(id)
    if (token?.status !== 'WAITING') return Promise.resolve({ success: false })
    const outputJson = JSON.stringify(verdict)
    this.#tokens.set(id, { ...token, status: 'COMPLETED', outputJson, completedAt: Date.now() })
    const wait = this.#waits.get(id)
    this.#waits.delete(id)
    wait?.resolve(JSON.parse(outputJson) as Verdict)
    return Promise.resolve({ success: true })
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
