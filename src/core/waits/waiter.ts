import type { TokenRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { mayBeLeft } from '../../primitives/awaitable.ts'
import type { Deferred } from '../../primitives/deferred.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Attempt, AttemptWait, Settlement } from '../attempt/attempt.ts'
import type { Unwrappable } from '../../api/token.ts'

/** Turns the settled token into the result of one kind of wait. */
export type ReadSettlement<Result, Output> = (token: TokenRecord) => Awaitable<Settlement<Result, Output>>

/**
 * The in-memory side of one wait. Both promises it gives out are its own deferreds', so that the task goes on in the
 * first microtask after they are settled, whichever of the two it awaits.
 */
export class Waiter<Result = unknown, Output = unknown> implements AttemptWait {
  readonly attempt: Attempt
  readonly read: ReadSettlement<Result, Output>
  readonly promise: WaiterPromise<Result, Output>
  /** Empty until it is known. */
  tokenId = ''
  since = 0
  /** It is waited for: neither settled nor dropped. */
  isOpen = false
  /** Storage has said that it registered the wait. */
  isStored = false
  /** The task has begun to await it. Until then it may have work to do, and the run does not park for it. */
  isAwaited = false
  /** To the signal that may drop it, if it was given one. */
  stopListening: (() => void) | undefined
  #resolve!: Deferred<Result>['resolve']
  #reject!: Deferred<Result>['reject']
  #unwrapped: Deferred<Output> | undefined
  #end: Settlement<Result, Output> | { readonly reason: unknown } | undefined

  constructor(attempt: Attempt, read: ReadSettlement<Result, Output>) {
    this.attempt = attempt
    this.read = read
    this.promise = new WaiterPromise(this, (resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  get isSettled(): boolean {
    return this.#end !== undefined
  }

  /** It is waited for, by the task as well, and the wait is in the storage: only then may the run park for it. */
  get isRegistered(): boolean {
    return this.isOpen && this.isStored && this.isAwaited
  }

  /** Storage has registered it. */
  stored(): void {
    this.isStored = true
  }

  /** The task awaits it, or has chained to it. */
  awaited(): void {
    if (this.isAwaited) return
    this.isAwaited = true
    if (!this.isRegistered) return
    const { attempt } = this
    attempt.registeredWaits += 1
    attempt.kernel.slots.parkAfterTurn(attempt)
  }

  resolve(settlement: Settlement<Result, Output>): void {
    if (this.isSettled) return
    this.#end = settlement
    this.stopListening?.()
    if (this.#unwrapped !== undefined) settleUnwrapped(this.#unwrapped, settlement)
    this.#resolve(settlement.result)
  }

  /** Rejects; a wait that is not awaited any more must not end the process. */
  reject(error: unknown): void {
    if (this.isSettled) return
    this.#end = { reason: error }
    this.stopListening?.()
    if (this.#unwrapped !== undefined) rejectQuietly(this.#unwrapped, error)
    rejectQuietly({ promise: this.promise, reject: this.#reject }, error)
  }

  /** The output alone, or a rejection. */
  unwrap(): Promise<Output> {
    this.awaited()
    if (this.#unwrapped !== undefined) return this.#unwrapped.promise
    this.#unwrapped = createDeferred<Output>()
    if (this.#end === undefined) return this.#unwrapped.promise
    if ('reason' in this.#end) rejectQuietly(this.#unwrapped, this.#end.reason)
    else settleUnwrapped(this.#unwrapped, this.#end)
    return this.#unwrapped.promise
  }
}

/**
 * The promise of a {@link Waiter}, for the task. A class, as one is held for every run that waits: a function of its own in each would
 * be 80 bytes more. Its `constructor` is that of every promise: a task that awaits it goes on in one microtask, and the promise that `then`
 * makes is a plain one. `await` and `then` both ask for it, and nothing else tells of an `await`.
 */
class WaiterPromise<Result, Output> extends Promise<Result> implements Unwrappable<Result, Output> {
  readonly #waiter: Waiter<Result, Output>

  constructor(waiter: Waiter<Result, Output>, executor: ConstructorParameters<typeof Promise<Result>>[0]) {
    super(executor)
    this.#waiter = waiter
  }

  override get ['constructor'](): PromiseConstructor {
    this.#waiter.awaited()
    return Promise
  }

  unwrap(): Promise<Output> {
    return this.#waiter.unwrap()
  }
}

/** A wait that cannot begin. As every other one, it must not end the process when it is not awaited. */
export function rejectedWait<Result, Output>(refused: () => Promise<never>): Unwrappable<Result, Output> {
  const failed = (): Promise<never> => mayBeLeft(refused())
  return Object.assign(failed(), { unwrap: failed })
}

function settleUnwrapped<Result, Output>(
  deferred: Deferred<Output>,
  settlement: Settlement<Result, Output>,
): void {
  if ('error' in settlement) rejectQuietly(deferred, settlement.error)
  else deferred.resolve(settlement.output)
}

function rejectQuietly(
  { promise, reject }: Pick<Deferred<unknown>, 'promise' | 'reject'>,
  error: unknown,
): void {
  void mayBeLeft(promise)
  reject(error)
}
