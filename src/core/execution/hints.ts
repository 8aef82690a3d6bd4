import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { Hint, TickResult } from '../../contract/storage.ts'
import { chain, unawaited } from '../../primitives/awaitable.ts'
import type { Breath } from '../host/breath.ts'
import type { Host } from '../host/host.ts'
import type { Ticker } from '../host/ticker.ts'
import type { EventQueue } from '../changes/events.ts'
import { OTHERS_TOPIC, type Publisher } from '../changes/publisher.ts'
import type { Watchers } from '../changes/watchers.ts'
import { isFinal, runIdOfToken, tokenOfRun } from '../../contract/run-states.ts'
import type { Slots } from '../slots/slots.ts'
import type { RunStreams } from '../streams/registry.ts'
import type { TickAbout, Upcalls } from '../upcalls.ts'
import type { Waitpoints } from '../waits/waitpoints.ts'
import type { Claimer } from './claimer.ts'
import type { Executor } from './executor.ts'
import type { Reconciler } from './reconciler.ts'

const RETRY_MS = 1_000

interface Parts {
  readonly host: Host
  readonly breath: Breath
  readonly watchers: Watchers
  readonly events: EventQueue
  readonly publisher: Publisher
  readonly ticker: Ticker
  readonly slots: Slots
  readonly waitpoints: Waitpoints
  readonly streams: RunStreams
  readonly executor: Executor
  readonly claimer: Claimer
  readonly reconciler: Reconciler
  readonly upcalls: Upcalls
}

/** Acts on the answers to ticks, and on hints that others changed something. */
export class Hints {
  readonly #kernel: Parts

  constructor(kernel: Parts) {
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
      this.#kernel.upcalls.schedulesChanged()
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
        this.#kernel.upcalls.schedulesChanged()
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
