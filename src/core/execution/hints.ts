import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { Hint, TickResult } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Breath } from '../host/breath.ts'
import type { Host } from '../host/host.ts'
import { OTHERS_TOPIC, type Publisher } from '../changes/publisher.ts'
import type { Watchers } from '../changes/watchers.ts'
import { isFinal, runIdOfToken, tokenOfRun } from '../../contract/run-states.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'

const RETRY_MS = 1_000

/** The parts of an engine that hints of storage concern. */
export interface HintKernel {
  readonly host: Host
  readonly breath: Breath
  readonly watchers: Watchers
  readonly events: { error(error: unknown): void }
  readonly publisher: Publisher
  readonly waitpoints: Waitpoints
  readonly streams: { changed(runId: string, key: string): void; doubt(): void }
  readonly slots: { wake(attempt: Attempt): boolean; retry(): void }
  readonly executor: { readonly attempts: { get(runId: string): Attempt | undefined } }
  readonly claimer: { poke(): void; hintsLost(): void }
  readonly schedules: { look(): void } | undefined
  readonly reconciler: { changedElsewhere(runId: string): void; recheck(held?: number): void }
  readonly ticker: {
    dueAt(at: number, what: string): void
    tickNow(tick?: { readonly full?: boolean }): void
  }
}

/** How a tick came to be. */
export interface TickAbout {
  /** An answer was lost before, and with it what it said. */
  readonly isBehind: boolean
  /** It is time to look at what hints should have said: once in a while, or because they may have been lost. */
  readonly isFull: boolean
}

/** Acts on the answers to ticks, and on hints that others changed something. */
export class Hints {
  readonly #kernel: HintKernel

  constructor(kernel: HintKernel) {
    this.#kernel = kernel
  }

  /** Storage has answered a tick. */
  ticked(result: TickResult, { isBehind, isFull }: TickAbout): void {
    const { settled, expired, ready, claimable, leaseUntil, held } = result
    const { publisher, slots, claimer, reconciler } = this.#kernel
    // There are others on this storage, and a hint of theirs may be lost; or an answer was lost, which is not repeated.
    if ((leaseUntil !== undefined && isFull) || isBehind) {
      this.#kernel.streams.doubt()
      publisher.wakeAll()
      reconciler.recheck(isBehind ? undefined : held)
      this.#kernel.schedules?.look()
    }
    for (const token of settled) publisher.token(token)
    publisher.runs(expired)
    this.#ready(ready)
    slots.retry()
    if (claimable || isBehind) claimer.poke()
  }

  /** Storage hints that another engine has changed something. */
  take(hint: Hint): void {
    const { publisher, watchers, ticker, slots, claimer, reconciler } = this.#kernel
    switch (hint.topic) {
      case 'waits':
        return this.#wake(hint.runIds)
      case 'any':
        claimer.hintsLost()
        this.#kernel.schedules?.look()
        return ticker.tickNow({ full: true })
      case 'queue':
        watchers.wake(OTHERS_TOPIC)
        slots.retry()
        return claimer.poke()
      case 'token':
        return watchers.wake(OTHERS_TOPIC)
      case 'run':
        if (hint.isNew === 'one of many') publisher.changedRuns.lose()
        publisher.wake(hint.runId, hint.goesOn === true ? 'goes on' : undefined)
        watchers.wake(OTHERS_TOPIC)
        return hint.isNew === undefined ? reconciler.changedElsewhere(hint.runId) : undefined
      case 'stream':
        this.#kernel.streams.changed(hint.runId, hint.key)
        return watchers.wake(hint.runId)
    }
  }

  /** A run that a hint has named has resumed. `tokens`: the settled ones that it waited for, unless the answer was lost. */
  woken(tokens: readonly TokenRecord[] | undefined): void {
    const { waitpoints, ticker, breath } = this.#kernel
    if (tokens === undefined) ticker.tickNow()
    else breath.inSlices(tokens, (token) => waitpoints.settled(token))
  }

  /** Runs that are named go on if they are parked; from the first that is not, a tick is asked. */
  #wake(runIds: readonly string[] | undefined): void {
    const { executor, slots, ticker } = this.#kernel
    // A run that is gone has nothing to wake.
    const isWoken = (id: string): boolean => {
      const attempt = executor.attempts.get(id)
      return attempt === undefined || slots.wake(attempt)
    }
    if (runIds?.every(isWoken) !== true) ticker.tickNow()
  }

  /** Ready waits: settled elsewhere and waited for here, or delivered long ago and still on storage's list. */
  #ready(ready: readonly WaitRecord[]): void {
    const { waitpoints, host, breath } = this.#kernel
    const delivered = ready.filter((wait) => this.#isDelivered(wait))
    if (delivered.length > 0) this.#report(() => host.storage.tokens.release(delivered))
    const tokenIds = [...new Set(ready.map(({ tokenId }) => tokenId))]
    breath.inSlices(tokenIds, (tokenId) => {
      if (waitpoints.has(tokenId)) this.#report(() => this.#settle(tokenId))
    })
  }

  /** Until the run has gone on, be it that it waits for a slot, the wait wakes it after a crash. */
  #isDelivered({ tokenId, runId }: WaitRecord): boolean {
    const { executor, waitpoints, host } = this.#kernel
    const attempt = executor.attempts.get(runId)
    // An engine that closes has left its runs to the next one, which finds them by their waits.
    if (attempt === undefined || attempt.isEnded) return !host.isClosing
    return !waitpoints.isAwaited(attempt, tokenId)
  }

  #settle(tokenId: string): void | Promise<void> {
    const { host, publisher, waitpoints } = this.#kernel
    const runId = runIdOfToken(tokenId)
    if (runId === undefined) {
      return chain(host.storage.tokens.get(tokenId, host.now()), (token) => {
        if (token?.settledNow === true) publisher.token(token.record)
        else if (token !== undefined && token.record.status !== 'WAITING') waitpoints.settled(token.record)
      })
    }
    return chain(host.storage.runs.get(runId), (record) => {
      if (record !== undefined && isFinal(record.status)) waitpoints.settled(tokenOfRun(record))
    })
  }

  #report(action: () => void | Promise<void>): void {
    const { events, ticker, host } = this.#kernel
    const failed = (error: unknown): void => {
      events.error(error)
      // Storage hands over again the waits that were not taken.
      ticker.dueAt(host.now() + RETRY_MS, 'a hint that failed')
    }
    unawaited(action, failed)
  }
}
