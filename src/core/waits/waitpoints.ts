import type { TokenRecord, WaitRecord } from '../../contract/records.ts'
import type { Awaitable, TokenAwaited } from '../../contract/storage.ts'
import { onAbort } from '../../primitives/abort.ts'
import { chain, isPromise, unawaited } from '../../primitives/awaitable.ts'
import {
  addTo,
  countOf,
  type Few,
  findItem,
  itemsOf,
  removeFrom,
  withItem,
  withoutItem,
  FewMap,
} from '../../primitives/few.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Host } from '../host/host.ts'
import { assertOpen, hasFinished, type RunScope } from '../attempt/attempt.ts'
import { ACTIVE_STATUSES } from '../../contract/run-states.ts'
import type { Settlement } from './waiter.ts'
import { Waiter } from './waiter.ts'

/** What happens around waits that is not the waits' business. */
export interface WaitpointEvents {
  /** A wait of this run is in the storage; `token` is what it waits for. */
  readonly registered: (scope: RunScope, token: TokenRecord) => void
  /** Calls `delivery` as soon as the run may go on. */
  readonly deliver: (scope: RunScope, delivery: () => void) => void
  /** Asking storage settled this token, by its deadline. */
  readonly settled: (token: TokenRecord) => void
  /** Storage no longer knows this attempt: answers what its wait rejects with. */
  readonly refused: (scope: RunScope) => Awaitable<Error>
}

/**
 * The waits of the runs that execute here. Hot: a wait registers its waiter first, then storage checks or registers in
 * one step, so that there is no moment in which a settlement could pass unseen; a settlement cleans up first and
 * resolves last.
 */
export class Waitpoints {
  readonly #host: Host
  readonly #events: WaitpointEvents
  /** By token. */
  readonly #waiters = new FewMap<Few<Waiter>>()
  /** What was settled and not delivered yet, by token. */
  readonly #undelivered = new FewMap<Few<Waiter>>()

  constructor(host: Host, events: WaitpointEvents) {
    this.#host = host
    this.#events = events
  }

  /** Waits of the runs that execute here and are not settled. */
  get size(): number {
    return this.#waiters.size
  }

  /** Waits for a token; what it is becomes known when `tokenId` answers. */
  wait<Result, Output>(
    waiter: Waiter<Result, Output>,
    tokenId: () => string | Promise<string>,
    signal?: AbortSignal,
  ): Waiter<Result, Output>['promise'] {
    // Inside, waiters differ only in what they resolve with, and that is between a waiter and its own `read`.
    const untyped = waiter as unknown as Waiter
    try {
      assertOpen(waiter.scope)
      signal?.throwIfAborted()
      // From here on the wait ends with the attempt, also when its token is never answered.
      waiter.scope.waits = withItem(waiter.scope.waits, untyped)
      this.#follow(
        untyped,
        chain(tokenId(), (id) => this.#await(untyped, id)),
      )
      if (signal !== undefined && !waiter.isSettled) this.#dropOnAbort(untyped, signal)
    } catch (error) {
      this.#failed(untyped, error)
    }
    return waiter.promise
  }

  /** A token was settled: every wait for it in this engine is over. */
  settled(token: TokenRecord): void {
    const waiters = this.#waiters.get(token.id)
    if (waiters === undefined) return
    this.#waiters.delete(token.id)
    for (const waiter of itemsOf(waiters)) this.#settle(waiter, token)
  }

  /** Whether a ready wait that storage hands over is one that is waited for here. */
  has(wait: WaitRecord): boolean {
    return this.#waiters.get(wait.tokenId) !== undefined
  }

  /** Whether the run has not gone on yet with what it waits for. Looked for where there is less to look through. */
  isAwaited(scope: RunScope, tokenId: string): boolean {
    const lists = [this.#waiters.get(tokenId), this.#undelivered.get(tokenId)]
    const ofToken = lists.reduce((count, waiters) => count + countOf(waiters), 0)
    if (countOf(scope.waits) < ofToken) {
      return findItem(scope.waits, (wait) => wait.tokenId === tokenId) !== undefined
    }
    return lists.some((waiters) => findItem(waiters, (waiter) => waiter.scope === scope) !== undefined)
  }

  #await(waiter: Waiter, tokenId: string): void | Promise<void> {
    const { scope } = waiter
    if (waiter.isSettled || hasFinished(scope)) return
    assertOpen(scope)
    waiter.tokenId = tokenId
    this.#add(waiter)
    const host = this.#host
    const answer = host.storage.tokens.await({
      tokenId,
      runId: scope.id,
      epoch: scope.record.epoch,
      by: host.owner,
      now: host.now(),
    })
    return chain(answer, (awaited) => this.#awaited(waiter, awaited))
  }

  #awaited(waiter: Waiter, awaited: TokenAwaited): void | Promise<void> {
    if (awaited.outcome === 'registered') this.#registered(waiter, awaited.token)
    else if (awaited.outcome === 'settled') {
      if (this.#remove(waiter)) this.#settle(waiter, awaited.token)
      if (awaited.settledNow) this.#events.settled(awaited.token)
    } else if (awaited.outcome === 'stale' && !ACTIVE_STATUSES.includes(waiter.scope.record.status)) {
      // The attempt has ended by itself while storage was asked: a loser like those that were registered in time.
      this.#remove(waiter)
    } else if (awaited.outcome === 'stale') {
      return chain(this.#events.refused(waiter.scope), (reason) => this.#refuse(waiter, reason))
    } else this.#refuse(waiter, tokenNotFound(waiter.tokenId))
  }

  /** A run that has returned since has nobody left to tell. */
  #refuse(waiter: Waiter, reason: Error): void {
    this.#remove(waiter)
    if (!hasFinished(waiter.scope)) reject(waiter, reason)
  }

  /** The wait is in the storage, also when it was over before that became known. */
  #registered(waiter: Waiter, token: TokenRecord): void {
    waiter.isStored = true
    if (waiter.isOpen) {
      waiter.scope.seat.registeredWaits += 1
      this.#events.registered(waiter.scope, token)
    } else if (waiter.isSettled && !waiter.scope.isEnded) this.#release(waiter)
  }

