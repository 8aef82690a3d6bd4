import { pauseReal, turnReal } from '../real-timer.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'
import { isBusy, isInTransaction, isIoError, isDatabaseAway, sqliteMessage } from './errors.ts'
import { MOST_CHARACTERS, RefusedCall, type SqliteSession } from './session.ts'

/** No transaction is longer: others want to write too, and the event loop has other work. These are some 20 ms. */
const MOST_CALLS = 500
const RETRY_MS = 10
/** With the busy time-out of the connection this is some ten seconds. */
const MOST_RETRIES = 200

interface Call {
  readonly method: (session: SqliteSession) => unknown
  readonly isRead: boolean
  readonly answer: Deferred<unknown>
  /** The outcome of the call, reported once it is committed. */
  outcome?: { readonly value: unknown } | { readonly refusal: RefusedCall } | undefined
}

/**
 * All calls of one turn are one transaction, in their order, and are answered once it is committed. A call that fails
 * takes none of the others with it: then each is done again in a transaction of its own.
 */
export class SqliteTurns {
  readonly #session: () => SqliteSession
  readonly #what: string
  #waiting: Call[] = []
  #isPlanned = false
  /** No more texts are to be written and read in this turn of the event loop. */
  #isSpent = false
  #retries = 0

  /** `session` answers what is open, or throws. */
  constructor(what: string, session: () => SqliteSession) {
    this.#what = what
    this.#session = session
  }

  call<Answer>(method: (session: SqliteSession) => Answer, isRead: boolean): Promise<Answer> {
    const answer = createDeferred<unknown>()
    this.#waiting.push({ method, isRead, answer })
    this.#plan()
    return answer.promise as Promise<Answer>
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0) return
    this.#isPlanned = true
    void Promise.resolve().then(() => this.#flush())
  }

  #flush(): void {
    const calls = this.#waiting.splice(0, MOST_CALLS)
    const left = this.#perform(calls)
    if (left.cause !== undefined) return this.#retry(left.calls, left.cause)
    this.#retries = 0
    if (left.calls.length > 0) this.#waiting = [...left.calls, ...this.#waiting]
    this.#isPlanned = this.#isSpent || this.#waiting.length > 0
    // More than fits into one transaction: timers and I/O come first.
    if (this.#isPlanned) void turnReal().then(() => this.#next())
  }

  /** A turn has begun. */
  #next(): void {
    this.#isSpent = false
    if (this.#waiting.length > 0) this.#flush()
    else this.#isPlanned = false
  }

  /** Answers the calls that must wait for another turn, or, for this cause, because another process has the lock. */
  #perform(calls: readonly Call[]): { readonly calls: readonly Call[]; readonly cause?: unknown } {
    try {
      return { calls: calls.slice(this.#transact(calls)) }
    } catch (cause) {
      if (isBusy(cause) || isInTransaction(cause)) return { calls, cause }
      const [call] = calls
      if (call !== undefined && calls.length === 1) {
        call.answer.reject(this.#failure(cause))
        return { calls: [] }
      }
    }
    for (const [index, call] of calls.entries()) {
      const left = this.#perform([call])
      if (left.calls.length > 0) return { calls: calls.slice(index), cause: left.cause }
    }
    return { calls: [] }
  }

  /** Answers how many of the calls it has made. */
  #transact(calls: readonly Call[]): number {
    const session = this.#session()
    const { database, hints } = session
    const most = database.moved + MOST_CHARACTERS
    let made = 0
    database.run(calls.every((call) => call.isRead) ? 'BEGIN' : 'BEGIN IMMEDIATE')
    try {
      for (const call of calls) {
        call.outcome = outcomeOf(call, session)
        made += 1
        this.#isSpent = database.moved > most
        if (this.#isSpent) break
      }
      if (hints.isAny) database.run('UPDATE changes SET count = count + 1')
      database.run('COMMIT')
    } catch (error) {
      hints.discard()
      rollBack(session)
      throw error
    }
    for (const { outcome, answer } of calls.slice(0, made)) {
      if (outcome === undefined) continue
      if ('refusal' in outcome) answer.reject(outcome.refusal)
      else answer.resolve(outcome.value)
    }
    hints.send()
    return made
  }

  #retry(calls: readonly Call[], cause: unknown): void {
    this.#retries += 1
    if (this.#retries > MOST_RETRIES) {
      this.#retries = 0
      for (const call of calls) call.answer.reject(this.#failure(cause))
    } else this.#waiting = [...calls, ...this.#waiting]
    void pauseReal(RETRY_MS).then(() => this.#flush())
  }

  #failure(cause: unknown): Error {
    const reason = isInTransaction(cause)
      ? 'a transaction of its owner is open; end it in the turn in which it was begun, or give waitpoint a handle of its own'
      : sqliteMessage(cause)
    const message = `Cannot use ${this.#what}: ${reason}`
    if (cause instanceof StorageUnavailableError) return cause
    if (!isDatabaseAway(cause)) return new Error(message, { cause })
    return new StorageUnavailableError(message, { cause, mayBeDone: isIoError(cause) })
  }
}

function outcomeOf(call: Call, session: SqliteSession): NonNullable<Call['outcome']> {
  try {
    return { value: call.method(session) }
  } catch (error) {
    if (error instanceof RefusedCall) return { refusal: error }
    throw error
  }
}

/** A failed statement may have ended the transaction already. */
function rollBack({ database }: SqliteSession): void {
  try {
    database.run('ROLLBACK')
  } catch {
    // There is none any more.
  }
}
