import type { Clock } from '../../contract/clock.ts'
import type { RandomSource } from '../../contract/random.ts'
import type { Awaitable, Storage } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { createIdSource, type MadeId } from '../../primitives/id.ts'
import { WaitpointError } from '../../api/errors.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import { STORAGE } from '../diagnostics.ts'
import { publishingStorage } from './publishing-storage.ts'

/** The outside world of an engine. */
export interface EnginePorts {
  readonly clock: Clock
  readonly storage: Storage
  readonly random: RandomSource
}

/** The engine that a host opens the storage for. */
interface Opened {
  start(): Awaitable<void>
}

/** An engine's hold on its ports: its name there, and whether it is open. */
export class Host {
  readonly clock: Clock
  readonly random: RandomSource
  /**
   * Makes the id of a record, and the instant in it: that of its creation. It is later than `at`, or now, if the clock has
   * stepped back.
   */
  readonly made: (prefix: string, at?: number) => MadeId
  readonly #storage: Storage
  #publishing: Storage | undefined
  #owner: string
  #secret = ''
  #opening: Opening | undefined
  #holdsStorage = false
  #isClosing = false
  #turns = 0
  #isClosed = false

  constructor({ clock, storage, random }: EnginePorts) {
    this.clock = clock
    this.#storage = storage
    this.random = random
    this.made = createIdSource({ now: () => clock.now(), random })
    this.#owner = this.made('engine').id
  }

  /** Hot: without a subscriber it is the storage itself. */
  get storage(): Storage {
    if (!STORAGE.hasSubscribers) return this.#storage
    return (this.#publishing ??= publishingStorage(this.#storage, this))
  }

  /** The name of this engine's lease. */
  get owner(): string {
    return this.#owner
  }

  /** Signs token URLs; kept in the storage, so that a URL outlives the process. */
  get urlSecret(): string {
    if (this.#secret === '') throw new Error('Cannot sign: the engine is not open yet')
    return this.#secret
  }

  /** No new work: only what runs already may still call. */
  get isClosing(): boolean {
    return this.#isClosing
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /**
   * Gives the storage back, if it was opened; after an opening that is under way, and what readers still read. The storage
   * may know when to wait no more.
   */
  leaveStorage(isRead: Promise<void>): Awaitable<void> {
    const left = this.#leaveStorage(isRead)
    return this.#storage.untilLeft?.(left) ?? left
  }

  async #leaveStorage(isRead: Promise<void>): Promise<void> {
    try {
      await this.#opening?.done
    } catch {
      // The first caller got the error; resources opened by then are given back.
    }
    await isRead
    if (!this.#holdsStorage) return
    this.#holdsStorage = false
    await this.storage.leave({ owner: this.#owner, now: this.now() })
  }

  now(): number {
    return this.clock.now()
  }

  /** Work has kept the event loop busy for long: what is left is to wait for a turn. */
  get isTurnDue(): boolean {
    return this.clock.isTurnDue?.() === true
  }

  /** Does something after a turn of the event loop, which much work is to leave to the rest of the process. */
  afterTurn(label: string, goOn: () => void): void {
    this.#turns += 1
    const fire = (): void => {
      this.#turns += 1
      goOn()
    }
    this.clock.setTimer(this.now(), fire, { label, background: true })
  }

  /** Resolves once `begin` has called `done`, at the latest after so long. */
  async atMost(ms: number, what: string, begin: (done: () => void) => void): Promise<void> {
    const { promise, resolve } = createDeferred<void>()
    const done = (): void => resolve()
    begin(done)
    const release = this.clock.hold?.({ kind: 'awaited', id: what, fail: done })
    const cancel = this.clock.setTimer(this.now() + ms, done, { label: what })
    await promise
    cancel()
    release?.()
  }

  /** Goes up whenever such a turn is asked for, and when it has come. */
  get turns(): number {
    return this.#turns
  }

  /** After a lost lease nothing may be written under the old name. */
  renameOwner(): void {
    this.#owner = this.made('engine').id
  }

  /**
   * Opens the engine with the first call. A failed step is tried again with the next one; a storage that is open stays so.
   * Readers may use it until it is left.
   */
  open(engine: Opened, isReader = false): Awaitable<void> {
    if (this.#isClosed || (this.#isClosing && liveAttempt() === undefined)) {
      if (isReader && this.#holdsStorage) return undefined
      throw this.closedError()
    }
    const opening = (this.#opening ??= this.#tryToOpen(engine))
    if (opening.failure !== undefined) {
      this.#forget(opening)
      throw opening.failure
    }
    return opening.done
  }

  beginClose(): void {
    this.#isClosing = true
  }

  close(): void {
    this.#isClosing = true
    this.#isClosed = true
  }

  closedError(): WaitpointError {
    return new WaitpointError('ERR_ENGINE_CLOSED', 'Cannot use the engine: it is closed')
  }

  #tryToOpen(engine: Opened): Opening {
    try {
      const opening: Opening = { done: this.#begin(engine) }
      // From then on calls need not wait.
      if (isPromise(opening.done))
        opening.done.then(
          () => (opening.done = undefined),
          () => this.#forget(opening),
        )
      return opening
    } catch (failure) {
      return { done: undefined, failure: failure instanceof Error ? failure : new Error(String(failure)) }
    }
  }

  #forget(opening: Opening): void {
    if (this.#opening === opening) this.#opening = undefined
  }

  #begin(engine: Opened): Awaitable<void> {
    return chain(this.#holdsStorage ? undefined : this.storage.open(), () => {
      this.#holdsStorage = true
      return chain(correctClockAtOpen(this.clock, this.storage), () => this.#opened(engine))
    })
  }

  #opened(engine: Opened): Awaitable<void> {
    this.#assertOpen()
    const candidate = hex(this.random.bytes(32))
    return chain(this.storage.settings.getOrInsert('url-secret', candidate), (secret) => {
      this.#assertOpen()
      this.#secret = secret
      return engine.start()
    })
  }

  /** The engine may be closed while it opens. */
  #assertOpen(): void {
    if (this.#isClosed) throw this.closedError()
  }
}

/** Whether engines of other machines may be there, in real time. */
export function meetsMachines({ clock, storage }: Pick<Host, 'clock' | 'storage'>): boolean {
  return clock.adjust !== undefined && storage.time !== undefined
}

/** One try to open the engine: under way while `done` is a promise. */
interface Opening {
  done: Awaitable<void>
  readonly failure?: Error
}

function hex(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

/** The time of a storage, and the instant at which it was asked. */
export interface TimeSample {
  readonly askedAt: number
  readonly time: number
}

/** A storage says what time it is in whole milliseconds. */
const ROUNDING_MS = 1

/**
 * Sets the clock to the time of the storage, which is the same for all machines that share it, as far as the clock can be
 * set. It stays as it is while the difference is within what the way there and back may be.
 */
export function correctClock(clock: Clock, { askedAt, time }: TimeSample): void {
  if (clock.adjust === undefined) return
  const answeredAt = clock.now()
  const difference = time - (askedAt + answeredAt) / 2
  const doubt = (answeredAt - askedAt) / 2 + ROUNDING_MS
  if (Math.abs(difference) > doubt) clock.adjust(Math.round(difference))
}

/** Sets the clock before anything is asked of the storage: a first tick would end leases by a clock that is minutes ahead. */
export function correctClockAtOpen(clock: Clock, storage: Storage): Awaitable<void> {
  if (clock.adjust === undefined || storage.time === undefined) return undefined
  const askedAt = clock.now()
  return chain(storage.time(), (time) => correctClock(clock, { askedAt, time }))
}