  #settle(waiter: Waiter, token: TokenRecord): void {
    const { scope } = waiter
    close(waiter)
    const deliver = (settlement: Settlement<unknown, unknown>): void => {
      if (waiter.isSettled || hasFinished(scope)) return
      this.#events.deliver(scope, () => {
        this.#consume(waiter)
        scope.waits = withoutItem(scope.waits, waiter)
        waiter.resolve(settlement)
      })
    }
    const fail = (error: unknown): void => {
      if (hasFinished(scope)) return
      this.#events.deliver(scope, () => {
        this.#consume(waiter)
        reject(waiter, error)
      })
    }
    try {
      const settlement = waiter.read(token)
      if (isPromise(settlement)) settlement.then(deliver, fail)
      else deliver(settlement)
    } catch (error) {
      fail(error)
    }
    if (waiter.isSettled) return
    addTo(this.#undelivered, token.id, waiter)
  }

  /** The run has got it: before it parks, storage is to forget the wait. */
  #consume(waiter: Waiter): void {
    const { isStored, isSettled, scope, tokenId } = waiter
    if (this.#undelivered.size > 0) removeFrom(this.#undelivered, waiter.tokenId, waiter)
    if (isStored && !isSettled) scope.seat.consume(tokenId)
  }

  #dropOnAbort(waiter: Waiter, signal: AbortSignal): void {
    const remove = onAbort(signal, (reason) => this.#drop(waiter, reason))
    waiter.stopListening = remove
    waiter.promise.then(remove, remove)
  }

  /** The loser of a race, unless it was settled first. A parked run goes on with a slot, as after any other wait. */
  #drop(waiter: Waiter, reason: unknown): void {
    if (waiter.isSettled) return
    if (waiter.tokenId === '') {
      reject(waiter, reason)
      return
    }
    if (!this.#remove(waiter)) return
    this.#events.deliver(waiter.scope, () => {
      reject(waiter, reason)
      this.#release(waiter)
    })
  }

  /**
   * Storage forgets the wait too, unless another waiter of the same run shares it. Not before the run goes on: until
   * then the wait is what wakes it after a crash.
   */
  #release({ tokenId, scope }: Waiter): void {
    if (this.isAwaited(scope, tokenId)) return
    const { storage, owner } = this.#host
    // A wait that stays behind is dropped with the end of the run.
    const stays = (): void => undefined
    unawaited(() => storage.tokens.release([{ tokenId, runId: scope.id, owner }]), stays)
  }

  #follow(waiter: Waiter, done: void | Promise<void>): void {
    if (!isPromise(done)) return
    done.catch((error: unknown) => this.#failed(waiter, error))
  }

  /** Storage may have registered a wait all the same: it must not wake the run for what nobody waits for. */
  #failed(waiter: Waiter, error: unknown): void {
    const isAsked = waiter.tokenId !== ''
    const wasOpen = this.#remove(waiter)
    waiter.isStored = isAsked
    // Settled meanwhile and about to be delivered: how its registration went is of no interest.
    if (isAsked && !wasOpen && !waiter.isSettled) return
    reject(waiter, error)
    if (isAsked && !waiter.scope.isEnded) this.#release(waiter)
  }

  #add(waiter: Waiter): void {
    waiter.isOpen = true
    addTo(this.#waiters, waiter.tokenId, waiter)
  }

  /** Forgets a waiter; false when it was already taken out. */
  #remove(waiter: Waiter): boolean {
    if (!waiter.isOpen) return false
    removeFrom(this.#waiters, waiter.tokenId, waiter)
    close(waiter)
    return true
  }

  /** The run is over: its waits are no longer waited for here. */
  leave(scope: RunScope): void {
    for (const wait of itemsOf(scope.waits)) {
      if (!(wait instanceof Waiter)) continue
      if (!this.#remove(wait)) removeFrom(this.#undelivered, wait.tokenId, wait)
      wait.stopListening?.()
    }
  }
}

/** The waiter was taken out, and the run no longer has to park for it. */
function close(waiter: Waiter): void {
  if (waiter.isRegistered) waiter.scope.seat.registeredWaits -= 1
  waiter.isOpen = false
}

function reject(waiter: Waiter, error: unknown): void {
  waiter.scope.waits = withoutItem(waiter.scope.waits, waiter)
  waiter.reject(error)
}

/** The error for a token that does not exist. */
export function tokenNotFound(id: string): WaitpointError {
  return new WaitpointError('ERR_TOKEN_NOT_FOUND', `Cannot find token "${id}": there is none with this id`)
}

/** The error for an attempt that lost its run to another one. */
export function staleAttempt(runId: string): WaitpointError {
  return new WaitpointError(
    'ERR_STALE_ATTEMPT',
    `Cannot go on with run "${runId}": another attempt has taken it over since this one lost its lease`,
  )
}
