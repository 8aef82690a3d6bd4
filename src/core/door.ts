import type { KeyRecord, TokenRecord } from '../contract/records.ts'
import type { Awaitable } from '../contract/storage.ts'
import { asError } from '../primitives/as-error.ts'
import { chain, isPromise, leftAtEnd } from '../primitives/awaitable.ts'
import { RunCanceledError, WaitpointError } from '../api/errors.ts'
import type { Attempt } from './attempt/attempt.ts'
import { assertOpen, currentAttempt, fenceOf, liveAttempt, refuse } from './attempt/attempt.ts'
import { afterTurn, type Breath } from './host/breath.ts'
import type { Host } from './host/host.ts'
import { atPresent, type CallOfRun, isJoined, type Outage } from './host/outage.ts'
import { INSERT_TOKEN, type RepeatableCall } from './host/storage-calls.ts'
import type { Upcalls } from './upcalls.ts'
import type { AskedWait } from '../contract/question-keys.ts'
import { PlaceMismatchError, waitKey } from './waits/key.ts'

/** The way that every call takes, of users and of runs: into the engine, and on to its storage. */
export abstract class Door {
  abstract readonly host: Host
  abstract readonly breath: Breath
  abstract readonly outage: Outage
  abstract readonly upcalls: Upcalls

  /** Called by the host once the storage is open. */
  abstract start(): Awaitable<void>

  /** Opens the engine if need be; refuses when it is closed. */
  open(isReader?: boolean): Awaitable<void> {
    return this.host.open(this, isReader)
  }

  /** Serves a public call: always a promise, on an open engine, and never for an attempt that was aborted. */
  call<T>(serve: (attempt: Attempt | undefined) => Awaitable<T>, isReader?: boolean): Promise<T> {
    const caller = currentAttempt()
    try {
      const answer = this.#ask(caller, serve, isReader)
      return isPromise(answer) ? leftAtEnd(caller, answer) : Promise.resolve(answer)
    } catch (error) {
      return this.refused(error)
    }
  }

  /** Refuses a public call, in its turn: its caller may make it again and again. */
  refused<T>(reason: unknown): Promise<T> {
    const caller = currentAttempt()
    const refused = refuse<T>(asError(reason))
    const turn = caller?.isEnded === true ? undefined : this.breath.turn(this.#own(caller))
    return turn === undefined
      ? refused
      : leftAtEnd(
          caller,
          afterTurn(turn, () => refused),
        )
  }

  /** Like `call()`, for what reads a change: also while the engine closes. */
  read<T>(serve: () => Awaitable<T>): Promise<T> {
    return this.call(serve, true)
  }

  /** Like `call()`, but may return or throw synchronously, as storage does. */
  ask<T>(serve: () => Awaitable<T>, isReader?: boolean): Awaitable<T> {
    return this.#ask(currentAttempt(), serve, isReader)
  }

  /** Hot: `serve` is told the attempt, so that it need not look for it again. */
  #ask<T>(
    caller: Attempt | undefined,
    serve: (attempt: Attempt | undefined) => Awaitable<T>,
    isReader?: boolean,
  ): Awaitable<T> {
    const attempt = this.#own(caller)
    assertOpen(attempt)
    const opening = this.open(isReader)
    // An attempt may execute while its engine opens. Its calls are served at once: their place is that of their caller.
    const answer =
      attempt === undefined && isPromise(opening) ? opening.then(() => this.#opened(serve)) : serve(attempt)
    const told = attempt === undefined ? this.#inTurn(answer) : answer
    return isPromise(told) ? this.#held(told) : told
  }

  /** Thousands of calls may have waited for the opening: each goes on in its turn, in which the engine may be closed already. */
  #opened<T>(serve: (attempt: undefined) => Awaitable<T>): Awaitable<T> {
    return chain(this.breath.turn(), () => {
      if (this.host.isClosed) throw this.host.closedError()
      return serve(undefined)
    })
  }

