import type { TokenRecord } from '../../contract/records.ts'
import type { TokenAwaited } from '../../contract/storage.ts'
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
import { tokenNotFound } from '../../api/not-found.ts'
import { WAIT } from '../diagnostics.ts'
import type { Breath } from '../host/breath.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import { AWAIT_TOKEN } from '../host/storage-calls.ts'
import type { Ticker } from '../host/ticker.ts'
import type { Publisher } from '../changes/publisher.ts'
import type { Slots } from '../slots/slots.ts'
import type { Upcalls } from '../upcalls.ts'
import type { Attempt, AttemptWait, Settlement, WaitOutcome } from '../attempt/attempt.ts'
import { assertOpen, hasFinished } from '../attempt/attempt.ts'
import { ACTIVE_STATUSES } from '../../contract/run-states.ts'
import { Waiter } from './waiter.ts'

interface Parts {
  readonly host: Host
  readonly breath: Breath
  readonly outage: Outage
  readonly ticker: Ticker
  readonly publisher: Publisher
  readonly slots: Slots
  readonly upcalls: Upcalls
}

/**
 * The waits of the runs that execute here. Hot: a wait registers its waiter first, then storage checks or registers in
 * one step, so that there is no moment in which a settlement could pass unseen; a settlement cleans up first and
 * resolves last.
 */
export class Waitpoints {
  readonly #kernel: Parts
  /** By token. */
  readonly #waiters = new FewMap<Few<Waiter>>()
  /** Waiters of settled tokens that are not delivered yet, by token. */
  readonly #undelivered = new FewMap<Few<AttemptWait>>()

  constructor(kernel: Parts) {
    this.#kernel = kernel
  }

  /** Waits of the runs that execute here and are not settled. */
  get size(): number {
    return this.#waiters.size
  }

  /** The waiter of a wait that is about to begin. */
  waiter<Result, Output>(attempt: Attempt, read: Waiter<Result, Output>['read']): Waiter<Result, Output> {
    return new Waiter(attempt, read)
  }

  /** Waits for a token; its id becomes known when `tokenId` answers. */
  wait<Result, Output>(
    waiter: Waiter<Result, Output>,
    tokenId: (attempt: Attempt) => string | Promise<string>,
    signal?: AbortSignal,
  ): Waiter<Result, Output>['promise'] {
    // Inside, waiters differ only in the values they resolve with, and these are between a waiter and its own `read`.
    const untyped = waiter as unknown as Waiter
    try {
      assertOpen(waiter.attempt)
      signal?.throwIfAborted()
      // From here on the wait ends with the attempt, also when its token is never answered.
      untyped.since = waiter.attempt.handed
      waiter.attempt.waits = withItem(waiter.attempt.waits, untyped)
      const id = tokenId(waiter.attempt)
      const done = isPromise(id) ? this.#awaitLater(untyped, id) : this.#await(untyped, id)
      if (isPromise(done)) this.#follow(untyped, done)
      if (signal !== undefined && !waiter.isSettled) this.#dropOnAbort(untyped, signal)
    } catch (error) {
      this.#failed(untyped, error)
    }
    return waiter.promise
  }

  /** A token was settled: every wait for it in this engine is over. Each reads the token for itself, and it may be large. */
  settled(token: TokenRecord): void {
    const waiters = this.#waiters.get(token.id)
    if (waiters === undefined) return
    if (waiters instanceof Waiter) this.#settleWaiter(waiters, token)
    else this.#kernel.breath.inSlices(itemsOf(waiters), (waiter) => this.#settleWaiter(waiter, token))
  }

  #settleWaiter(waiter: Waiter, token: TokenRecord): void {
    if (this.#remove(waiter)) this.#settle(waiter, token)
  }

