import type { Awaitable } from '../../contract/storage.ts'
import { isStorageUnavailable, mayBeDone } from '../../contract/storage-unavailable.ts'
import { StorageAwayError } from '../../api/errors.ts'
import { onAbort } from '../../primitives/abort.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { messageOf } from '../../primitives/message.ts'
import { assertOpen, type Attempt } from '../attempt/attempt.ts'
import type { Upcalls } from '../upcalls.ts'
import { afterTurn, type Breath } from './breath.ts'
import type { Host } from './host.ts'
import type { RepeatableCall } from './storage-calls.ts'

/** Between two tries of what must not get lost. */
const PAUSE_MS = 1_000
/** Between two tries of a call: at first, and at most. */
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000

interface Parts {
  readonly host: Host
  readonly breath: Breath
  readonly upcalls: Upcalls
}

export interface OutageSettings {
  /** How long a call of a run waits for a storage that is away. */
  readonly storageWaitMs: number
}

/** A call that an attempt, or code outside of runs, makes of the storage. */
export interface CallOfRun<Request, Answer> {
  readonly attempt: Attempt | undefined
  readonly call: RepeatableCall<Request, Answer>
  readonly request: Request
}

/**
 * Waits for a storage that is away, slow or full. Every call that a run makes of the storage goes through `ask`. It is made
 * again until storage has answered; after a while the attempt is interrupted instead, and executed again once storage is
 * back. Two `error` events tell of a storage that is away: at the beginning and at the end.
 */
export class Outage {
  readonly #kernel: Parts
  readonly #settings: OutageSettings
  #away: { readonly since: number; readonly cause: unknown } | undefined
  /** Tries that are to be made again. */
  #waiting = 0
  /** How many of these tries each attempt has. */
  readonly #resting = new Map<Attempt, number>()
  /** Ends the pauses between two tries, each by itself. */
  readonly #pauses = new Set<() => void>()

  constructor(kernel: Parts, settings: OutageSettings) {
    this.#kernel = kernel
    this.#settings = settings
  }

  /**
   * Asks storage, and goes on with `next`. Hot: an answer that is there at once goes through as it is, hence no closure
   * in here.
   */
  ask<Request, Answer, Result>(
    question: CallOfRun<Request, Answer>,
    next: (answer: Answer, attempt: Attempt | undefined) => Awaitable<Result>,
  ): Awaitable<Result> {
    const { attempt, call } = question
    const turn = attempt === undefined || call.isTold === true ? undefined : this.#kernel.breath.turn(attempt)
    return turn === undefined ? this.#ask(question, next) : this.#askBefore(turn, question, next)
  }

