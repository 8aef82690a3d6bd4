import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'
import { pauseReal } from '../real-timer.ts'
import {
  isCut,
  isLocked,
  isToRepeat,
  isServerAway,
  isUnreachable,
  lockTimeout,
  postgresMessage,
} from './errors.ts'
import { fromWire, toWire } from './wire.ts'

/** One kind of call: which function of the schema it asks. */
export interface CallKind {
  /** It takes the requests of a turn and answers them in order. */
  readonly name: string
  /** If it is unknown whether it was done, it may be asked again. A request with `again` recognizes its own effect. */
  readonly isRepeatable?: boolean
  /** It takes one request at a time. */
  readonly isSingle?: boolean
  /** Its answer may be from a moment ago. It only reads, and takes one request at a time. */
  readonly mayLag?: boolean
  /** Requests that lock the same records lock them in this order. */
  readonly lockOf?: (request: never) => string
  /** A request is answered with `"held"` if another transaction has the lock of its key; the others are done. */
  readonly tellsHeld?: boolean
  /** How long a turn waits for one lock, in milliseconds. Absent: 50, and for one request at a time as long as the server lets it. */
  readonly patienceMs?: number
  /** Whether a request takes a lock that is no row's. The server has room for some thousands of these. */
  readonly locksKey?: (request: never) => boolean
}

/** One statement: calls of one kind. */
export interface Statement {
  readonly kind: CallKind
  readonly requests: string
  /** How long it may wait for one lock, in milliseconds; absent: as long as the server lets it. */
  readonly patienceMs: number | undefined
  /**
   * The keys of its requests. Then each request is undone by itself, and answered with `"held"`, if it needs a lock of another
   * transaction, or is behind such a request by its key.
   */
  readonly keys?: readonly (string | undefined)[] | undefined
}

interface Call {
  readonly kind: CallKind
  readonly request: unknown
  readonly key: string | undefined
  readonly answer: Deferred<unknown>
  /** How long it has waited, in milliseconds, for a lock that another transaction holds. */
  waitedMs: number
}

/** Calls of one kind that are one statement. */
interface Turn {
  readonly kind: CallKind
  readonly calls: readonly Call[]
  readonly patienceMs: number | undefined
  /** Whether it is told which calls need locks of other transactions, and does the others. */
  readonly isApart?: boolean
}

interface TurnsOptions {
  /** Asks a function; resolves once what it did is committed. */
  readonly send: (statement: Statement) => Promise<string>
  /** Whether an engine has it open. */
  readonly isInUse: () => boolean
  /** How long the server lets a call wait for a lock, in milliseconds; 0 for as long as it takes. */
  readonly lockTimeoutMs: () => number
  /** How many statements may be under way, beside one for calls that wait for a lock. */
  readonly most: number
  /** The longest pause of a call that waits for a lock. */
  readonly mostPauseMs: number
}

/** No transaction is longer: others wait for the rows it has locked. */
const MOST_CALLS = 500
/** Of calls with an idempotency key: see `locksKey`. */
const MOST_KEYS = 200
const MOST_RETRIES = 20

/** How long a turn waits for one lock: longer than most other turns take. */
const TURN_PATIENCE_MS = 50
const FIRST_PAUSE_MS = 5
/** A call that has waited for some time waits for this part of it once more. */
const PAUSE_SHARE = 0.25
const NONE: readonly never[] = []
/** The answer for a call whose lock another transaction holds. */
const HELD = 'held'

/**
 * All calls of one kind in one turn are one statement, and one transaction. While it is under way those that come gather
 * for the next one: the busier, the fewer statements a call takes. A call that fails takes none of the others with it:
 * then each is made again alone. A call that needs a lock of a transaction that stays open is set apart: it is made
 * again with pauses, and holds up none but those of its own key.
 */