  /** An answer for code outside of runs, which may call on and on; those for runs have their turn in `outage`. */
  #inTurn<T>(answer: Awaitable<T>): Awaitable<T> {
    const isLate = isPromise(answer)
    if (isLate) this.breath.tookLong()
    const turn = this.breath.turn()
    if (turn === undefined) return answer
    return isLate ? afterTurn(turn, () => answer) : turn.then(() => answer)
  }

  /** The attempt of this engine the caller runs in, if any. Code that outlives its run is outside of it. */
  attempt(): Attempt | undefined {
    return this.#own(currentAttempt())
  }

  #own(caller: Attempt | undefined): Attempt | undefined {
    const kernel: object | undefined = caller?.kernel
    return kernel === this && caller?.isOver === false ? caller : undefined
  }

  /**
   * The attempt of this engine the caller runs in.
   *
   * @throws WaitpointError `ERR_NOT_IN_RUN`, `ERR_OTHER_ENGINE`, `ERR_ENGINE_CLOSED`, or the error that ended the attempt.
   */
  requireAttempt(what: string): Attempt {
    const attempt = currentAttempt()
    if (attempt === undefined) {
      if (this.host.isClosed) throw this.host.closedError()
      throw new WaitpointError(
        'ERR_NOT_IN_RUN',
        `Cannot call ${what} here: it can only be used from inside a task.run()`,
      )
    }
    const kernel: object = attempt.kernel
    if (kernel !== this) {
      throw new WaitpointError(
        'ERR_OTHER_ENGINE',
        `Cannot call ${what} of this engine in run "${attempt.id}": the run belongs to another engine`,
      )
    }
    assertOpen(attempt)
    return attempt
  }

  /**
   * Like `requireAttempt()`, for what a canceled run no longer does.
   *
   * @throws RunCanceledError also in `onCancel`.
   */
  requireRunning(what: string): Attempt {
    const attempt = this.requireAttempt(what)
    if (!attempt.is('compensating')) return attempt
    throw new RunCanceledError(
      attempt.id,
      `Cannot call ${what} in onCancel of run "${attempt.id}": a canceled run neither waits, nor records effects, nor writes streams`,
    )
  }

  /** The key of a wait that was given none. A wait that is not the one asked before makes the run stand still. */
  place(attempt: Attempt, wait: AskedWait): KeyRecord {
    try {
      return waitKey(attempt, wait)
    } catch (error) {
      if (error instanceof PlaceMismatchError) this.upcalls.misfit(attempt, error)
      throw error
    }
  }

  /**
   * Before a wait whose key is the user's: stores of which kind it is, and which answers came before it, as the keys of other waits
   * tell it.
   */
  tell(attempt: Attempt | undefined, kind: string, key: string): Awaitable<unknown> {
    if (attempt === undefined) return undefined
    const { value } = this.place(attempt, { by: 'key', kind, name: key, content: undefined })
    return this.writeTold(attempt, value)
  }

  /** Stores in a record of its own what a key tells of a call: see `namedKey`. */
  writeTold(attempt: Attempt, told: string): Awaitable<unknown> {
    const { host } = this
    const now = host.now()
    const { id, createdAt } = host.made('once', now)
    const record: TokenRecord = {
      id,
      kind: 'ONCE',
      status: 'COMPLETED',
      tags: [],
      key: { scope: attempt.id, value: told },
      runId: attempt.id,
      createdAt,
      completedAt: createdAt,
    }
    return this.written(attempt, INSERT_TOKEN, { record, fence: fenceOf(attempt), now, by: host.owner })
  }

  /**
   * Makes a write of `attempt`, once that has its slot. One that storage refuses ends the attempt, and the call that made it.
   *
   * Hot: a synchronous answer goes through as it is.
   */
  written<Request, T>(
    attempt: Attempt | undefined,
    call: RepeatableCall<Request, T | 'stale'>,
    request: Request,
  ): Awaitable<T> {
    // A transaction of the user's holds locks: it waits for no slot.
    const isFree =
      attempt === undefined || attempt.is('executing') || call.takesNoSlot === true || isJoined(request)
    const slot = isFree ? undefined : attempt.whenExecuting()
    if (slot !== undefined) return this.#writtenAfter(slot, { attempt, call, request })
    const answer = this.outage.ask({ attempt, call, request }, this.#accepted)
    if (attempt !== undefined && isPromise(answer)) attempt.writes(answer)
    return answer
  }

  async #writtenAfter<Request, T>(
    slot: Promise<void>,
    { attempt, call, request }: CallOfRun<Request, T | 'stale'>,
  ): Promise<T> {
    await slot
    assertOpen(attempt)
    return this.written(attempt, call, atPresent(this.host, request))
  }

  /** Reads something for the attempt that the caller runs in, or for a caller outside of runs. */
  asked<Request, T>(call: RepeatableCall<Request, T>, request: Request): Awaitable<T> {
    const attempt = this.attempt()
    if (attempt === undefined) return call.ask(this.host.storage, request)
    return this.outage.ask({ attempt, call, request }, (answer) => answer)
  }

  readonly #accepted = <T>(answer: T | 'stale', attempt: Attempt | undefined): Awaitable<T> => {
    if (answer !== 'stale') return answer
    if (attempt === undefined) throw new Error('Cannot write: storage asks for a fence outside of a run')
    return chain(this.upcalls.refused(attempt), (reason) => {
      throw reason
    })
  }

  /** While a call is out, a test clock must not move time. */
  #held<T>(answer: Promise<T>): Promise<T> {
    const { clock } = this.host
    if (clock.hold === undefined || liveAttempt() !== undefined) return answer
    const release = clock.hold({ kind: 'call', id: 'a call of the engine' })
    return answer.finally(release)
  }
}
