import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import { isCut, isRolledBack, isUnreachable } from './errors.ts'
import { fromWire, toWire } from './wire.ts'

/** One kind of call: which function of the schema it asks. */
export interface CallKind {
  /** It takes the requests of a turn and answers them in order. */
  readonly name: string
  /** If it is unknown whether it was done, it may be asked again. A request with `again` recognizes its own effect. */
  readonly isRepeatable?: boolean
  /** It takes one request at a time. */
  readonly isSingle?: boolean
  /** Requests that lock the same records lock them in this order. */
  readonly lockOf?: (request: never) => string
}

interface Call {
  readonly kind: CallKind
  readonly request: unknown
  readonly key: string | undefined
  readonly answer: Deferred<unknown>
}

interface TurnsOptions {
  /** Asks a function; resolves once what it did is committed. */
  readonly send: (kind: CallKind, requests: string) => Promise<string>
  /** How many statements may be under way. */
  readonly most: number
}

/** No transaction is longer: others wait for the rows it has locked. */
const MOST_CALLS = 500
const MOST_RETRIES = 20

/**
 * All calls of one kind in one turn are one statement, and one transaction. While it is under way those that come gather
 * for the next one: the busier, the fewer statements a call takes. A call that fails takes none of the others with it:
 * then each is made again alone.
 */
export class PostgresTurns {
  readonly #options: TurnsOptions
  #waiting: Call[] = []
  #isPlanned = false
  #underWay = 0
  readonly #kinds = new Set<CallKind>()
  readonly #keys = new Map<string, number>()

  constructor(options: TurnsOptions) {
    this.#options = options
  }

  call(kind: CallKind, request: unknown, key: string | undefined): Promise<unknown> {
    const answer = createDeferred<unknown>()
    this.#waiting.push({ kind, request, key, answer })
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
    for (const call of this.#waiting) {
      const { kind, key } = call
      const batch = batches.get(kind)
      const before = key === undefined ? undefined : taken.get(key)
      const isFree = key === undefined || (!this.#keys.has(key) && (before === undefined || before === kind))
      if (isFree && this.#hasRoom(kind, batch, batches.size)) {
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

  #hasRoom(kind: CallKind, batch: readonly Call[] | undefined, batches: number): boolean {
    if (this.#kinds.has(kind)) return false
    if (batch === undefined) return this.#underWay + batches < this.#options.most
    return batch.length < (kind.isSingle === true ? 1 : MOST_CALLS)
  }

  async #run(kind: CallKind, calls: readonly Call[]): Promise<void> {
    this.#underWay += 1
    this.#kinds.add(kind)
    for (const { key } of calls) if (key !== undefined) this.#keys.set(key, (this.#keys.get(key) ?? 0) + 1)
    await this.#perform(kind, inLockOrder(kind, calls))
    this.#underWay -= 1
    this.#kinds.delete(kind)
    for (const { key } of calls) if (key !== undefined) this.#release(key)
    this.#plan()
  }

  #release(key: string): void {
    const left = (this.#keys.get(key) ?? 1) - 1
    if (left === 0) this.#keys.delete(key)
    else this.#keys.set(key, left)
  }

  async #perform(kind: CallKind, calls: readonly Call[]): Promise<void> {
    try {
      const answers = await this.#ask(kind, calls)
      for (const [at, { answer }] of calls.entries()) answer.resolve(answers[at] ?? undefined)
    } catch (error) {
      // One of them may be what is wrong; not with a server that is not there, or that may have done it.
      if (calls.length > 1 && !isUnreachable(error) && !isCut(error)) {
        for (const call of calls) await this.#perform(kind, [call])
      } else {
        for (const { answer } of calls) answer.reject(error)
      }
    }
  }

  async #ask(kind: CallKind, calls: readonly Call[]): Promise<readonly unknown[]> {
    const requests = toWire(calls.map(({ request }) => request))
    for (let retries = 0; ; retries += 1) {
      try {
        return fromWire(await this.#options.send(kind, requests)) as readonly unknown[]
      } catch (error) {
        if (!isRolledBack(error) || retries === MOST_RETRIES) throw error
      }
    }
  }
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