export class PostgresTurns {
  readonly #options: TurnsOptions
  #waiting: Call[] = []
  #isPlanned = false
  #underWay = 0
  readonly #kinds = new Set<CallKind>()
  readonly #keys = new Map<string, number>()
  /** Calls that wait for a lock: they are made again, with pauses. */
  readonly #held = new Set<Call>()
  /** Of these, calls whose pause is over. */
  #due: Call[] = []
  #isAtHeld = false
  /** The calls of statements that are under way. */
  readonly #sent = new Set<readonly Call[]>()

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  call(kind: CallKind, request: unknown, key: string | undefined): Promise<unknown> {
    const answer = createDeferred<unknown>()
    this.#waiting.push({ kind, request, key, answer, waitedMs: 0 })
    this.#plan()
    return answer.promise
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0) return
    this.#isPlanned = true
    void Promise.resolve().then(() => {
      this.#isPlanned = false
      this.#sendAll()
    })
  }

  /** Takes what may go now; of what is under one key, nothing before that which came earlier is answered. */
  #sendAll(): void {
    const batches = new Map<CallKind, Call[]>()
    const taken = new Map<string, CallKind>()
    const left: Call[] = []
    let keys = 0
    for (const call of this.#waiting) {
      const { kind, key, request } = call
      // A kind is given its own requests only.
      const isKeyed = kind.locksKey?.(request as never) === true
      const batch = batches.get(kind)
      if (
        this.#isFree(call, taken) &&
        this.#hasRoom(kind, batch, batches.size) &&
        (!isKeyed || keys < MOST_KEYS)
      ) {
        if (isKeyed) keys += 1
        if (batch === undefined) batches.set(kind, [call])
        else batch.push(call)
        if (key !== undefined) taken.set(key, kind)
      } else {
        left.push(call)
        // Nothing of this key overtakes it.
        if (key !== undefined) taken.set(key, BLOCKED)
      }
    }
    this.#waiting = left
    for (const [kind, calls] of batches) void this.#run(kind, calls)
  }

  #isFree({ kind, key }: Call, taken: ReadonlyMap<string, CallKind>): boolean {
    if (key === undefined) return true
    const before = taken.get(key)
    return !this.#keys.has(key) && (before === undefined || before === kind)
  }

  #hasRoom(kind: CallKind, batch: readonly Call[] | undefined, batches: number): boolean {
    if (this.#kinds.has(kind)) return false
    if (batch === undefined) return this.#underWay + batches < this.#options.most
    return batch.length < (kind.isSingle === true ? 1 : MOST_CALLS)
  }

  async #run(kind: CallKind, calls: readonly Call[]): Promise<void> {
    this.#underWay += 1
    this.#kinds.add(kind)
    for (const { key } of calls) if (key !== undefined) this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1)
    const patienceMs = kind.patienceMs ?? (kind.isSingle === true ? undefined : TURN_PATIENCE_MS)
    const held = await this.#perform({ kind, calls: inLockOrder(kind, calls), patienceMs })
    this.#underWay -= 1
    this.#kinds.delete(kind)
    for (const call of calls) if (held.length === 0 || !held.includes(call)) this.#release(call)
    this.#setApart(held)
    this.#plan()
  }

  /** The first call of each key is made again with pauses; those behind it go once it is answered. */
  #setApart(held: readonly Call[]): void {
    const keys = new Set<string | undefined>()
    const behind: Call[] = []
    for (const call of held) {
      const isBehind = call.key !== undefined && keys.has(call.key)
      if (isBehind && this.#options.isInUse()) behind.push(call)
      else this.#hold(call)
      keys.add(call.key)
    }
    for (const call of behind) this.#release(call)
    this.#waiting.unshift(...behind)
  }

  #release({ key }: Call): void {
    if (key === undefined) return
    const left = (this.#keys.get(key) ?? 1) - 1
    if (left === 0) this.#keys.delete(key)
    else this.#keys.set(key, left)
  }

  /** Resolves with the calls that wait for a lock of another transaction; the others are answered. */
  async #perform(turn: Turn): Promise<readonly Call[]> {
    const { kind, calls, patienceMs, isApart = false } = turn
    try {
      return answered(turn, await this.#ask(turn))
    } catch (error) {
      if (isLocked(error) && patienceMs !== undefined) {
        if (calls.length === 1 || isApart || !this.#options.isInUse()) return calls
        return this.#perform(apart(kind, calls))
      }
      // One of them may be wrong; not with a server that is not there, or that may have done it.
      if (calls.length > 1 && !isUnreachable(error) && !isCut(error)) return this.#performAlone(turn)
      const failure = failureOf(error)
      for (const { answer } of calls) answer.reject(failure)
      return NONE
    }
  }

  async #performAlone(turn: Turn): Promise<readonly Call[]> {
    const held: Call[] = []
    for (const call of turn.calls) held.push(...(await this.#perform({ ...turn, calls: [call] })))
    return held
  }

  async #ask(turn: Turn): Promise<readonly unknown[]> {
    this.#sent.add(turn.calls)
    try {
      return await this.#askUntilDone(turn)
    } finally {
      this.#sent.delete(turn.calls)
    }
  }

  async #askUntilDone({ kind, calls, patienceMs, isApart = false }: Turn): Promise<readonly unknown[]> {
    const requests = toWire(calls.map(({ request }) => request))
    const keys = isApart ? calls.map(({ key }) => key) : undefined
    const statement = { kind, requests, patienceMs, keys }
    for (let retries = 0; ; retries += 1) {
      try {
        return fromWire(await this.#options.send(statement)) as readonly unknown[]
      } catch (error) {
        if (!isToRepeat(error) || retries === MOST_RETRIES) throw error
        if (isLocked(error) && patienceMs !== undefined) throw error
      }
    }
  }

  /** Makes a call again after a pause, in its own time. Until then nothing of its key goes. */
  #hold(call: Call): void {
    const refusal = this.#refusal(call)
    if (refusal !== undefined) {
      call.answer.reject(refusal)
      this.#release(call)
      return
    }
    const pauseMs = Math.min(Math.max(FIRST_PAUSE_MS, call.waitedMs * PAUSE_SHARE), this.#options.mostPauseMs)
    call.waitedMs += pauseMs
    this.#held.add(call)
    void pauseReal(pauseMs).then(() => {
      this.#due.push(call)
      void this.#performHeld()
    })
  }

  /** Why a call waits for a lock no longer. */
  #refusal({ waitedMs }: Call): Error | undefined {
    if (!this.#options.isInUse()) return leftError()
    const mostMs = this.#options.lockTimeoutMs()
    return mostMs > 0 && waitedMs >= mostMs ? lockTimeout('use the Postgres server') : undefined
  }

  /** One statement after the other: these calls take one connection, however many they are. */
  async #performHeld(): Promise<void> {
    if (this.#isAtHeld) return
    this.#isAtHeld = true
    for (let due = this.#takeDue(); due !== undefined; due = this.#takeDue()) {
      const { kind, calls } = due
      const isOne = calls.length === 1
      const again = isOne ? { kind, calls, patienceMs: TURN_PATIENCE_MS } : apart(kind, calls)
      const held = await this.#perform(again)
      for (const call of calls) {
        // It may have been given up meanwhile.
        if (!this.#held.delete(call)) continue
        if (held.includes(call)) this.#hold(call)
        else this.#release(call)
      }
      this.#plan()
    }
    this.#isAtHeld = false
  }

  /** The calls of one kind whose pause is over. */
  #takeDue(): { readonly kind: CallKind; readonly calls: readonly Call[] } | undefined {
    const due = this.#due.filter((call) => this.#held.has(call))
    const [first] = due
    if (first === undefined) {
      this.#due = []
      return undefined
    }
    const { kind } = first
    const calls = due.filter((call) => call.kind === kind).slice(0, kind.isSingle === true ? 1 : MOST_KEYS)
    this.#due = due.filter((call) => !calls.includes(call))
    return { kind, calls: inLockOrder(kind, calls) }
  }

  /** Calls that wait for a lock, and those behind them, wait no more: the last engine has left. */
  giveUp(): void {
    if (this.#held.size === 0) return
    const held = [...this.#held]
    this.#held.clear()
    const keys = new Set(held.map(({ key }) => key))
    const behind = this.#waiting.filter(({ key }) => key !== undefined && keys.has(key))
    this.#waiting = this.#waiting.filter((call) => !behind.includes(call))
    for (const call of held) this.#release(call)
    const error = leftError()
    for (const { answer } of [...held, ...behind]) answer.reject(error)
  }

  /** No call is waited for any more, not even for one whose statement is under way. */
  abandon(): void {
    const notSent = [...this.#waiting, ...this.#held]
    this.#waiting = []
    this.#held.clear()
    for (const { answer } of notSent) answer.reject(abandonedError(false))
    for (const { answer } of [...this.#sent].flat()) answer.reject(abandonedError(true))
  }
}

/** A turn that does what it can, and waits for all locks together no longer than for one. */
function apart(kind: CallKind, calls: readonly Call[]): Turn {
  const patienceMs = Math.max(1, Math.floor(TURN_PATIENCE_MS / calls.length))
  return { kind, calls, patienceMs, isApart: true }
}

/** Gives the calls their answers. Those that wait for a lock have none yet. */
function answered({ kind, calls, isApart = false }: Turn, answers: readonly unknown[]): readonly Call[] {
  const tellsHeld = isApart || kind.tellsHeld === true
  let held: Call[] | undefined
  for (const [at, call] of calls.entries()) {
    if (tellsHeld && answers[at] === HELD) (held ??= []).push(call)
    else call.answer.resolve(answers[at] ?? undefined)
  }
  return held ?? NONE
}

function leftError(): Error {
  const message = 'Cannot use the Postgres server: the last engine closed while a call waited for a lock'
  return new StorageUnavailableError(message, { mayBeDone: false })
}

export function abandonedError(mayBeDone: boolean): Error {
  const message = 'Cannot use the Postgres server: it did not answer, and the last engine has closed'
  return new StorageUnavailableError(message, { mayBeDone })
}

/** The error of a call, which says whether the server cannot be used now. */
function failureOf(cause: unknown): unknown {
  if (!isServerAway(cause)) return cause
  const message = `Cannot use the Postgres server: ${postgresMessage(cause)}`
  return new StorageUnavailableError(message, { cause, mayBeDone: isCut(cause) })
}

/** Nothing of a key that waits may go. */
const BLOCKED: CallKind = { name: '' }

function inLockOrder(kind: CallKind, calls: readonly Call[]): readonly Call[] {
  const { lockOf } = kind
  if (lockOf === undefined || calls.length < 2) return calls
  // A kind is given its own requests only.
  const locks = new Map(calls.map((call) => [call, lockOf(call.request as never)]))
  return [...calls].sort((one, other) => compare(locks.get(one) ?? '', locks.get(other) ?? ''))
}

function compare(one: string, other: string): number {
  if (one === other) return 0
  return one < other ? -1 : 1
}
