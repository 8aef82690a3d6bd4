import { handledKey, inputKey, type InputRead } from '../../contract/input-keys.ts'
import type { KeyRecord, TokenRecord } from '../../contract/records.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { LAST_INSTANT } from '../../primitives/duration.ts'
import { onAbort } from '../../primitives/abort.ts'
import { type Attempt, assertOpen, fenceOf } from '../attempt/attempt.ts'
import { INSERT_TOKEN, LIST_TOKENS, SETTLE_TOKEN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { CHANGE_TOKEN } from './change-token.ts'
import { waitsFor } from './inbox.ts'
import { insertOf, isMessage, newInput, PASSED, RUN_ASKED, storedInputs } from './input-records.ts'

/** How long a wait for an input lasts, and what drops it. */
export interface InputWish {
  /** Absent: for ever. */
  readonly timeoutAt?: number | undefined
  /** The error for a deadline that is past. It is not thrown for a wait that was there before. */
  readonly past?: RangeError | undefined
  readonly signal?: AbortSignal | undefined
  /** To the signal, once the wait has begun. */
  stopListening?: () => void
  /** Labels of the wait. */
  readonly tags?: readonly string[]
}

/** A number of a stream, and the token that has its message, or will have it. */
export interface ClaimedInput {
  readonly n: number
  readonly record: TokenRecord
}

/** What a place of the code was given, and the record that says so. */
export interface PlacedRead {
  readonly read: InputRead
  readonly record: TokenRecord
}

/** The messages that a place was given, and the record that says so. */
export interface FoundInputs {
  readonly by: TokenRecord
  readonly inputs: readonly TokenRecord[]
}

const readers = new WeakMap<Attempt, Map<string, InputReader>>()

/** The reader of a stream in an attempt. */
export function inputReader(kernel: Kernel, attempt: Attempt, stream: string): InputReader {
  const ofAttempt = readers.get(attempt) ?? new Map<string, InputReader>()
  readers.set(attempt, ofAttempt)
  const reader = ofAttempt.get(stream) ?? new InputReader(kernel, attempt, stream)
  ofAttempt.set(stream, reader)
  return reader
}

/**
 * Reads a stream of a run, from its first number on in each attempt of the policy. A number goes to one place of the code, which a stored
 * record says before the code gets the message: an execution that comes after an interruption gives each place what it had.
 */
export class InputReader {
  readonly #kernel: Kernel
  readonly #attempt: Attempt
  readonly #stream: string
  /** By the keys of their places, what was given to them. */
  readonly #given = new Map<string, PlacedRead>()
  /** Numbers that have gone to a place, or are passed over. */
  readonly #taken = new Set<number>()
  /** All numbers below it are taken. */
  #first = 0
  #loading: Promise<void> | undefined

  constructor(kernel: Kernel, attempt: Attempt, stream: string) {
    this.#kernel = kernel
    this.#attempt = attempt
    this.#stream = stream
  }

  /** The token of the next message: for this place, for good. */
  async next(place: KeyRecord, wish: InputWish): Promise<string> {
    await this.#load()
    const given = this.#given.get(place.value)?.read.taken[0]
    const { n, record } = given === undefined ? await this.#claimFor(place, wish) : await this.#open(given)
    if (record.status === 'WAITING') {
      waitsFor(this.#attempt, this.#stream, { n, tokenId: record.id })
      this.#dropOnAbort(record.id, wish)
    }
    return record.id
  }

  /** The messages that are there, at most so many. */
  async take(place: KeyRecord, max: number): Promise<FoundInputs> {
    await this.#load()
    const given = this.#given.get(place.value)
    if (given !== undefined) return { by: given.record, inputs: await this.#messages(given.read.taken) }
    const inputs: ClaimedInput[] = []
    while (inputs.length < max) {
      const found = await this.#found()
      if (found === undefined) break
      inputs.push(found)
    }
    const { record } = await this.#note(place.value, { taken: inputs.map(({ n }) => n) })
    return { by: record, inputs: inputs.map((one) => one.record) }
  }

  /** The next message that is there. It stays. */
  async peek(place: KeyRecord): Promise<FoundInputs> {
    await this.#load()
    const given = this.#given.get(place.value)
    if (given !== undefined) {
      const { seen } = given.read
      return { by: given.record, inputs: await this.#messages(seen === undefined ? [] : [seen]) }
    }
    const found = await this.#found()
    if (found !== undefined) this.leave(found.n)
    const { record } = await this.#note(place.value, { taken: [], seen: found?.n })
    return { by: record, inputs: found === undefined ? [] : [found.record] }
  }

  /** The next number, for a listener, which has read it once it has {@link handled} it. */
  async listen(): Promise<ClaimedInput> {
    await this.#load()
    const claimed = await this.#claim({})
    if (claimed.record.status === 'WAITING')
      waitsFor(this.#attempt, this.#stream, { n: claimed.n, tokenId: claimed.record.id })
    return claimed
  }

  async handled(n: number): Promise<void> {
    const { policyAttempt } = this.#attempt.record
    await this.#note(handledKey(policyAttempt, { stream: this.#stream, n }), { taken: [n] })
  }

  /** A number is for another read again. */
  leave(n: number): void {
    this.#taken.delete(n)
    this.#first = Math.min(this.#first, n)
  }

  /** Passes over a number that the run waits for, unless a message has come: that is then delivered. */
  async pass(id: string): Promise<void> {
    const { host, publisher } = this.#kernel
    const fence = fenceOf(this.#attempt)
    const request = {
      id,
      outputJson: undefined,
      answeredJson: PASSED,
      fence,
      by: host.owner,
      now: host.now(),
    }
    const settled = await this.#kernel.written(this.#attempt, SETTLE_TOKEN, request)
    if (settled?.settledNow === true) publisher.token(settled.record)
  }

  /** What earlier executions of this attempt of the policy were given. */
  #load(): Awaitable<void> {
    // There are none before the first.
    if (this.#attempt.record.attempt === 1) return undefined
    return (this.#loading ??= this.#loadAll())
  }

  async #loadAll(): Promise<void> {
    const asked = await this.#kernel.asked(RUN_ASKED, this.#attempt.id)
    const { inputs, reads } = storedInputs(asked, this.#stream)
    for (const read of reads) {
      if (read.policyAttempt !== this.#attempt.record.policyAttempt) continue
      this.#given.set(read.key, { read, record: read.record })
      for (const n of read.taken) this.#taken.add(n)
    }
    for (const [n, record] of inputs)
      if (record.status !== 'WAITING' && !isMessage(record)) this.#taken.add(n)
  }

  #reserve(): number {
    while (this.#taken.has(this.#first)) this.#first += 1
    this.#taken.add(this.#first)
    return this.#first
  }

  async #claimFor(place: KeyRecord, wish: InputWish): Promise<ClaimedInput> {
    if (wish.past !== undefined) throw wish.past
    const claimed = await this.#claim(wish)
    const { taken } = (await this.#note(place.value, { taken: [claimed.n] }, wish.tags)).read
    const [n = claimed.n] = taken
    if (n === claimed.n) return claimed
    // Another wait with the key of its user's was first.
    this.leave(claimed.n)
    return this.#open(n)
  }

  /** The first number that no place has. A wait that was left at it has its deadline no more. */
  async #claim({ timeoutAt }: InputWish): Promise<ClaimedInput> {
    for (;;) {
      const n = this.#reserve()
      try {
        const opened = await this.#open(n, timeoutAt)
        const { record } = opened
        if (record.status !== 'WAITING' && !isMessage(record)) continue
        if (record.status !== 'WAITING' || record.timeoutAt === timeoutAt) return opened
        const changed = await this.#changed(record, timeoutAt)
        if (changed.status === 'WAITING' || isMessage(changed)) return { n, record: changed }
      } catch (error) {
        this.leave(n)
        throw error
      }
    }
  }

  /** The token of a number, which is made if there is none. */
  async #open(n: number, timeoutAt?: number): Promise<ClaimedInput> {
    const { host, publisher } = this.#kernel
    await this.#attempt.whenExecuting()
    assertOpen(this.#attempt)
    const record = newInput(host, this.#attempt, { status: 'WAITING', stream: this.#stream, n, timeoutAt })
    const request = { record, fence: fenceOf(this.#attempt), now: host.now(), by: host.owner }
    const inserted = await this.#kernel.written(this.#attempt, INSERT_TOKEN, request)
    if (inserted.settledNow === true) publisher.token(inserted.record)
    return { n, record: inserted.record }
  }

  async #changed(before: TokenRecord, timeoutAt = LAST_INSTANT): Promise<TokenRecord> {
    const { host, publisher } = this.#kernel
    const fence = fenceOf(this.#attempt)
    const at = { fence, by: host.owner, now: host.now() }
    const request = { id: before.id, question: undefined, timeoutAt, was: before, ...at }
    const changed = await this.#kernel.written(this.#attempt, CHANGE_TOKEN, request)
    if (changed === undefined) return before
    if (changed.settledNow) publisher.token(changed.record)
    return changed.record
  }

  /** The next message that is there, taken; `undefined` if none is. */
  async #found(): Promise<ClaimedInput | undefined> {
    for (;;) {
      const n = this.#reserve()
      try {
        const record = await this.#message(n)
        if (record !== undefined && isMessage(record)) return { n, record }
        if (record !== undefined && record.status !== 'WAITING') continue
      } catch (error) {
        this.leave(n)
        throw error
      }
      this.leave(n)
      return undefined
    }
  }

  async #messages(numbers: readonly number[]): Promise<readonly TokenRecord[]> {
    const found = await Promise.all(numbers.map((n) => this.#message(n)))
    return found.filter((record) => record !== undefined)
  }

  async #message(n: number): Promise<TokenRecord | undefined> {
    const { host, publisher } = this.#kernel
    const key = { scope: this.#attempt.id, value: inputKey({ stream: this.#stream, n }) }
    const request = { filter: { kind: 'INPUT', key }, page: { limit: 1 }, now: host.now() } as const
    const { records, settled } = await this.#kernel.asked(LIST_TOKENS, request)
    for (const record of settled) publisher.token(record)
    return records[0]
  }

  /** Stores what a place is given, unless it was given something before. */
  async #note(
    key: string,
    given: Pick<InputRead, 'taken' | 'seen'>,
    tags: readonly string[] = [],
  ): Promise<PlacedRead> {
    const outputJson = JSON.stringify({ stream: this.#stream, ...given })
    const insert = insertOf(this.#kernel.host, { key, runId: this.#attempt.id, outputJson, tags })
    const request = { ...insert, fence: fenceOf(this.#attempt) }
    const { record } = await this.#kernel.written(this.#attempt, INSERT_TOKEN, request)
    const read = JSON.parse(record.outputJson ?? outputJson) as InputRead
    const placed = { read, record }
    this.#given.set(key, placed)
    return placed
  }

  #dropOnAbort(id: string, wish: InputWish): void {
    if (wish.signal === undefined) return
    // A wait that cannot be dropped ends with its attempt.
    wish.stopListening = onAbort(wish.signal, () => void this.pass(id).catch(() => undefined))
  }
}
