import type { Storage } from 'waitpoint'
import { seededRandom } from '../../src/clock/seeded-random.ts'
import type { StorageOperation, TickResult } from '../../src/contract/storage.ts'
import { StorageUnavailableError } from '../../src/contract/storage-unavailable.ts'
import { isPromise } from '../../src/primitives/awaitable.ts'
import { createDeferred } from '../../src/primitives/deferred.ts'
import { wrapStorage } from '../../src/testing/storages/wrapped.ts'

/** Chance that a seed decides. */
export class Dice {
  readonly #random: ReturnType<typeof seededRandom>

  constructor(seed: number) {
    this.#random = seededRandom(seed)
  }

  below(count: number): number {
    return Math.floor(this.#random.fraction() * count)
  }

  happens(chance: number): boolean {
    return this.#random.fraction() < chance
  }

  pick<One>(all: readonly [One, ...One[]]): One
  pick<One>(all: readonly One[]): One | undefined
  pick<One>(all: readonly One[]): One | undefined {
    return all[this.below(all.length)]
  }
}

/** An end of the network: a process that makes calls. */
export interface Caller {
  readonly name: string
  /** From then on it hears nothing, and says nothing new. */
  isGone: boolean
}

/** A call that was not answered. */
interface Message {
  readonly caller: Caller
  readonly name: StorageOperation
  readonly perform: () => unknown
  readonly answer: (answer: unknown) => void
  readonly fail: (error: unknown) => void
  /** It was performed, and this is what came of it. */
  outcome: { readonly answer: unknown } | { readonly error: unknown } | undefined
}

/** So many calls in ten are answered at once, as by a storage in memory. */
const AT_ONCE = 0.2
const NEVER = new Promise<never>(() => undefined)

/** Between processes and their storage: calls and answers take their time, get lost, and arrive after they were given up. */
export class LossyNetwork {
  readonly #dice: Dice
  readonly #note: (event: string) => void
  #out: readonly Message[] = []
  /** Calls that their callers have given up. */
  #late: readonly Message[] = []
  lost = 0
  late = 0
  /** Ticks that told that a lease was lost. */
  lostLeases = 0

  constructor(dice: Dice, note: (event: string) => void) {
    this.#dice = dice
    this.#note = note
  }

  /** The storage as a process sees it. `hears`: whether a hint arrives. */
  storageFor(caller: Caller, storage: Storage, hears: () => boolean): Storage {
    const around = wrapStorage(storage, (name, operation) => (...args) => {
      if (caller.isGone) return NEVER
      if (name === 'open' || name === 'leave' || this.#dice.happens(AT_ONCE)) return operation(...args)
      const { promise, resolve, reject } = createDeferred<Awaited<ReturnType<typeof operation>>>()
      // What it resolves with is what the operation has answered.
      const answer = resolve as (answer: unknown) => void
      const perform = (): unknown => operation(...args)
      this.#out = [...this.#out, { caller, name, perform, answer, fail: reject, outcome: undefined }]
      return promise
    })
    return {
      ...around,
      subscribe: (owner, listener) =>
        storage.subscribe(owner, (hint) => {
          if (!caller.isGone && hears()) listener(hint)
        }),
    }
  }

  /** Something happens to one call that is out. False: none is. */
  step(losses: number): boolean {
    const message = this.#dice.pick(this.#out)
    if (message === undefined) return false
    if (this.#dice.happens(losses)) this.#lose(message)
    else if (message.outcome === undefined && this.#dice.happens(0.7)) this.#perform(message)
    else this.#deliver(message)
    return true
  }

  /** All that is out is answered. */
  deliverAll(): void {
    for (const message of this.#out) this.#deliver(message)
  }

  /** A call that its caller has given up is performed, if there is one. */
  arriveLate(): void {
    const message = this.#dice.pick(this.#late)
    if (message === undefined) return
    this.#late = this.#late.filter((one) => one !== message)
    this.late += 1
    this.#note('late:')
    this.#perform(message)
  }

  /** A process dies: what it has sent may arrive. */
  drop(caller: Caller): void {
    for (const message of this.#out.filter((one) => one.caller === caller)) {
      this.#take(message)
      this.#mayBeLate(message)
    }
  }

  #take(message: Message): void {
    this.#out = this.#out.filter((one) => one !== message)
  }

  #perform(message: Message): void {
    const { caller, name, perform } = message
    this.#note(`${caller.name}: ${name} is performed`)
    const answered = (answer: unknown): void => {
      message.outcome = { answer }
      if (name === 'tick' && !(answer as TickResult).alive) this.lostLeases += 1
    }
    const failed = (error: unknown): void => {
      message.outcome = { error }
    }
    try {
      const answer = perform()
      if (isPromise(answer)) answer.then(answered, failed)
      else answered(answer)
    } catch (error) {
      failed(error)
    }
  }

  #deliver(message: Message): void {
    if (message.outcome === undefined) this.#perform(message)
    const { caller, name, outcome } = message
    // A storage that is far away has not answered yet.
    if (outcome === undefined) return
    this.#take(message)
    this.#note(`${caller.name}: ${name} is answered`)
    if ('error' in outcome) message.fail(outcome.error)
    else message.answer(outcome.answer)
  }

  /** The caller is told that the call may have been performed, or that it was not. */
  #lose(message: Message): void {
    const { caller, name, outcome, fail } = message
    this.lost += 1
    this.#take(message)
    const mayBeDone = outcome !== undefined || this.#dice.happens(0.7)
    this.#note(`${caller.name}: ${name} is lost, ${outcome === undefined ? 'not' : ''} performed`)
    if (mayBeDone) this.#mayBeLate(message)
    fail(new StorageUnavailableError('the connection is gone', { mayBeDone }))
  }

  #mayBeLate(message: Message): void {
    const isLate = message.outcome === undefined && this.#dice.happens(0.5)
    if (isLate) this.#late = [...this.#late, message]
  }
}
