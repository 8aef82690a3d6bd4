import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { Hint, TickResult } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import type { Executor } from './executor.ts'
import type { Host } from '../host/host.ts'
import type { RunJournal } from '../changes/run-journal.ts'
import { isFinal, runIdOfToken, tokenOfRun } from '../../contract/run-states.ts'
import type { Slots } from './slots.ts'
import { streamsTopic, streamTopic } from '../streams/channel.ts'
import type { TickAbout, Ticker } from './ticker.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'

const RETRY_MS = 1_000

export interface NewsOptions {
  readonly host: Host
  readonly journal: RunJournal
  readonly waitpoints: Waitpoints
  readonly slots: Slots
  readonly executor: Executor
  readonly ticker: Ticker
}

/** Acts on what storage says: what a tick found, and hints that others changed something. */
export class StorageNews {
  readonly #options: NewsOptions

  constructor(options: NewsOptions) {
    this.#options = options
  }

  ticked(result: TickResult, { isBehind, isFull }: TickAbout): void {
    const { settled, expired, ready, claimable, leaseUntil, held } = result
    const { journal, slots, executor } = this.#options
    // There are others on this storage, and hints are only hints; or an answer was lost, and nobody tells it again.
    if ((leaseUntil !== undefined && isFull) || isBehind) {
      journal.lost()
      executor.recheck(isBehind ? undefined : held)
    }
    for (const token of settled) journal.token(token)
    journal.runs(expired)
    this.#ready(ready)
    slots.retry()
    if (claimable || isBehind) executor.poke()
  }

  hint(hint: Hint): void {
    const { journal, ticker, slots, executor } = this.#options
    switch (hint.topic) {
      case 'waits':
        return this.#wake(hint.runIds)
      case 'any':
        executor.lost()
        return ticker.lookAtAll()
      case 'queue':
        slots.retry()
        return executor.poke()
      case 'run':
        journal.touched(hint.runId)
        return executor.changedElsewhere(hint.runId)
      case 'stream':
        journal.feed.notify(streamTopic(hint.runId, hint.key))
        journal.feed.notify(streamsTopic(hint.runId))
        return journal.feed.notify(hint.runId)
      case 'token':
        return
    }
  }

  /** What a run that storage named waited for, as its resume says; a lost answer has not. */
  woken(tokens: readonly TokenRecord[] | undefined): void {
    const { waitpoints, ticker } = this.#options
    if (tokens === undefined) ticker.request()
    else for (const token of tokens) waitpoints.settled(token)
  }

  /** Runs that are named go on if they are parked; from the first that is not, a tick is asked. */
  #wake(runIds: readonly string[] | undefined): void {
    const { executor, slots, ticker } = this.#options
    // A run that is gone has nothing to wake.
    const isWoken = (id: string): boolean => {
      const scope = executor.scopes.get(id)
      return scope === undefined || slots.wake(scope)
    }
    if (runIds?.every(isWoken) !== true) ticker.request()
  }

  /** Ready waits: settled elsewhere and waited for here, or delivered long ago and still on storage's list. */
  #ready(ready: readonly WaitRecord[]): void {
    const { waitpoints, host } = this.#options
    const delivered = ready.filter((wait) => this.#isDelivered(wait))
    if (delivered.length > 0) this.#report(() => host.storage.tokens.release(delivered))
    for (const wait of ready) if (waitpoints.has(wait)) this.#report(() => this.#deliver(wait.tokenId))
  }

  /** Until the run has gone on, be it that it waits for a slot, the wait is what wakes it after a crash. */
  #isDelivered({ tokenId, runId }: WaitRecord): boolean {
    const { executor, waitpoints } = this.#options
    const scope = executor.scopes.get(runId)
    return scope === undefined || !waitpoints.isAwaited(scope, tokenId)
  }

  #deliver(tokenId: string): void | Promise<void> {
    const { host, journal, waitpoints } = this.#options
    const runId = runIdOfToken(tokenId)
    if (runId === undefined) {
      return chain(host.storage.tokens.get(tokenId, host.now()), (token) => {
        if (token?.settledNow === true) journal.token(token.record)
        else if (token !== undefined && token.record.status !== 'WAITING') waitpoints.settled(token.record)
      })
    }
    return chain(host.storage.runs.get(runId), (record) => {
      if (record !== undefined && isFinal(record.status)) waitpoints.settled(tokenOfRun(record))
    })
  }

  #report(action: () => void | Promise<void>): void {
    const { journal, ticker, host } = this.#options
    const failed = (error: unknown): void => {
      journal.events.error(error)
      // Storage hands over again what was not taken.
      ticker.expect(host.now() + RETRY_MS, 'news that failed')
    }
    unawaited(action, failed)
  }
}