  /** Apart from `ask`, which would pay for what this captures. */
  #askBefore<Request, Answer, Result>(
    turn: Promise<void>,
    question: CallOfRun<Request, Answer>,
    next: (answer: Answer, attempt: Attempt | undefined) => Awaitable<Result>,
  ): Promise<Result> {
    return afterTurn(turn, () => this.#ask(question, next))
  }

  #ask<Request, Answer, Result>(
    question: CallOfRun<Request, Answer>,
    next: (answer: Answer, attempt: Attempt | undefined) => Awaitable<Result>,
  ): Awaitable<Result> {
    let answer: Awaitable<Answer>
    try {
      answer = question.call.ask(this.#kernel.host.storage, question.request)
    } catch (error) {
      return this.#askAgain(question, error, next)
    }
    return isPromise(answer) ? this.#answeredLater(question, answer, next) : next(answer, question.attempt)
  }

  /** A promise gets the one handler more that it has anyway. */
  #answeredLater<Request, Answer, Result>(
    question: CallOfRun<Request, Answer>,
    answer: Promise<Answer>,
    next: (answer: Answer, attempt: Attempt | undefined) => Awaitable<Result>,
  ): Promise<Result> {
    const { attempt } = question
    this.#kernel.breath.tookLong()
    void attempt?.asked(answer)
    return answer.then(
      (value) => next(value, attempt),
      (error: unknown) => this.#askAgain(question, error, next),
    )
  }

  #askAgain<Request, Answer, Result>(
    question: CallOfRun<Request, Answer>,
    error: unknown,
    next: (answer: Answer, attempt: Attempt | undefined) => Awaitable<Result>,
  ): Promise<Result> {
    return this.#failed(question, error).then((late) => next(late, question.attempt))
  }

  /**
   * Stores what must not get lost, such as the output of a run. A storage that fails, for whatever reason, is asked again
   * every second, until it takes it or the engine closes.
   */
  persist<T>(attempt: Attempt, store: () => Awaitable<T>): Awaitable<T> {
    try {
      const stored = store()
      return isPromise(stored) ? this.#persisted(attempt, store, stored) : stored
    } catch (error) {
      return this.#persistLater(attempt, store, error)
    }
  }

  /** Apart from `persist`, which would pay for what this captures. */
  #persisted<T>(attempt: Attempt, store: () => Awaitable<T>, stored: Promise<T>): Promise<T> {
    return stored.catch((error: unknown) => this.#persistLater(attempt, store, error))
  }

  /** Takes an error for itself if it says that the storage is away: that is told once, however many calls fail. */
  noticed(error: unknown): boolean {
    if (!isStorageUnavailable(error) || error instanceof StorageAwayError) return false
    const { host, upcalls } = this.#kernel
    if (this.#away !== undefined || host.isClosed) return true
    const since = host.now()
    this.#away = { since, cause: error }
    upcalls.failed(
      new StorageAwayError(`Cannot use the storage since ${instant(since)}: ${messageOf(error)}`, {
        since: new Date(since),
        cause: error,
      }),
    )
    upcalls.answerLost('a storage that is away')
    return true
  }

  /** Whether the storage was found away and has not answered since. */
  get isAway(): boolean {
    return this.#away !== undefined
  }

  /** Storage has answered: unless others still wait for it, it is back. */
  answered(): void {
    if (this.#away === undefined || this.#waiting > 0) return
    const { since, cause } = this.#away
    this.#away = undefined
    const { host, upcalls } = this.#kernel
    const until = host.now()
    if (host.isClosed) return
    upcalls.failed(
      new StorageAwayError(
        `Could not use the storage from ${instant(since)} to ${instant(until)}: it answers again`,
        { since: new Date(since), until: new Date(until), cause },
      ),
    )
  }

  #failed<Request, Answer>(question: CallOfRun<Request, Answer>, error: unknown): Promise<Answer> {
    const { attempt } = question
    if (attempt === undefined || isJoined(question.request) || !isStorageUnavailable(error)) throw error
    return this.#again({ ...question, attempt }, error)
  }

  async #again<Request, Answer>(
    question: CallOfRun<Request, Answer> & { readonly attempt: Attempt },
    first: unknown,
  ): Promise<Answer> {
    const { host, upcalls } = this.#kernel
    const { attempt } = question
    const giveUpAt = host.now() + this.#settings.storageWaitMs
    let isUnknown = false
    this.#begin(attempt)
    let isAnswered = false
    try {
      for (
        let [error, pauseMs] = [first, FIRST_PAUSE_MS];
        ;
        pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)
      ) {
        this.noticed(error)
        isUnknown ||= mayBeDone(error)
        const leftMs = giveUpAt - host.now()
        if (leftMs <= 0) throw this.#giveUp(attempt, error)
        // The attempt may have ended while the call was out.
        this.#assertAsked(attempt)
        await this.#pause(attempt, Math.min(pauseMs, leftMs))
        this.#assertAsked(attempt)
        try {
          const answer = await repeat(host, question, isUnknown)
          // It may have told waits of this engine, which a repeated call is not told again.
          if (isUnknown) upcalls.answerLost('a call that was made again')
          isAnswered = true
          return answer
        } catch (next) {
          if (!isStorageUnavailable(next)) throw next
          error = next
        }
      }
    } finally {
      this.#end(attempt)
      if (isAnswered) this.answered()
      else if (isUnknown) this.#left(question)
    }
  }

  /** A call that may have been done is not made again. */
  #left<Request, Answer>({
    attempt,
    call,
    request,
  }: CallOfRun<Request, Answer> & { readonly attempt: Attempt }): void {
    const childId = call.childIn?.(request)
    if (childId !== undefined && attempt.record.status === 'CANCELED')
      this.#kernel.upcalls.leftChild(attempt, childId)
  }

  /** The attempt ends, and the run is executed again. */
  #giveUp(attempt: Attempt, cause: unknown): Error {
    const since = this.#away?.since ?? this.#kernel.host.now()
    const error = new StorageAwayError(
      `Cannot go on with run "${attempt.id}": the storage has been away since ${instant(since)}; the run is executed again when it is back`,
      { since: new Date(since), cause },
    )
    this.#kernel.upcalls.gaveUp(attempt, error)
    return error
  }

  async #persistLater<T>(attempt: Attempt, store: () => Awaitable<T>, first: unknown): Promise<T> {
    const { host, upcalls } = this.#kernel
    this.#begin(attempt)
    try {
      for (let error = first; ;) {
        throwIfClosed(host, error)
        upcalls.failed(error, attempt.id)
        await this.#pause(attempt, PAUSE_MS)
        throwIfClosed(host, error)
        try {
          return await store()
        } catch (next) {
          error = next
        }
      }
    } finally {
      this.#end(attempt)
      this.answered()
    }
  }

  /** The engine is closed: pauses end, and no call is made again. */
  close(): void {
    for (const end of this.#pauses) end()
  }

  #assertAsked(attempt: Attempt): void {
    const { host } = this.#kernel
    assertOpen(attempt)
    if (host.isClosed) throw host.closedError()
  }

  /** A while in which a run that is interrupted leaves storage alone. */
  async rest(attempt: Attempt): Promise<void> {
    this.#begin(attempt)
    try {
      await this.#pause(attempt, PAUSE_MS)
    } finally {
      this.#end(attempt)
    }
  }

  /** Ends early when the attempt is aborted, and when the engine closes, which does not abort what has ended. */
  async #pause(attempt: Attempt, ms: number): Promise<void> {
    const { clock } = this.#kernel.host
    const { id, signal } = attempt
    const { promise, resolve } = createDeferred<undefined>()
    const end = (): void => resolve(undefined)
    const cancel = clock.setTimer(clock.now() + ms, end, {
      label: `asking the storage of ${id} again`,
    })
    const removeAbort = signal.aborted ? undefined : onAbort(signal, end)
    this.#pauses.add(end)
    await promise
    this.#pauses.delete(end)
    cancel()
    removeAbort?.()
  }

  /** Whether the run waits for its storage. */
  isResting(attempt: Attempt): boolean {
    return this.#resting.has(attempt)
  }

  /** The time in which a run waits for storage is not its function's, and a test clock may move meanwhile. */
  #begin(attempt: Attempt): void {
    this.#waiting += 1
    const tries = this.#resting.get(attempt) ?? 0
    this.#resting.set(attempt, tries + 1)
    if (tries > 0) return
    attempt.pauseLimit()
    attempt.rest()
  }

  #end(attempt: Attempt): void {
    this.#waiting -= 1
    const tries = (this.#resting.get(attempt) ?? 1) - 1
    if (tries > 0) {
      this.#resting.set(attempt, tries)
      return
    }
    this.#resting.delete(attempt)
    attempt.rest()
    attempt.continueLimit()
  }
}

function throwIfClosed(host: Host, error: unknown): void {
  if (host.isClosed) throw error
}

/** Makes a call once more, at the present time. */
function repeat<Request, Answer>(
  host: Host,
  { call, request }: CallOfRun<Request, Answer>,
  isUnknown: boolean,
): Awaitable<Answer> {
  const again = atPresent(host, request)
  const { storage } = host
  return isUnknown && call.again !== undefined ? call.again(storage, again) : call.ask(storage, again)
}

/** A request that is made later than it was meant to. */
export function atPresent<Request>({ clock }: Pick<Host, 'clock'>, request: Request): Request {
  const isTimed = typeof request === 'object' && request !== null && 'now' in request
  return isTimed ? { ...request, now: clock.now() } : request
}

/** A call in a transaction of the caller fails with that. */
export function isJoined(request: unknown): boolean {
  return (
    typeof request === 'object' &&
    request !== null &&
    'transaction' in request &&
    request.transaction !== undefined
  )
}

function instant(at: number): string {
  return new Date(at).toISOString()
}