  /** A run that waits for the token here. */
  waiting(tokenId: string): Attempt | undefined {
    const [waiter] = itemsOf(this.#waiters.get(tokenId))
    return waiter?.attempt
  }

  /** Whether a token that storage calls settled is waited for here. */
  has(tokenId: string): boolean {
    return this.#waiters.get(tokenId) !== undefined
  }

  /** Whether the run has not gone on yet with its waits. Looked for where there is less to look through. */
  isAwaited(attempt: Attempt, tokenId: string): boolean {
    const lists = [this.#waiters.get(tokenId), this.#undelivered.get(tokenId)]
    const ofToken = lists.reduce((count, waiters) => count + countOf(waiters), 0)
    if (countOf(attempt.waits) < ofToken) {
      return findItem(attempt.waits, (wait) => wait.tokenId === tokenId) !== undefined
    }
    return lists.some((waiters) => findItem(waiters, (waiter) => waiter.attempt === attempt) !== undefined)
  }

  /** Apart from `wait`, which would pay for what this captures. */
  #awaitLater(waiter: Waiter, id: Promise<string>): Promise<void> {
    return id.then((tokenId) => this.#await(waiter, tokenId))
  }

  /** A wait that may be over at once goes on a turn later if one is due. */
  #await(waiter: Waiter, tokenId: string): void | Promise<void> {
    const turn = this.#kernel.breath.turn(waiter.attempt)
    return turn === undefined ? this.#ask(waiter, tokenId) : this.#askAfter(turn, waiter, tokenId)
  }

  async #askAfter(turn: Promise<void>, waiter: Waiter, tokenId: string): Promise<void> {
    await turn
    await this.#ask(waiter, tokenId)
  }

  #ask(waiter: Waiter, tokenId: string): void | Promise<void> {
    const { attempt } = waiter
    if (waiter.isSettled || hasFinished(attempt)) return
    assertOpen(attempt)
    waiter.tokenId = tokenId
    this.#add(waiter)
    const { host } = this.#kernel
    const request = {
      tokenId,
      runId: attempt.id,
      epoch: attempt.record.epoch,
      by: host.owner,
      now: host.now(),
    }
    const question = { attempt, call: AWAIT_TOKEN, request }
    const asked = this.#kernel.outage.ask(question, (awaited) => this.#awaited(waiter, awaited))
    // A run must not park before all that can wake it is in the storage.
    if (isPromise(asked)) attempt.writes(asked)
    return asked
  }

  #awaited(waiter: Waiter, awaited: TokenAwaited): void | Promise<void> {
    if (awaited.outcome === 'registered') this.#registered(waiter, awaited.token)
    else if (awaited.outcome === 'settled') {
      if (this.#remove(waiter)) this.#settle(waiter, awaited.token)
      if (awaited.settledNow) this.#kernel.publisher.token(awaited.token)
    } else if (awaited.outcome === 'stale' && !ACTIVE_STATUSES.includes(waiter.attempt.record.status)) {
      // The attempt has ended by itself while storage was asked: a loser like those that were registered in time.
      this.#remove(waiter)
    } else if (awaited.outcome === 'stale') {
      return chain(this.#kernel.upcalls.refused(waiter.attempt), (reason) => this.#refuse(waiter, reason))
    } else this.#refuse(waiter, tokenNotFound(waiter.tokenId))
  }

  /** A run that has returned since is told nothing. */
  #refuse(waiter: Waiter, reason: Error): void {
    this.#remove(waiter)
    if (!hasFinished(waiter.attempt)) reject(waiter, reason)
  }

  /** The wait is in the storage, also when it was over before that became known. */
  #registered(waiter: Waiter, token: TokenRecord): void {
    waiter.stored()
    if (waiter.isOpen) {
      const { ticker, slots } = this.#kernel
      if (token.timeoutAt !== undefined) ticker.dueAt(token.timeoutAt, 'token', token.id)
      if (WAIT.hasSubscribers) this.#tell(waiter, 'begin', token)
      if (!waiter.isRegistered) return
      waiter.attempt.registeredWaits += 1
      slots.parkAfterTurn(waiter.attempt)
    } else if (waiter.isSettled && !waiter.attempt.isEnded) this.#release(waiter)
  }

  #settle(waiter: Waiter, token: TokenRecord): void {
    close(waiter)
    if (WAIT.hasSubscribers) this.#tell(waiter, 'end', token)
    try {
      const at = token.completedAt ?? token.createdAt
      const settlement = waiter.attempt.asked(waiter.read(token))
      if (isPromise(settlement)) {
        settlement.then(
          (read) => deliverSettled(waiter, read, at),
          (error: unknown) => deliverUnreadable(waiter, error),
        )
      } else deliverSettled(waiter, settlement, at)
    } catch (error) {
      deliverUnreadable(waiter, error)
    }
    if (waiter.isSettled) return
    addTo(this.#undelivered, token.id, waiter)
  }

  /** The run goes on with the outcome of a wait. Called by its attempt, as soon as it has a slot. */
  handOver(wait: AttemptWait, outcome: WaitOutcome): void {
    const { attempt, tokenId } = wait
    if (outcome.kind === 'dropped') {
      reject(wait, outcome.reason)
      this.#release(wait)
      return
    }
    if (this.#undelivered.size > 0) removeFrom(this.#undelivered, tokenId, wait)
    // Before the run parks, storage is to forget the wait.
    if (wait.isStored && !wait.isSettled) attempt.noteDelivered(tokenId)
    if (outcome.kind === 'unreadable') {
      reject(wait, outcome.error)
      return
    }
    attempt.waits = withoutItem(attempt.waits, wait)
    wait.resolve(outcome.settlement)
  }

  #dropOnAbort(waiter: Waiter, signal: AbortSignal): void {
    waiter.stopListening = onAbort(signal, (reason) => this.#drop(waiter, reason))
  }

  /** The loser of a race, unless it was settled first. A parked run goes on with a slot, as after any other wait. */
  #drop(waiter: Waiter, reason: unknown): void {
    if (waiter.isSettled) return
    if (waiter.tokenId === '') {
      reject(waiter, reason)
      return
    }
    if (!this.#remove(waiter)) return
    if (WAIT.hasSubscribers) this.#tell(waiter, 'end')
    waiter.attempt.deliver(waiter, { kind: 'dropped', reason })
  }

  /**
   * Storage forgets the wait too, unless another waiter of the same run shares it. Not before the run goes on: until
   * then the wait wakes it after a crash.
   */
  #release({ tokenId, attempt }: AttemptWait): void {
    if (this.isAwaited(attempt, tokenId)) return
    const { storage, owner } = this.#kernel.host
    // A wait that stays behind is dropped with the end of the run.
    const stays = (): void => undefined
    unawaited(() => storage.tokens.release([{ tokenId, runId: attempt.id, owner }]), stays)
  }

  #tell(wait: Waiter, phase: 'begin' | 'end', token?: TokenRecord): void {
    const { host } = this.#kernel
    const { attempt, tokenId } = wait
    const at = host.now()
    WAIT.publish({ phase, engine: host.owner, at, wait, attempt, run: attempt.record, tokenId, token })
  }

  #follow(waiter: Waiter, done: Promise<void>): void {
    done.catch((error: unknown) => this.#failed(waiter, error))
  }

  /** Storage may have registered a wait all the same: it must not wake the run, which no longer waits for it. */
  #failed(waiter: Waiter, error: unknown): void {
    const isAsked = waiter.tokenId !== ''
    const wasOpen = this.#remove(waiter)
    waiter.isStored = isAsked
    // Settled meanwhile and about to be delivered: how its registration went is of no interest.
    if (isAsked && !wasOpen && !waiter.isSettled) return
    reject(waiter, error)
    if (isAsked && !waiter.attempt.isEnded) this.#release(waiter)
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
  leave(attempt: Attempt): void {
    for (const wait of itemsOf(attempt.waits)) {
      if (!(wait instanceof Waiter)) continue
      if (!this.#remove(wait)) removeFrom(this.#undelivered, wait.tokenId, wait)
      wait.stopListening?.()
    }
  }
}

/** The waiter was taken out, and the run no longer has to park for it. */
function close(waiter: Waiter): void {
  if (waiter.isRegistered) waiter.attempt.registeredWaits -= 1
  waiter.isOpen = false
}

function deliverSettled(waiter: Waiter, settlement: Settlement<unknown, unknown>, at: number): void {
  if (!waiter.isSettled) waiter.attempt.deliver(waiter, { kind: 'settled', settlement, at })
}

function deliverUnreadable(waiter: Waiter, error: unknown): void {
  waiter.attempt.deliver(waiter, { kind: 'unreadable', error })
}

function reject(wait: AttemptWait, error: unknown): void {
  wait.attempt.waits = withoutItem(wait.attempt.waits, wait)
  wait.reject(error)
}
