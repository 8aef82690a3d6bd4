import {
  ageOf,
  JOINED,
  LOOSE,
  markOf,
  type ToldAnswer,
  type ToldAnswers,
} from '../../contract/told-answers.ts'

/** An answer: when it was given, the id of its token, and how many answers had been handed over when its wait began. */
export interface GivenAnswer {
  readonly at: number
  readonly id: string
  readonly since: number
  /** Of the storage, which has made the token. The answer to the question comes later. */
  readonly isOfStorage?: boolean
}

/** An answer whose turn has not come. */
interface Held extends GivenAnswer {
  handOver(): void
  /** The attempt has ended before. */
  ended?(): void
}

/** In both lists the first to be handed over comes last. */
interface HeldAnswers {
  /** Those that questions have told. */
  readonly told: Held[]
  readonly untold: Held[]
}

/** An answer that was handed over. */
interface Recent extends GivenAnswer {
  /** Storage has given it together with the one before. */
  readonly isJoined?: boolean
}

/** A question tells so many answers at most. */
const MOST_TOLD = 16
/** So many answers that come at once wait for a turn of their own. More of them are handed over together. */
const MOST_HELD = 32
const SETTLED = /* @__PURE__ */ Promise.resolve()

/**
 * The order in which an attempt gets its answers. An attempt that is executed again gets those that it finds as before: one
 * in each turn, when the flows have gone on as far as they can. Questions are then asked in the order of the earlier
 * execution, and a race has the same winner.
 *
 * The order is that in which the answers were given. Flows side by side may have got them in another one, as when two were
 * given in one millisecond. Hence the next question tells which answers came since the one before, and of answers that come
 * at once the second waits for a turn. See
 * docs/decisions/places-of-waits.md#3-answers-are-handed-over-in-the-order-they-were-given.
 */
export class AnswerOrder {
  /** Answers whose turn has not come. Most attempts never have any. */
  #held: HeldAnswers | undefined = undefined
  readonly #told: ToldAnswers | undefined
  #isReplaying: boolean
  /** To be told with the next question. */
  #recent: Recent[] | undefined = undefined
  /** Some came while other waits were open. */
  #areSideBySide = false
  #isLoose = false
  #areRecentTold = false
  #calls = 0
  /** Calls that flows go on from and that are no waits: see `Attempt.inTurn`. */
  callsOut = 0
  /** An answer of storage was handed over in this microtask: those that storage has given with it follow. */
  #isJoining = false

  /** @param told For an attempt that is executed again. */
  constructor(told?: ToldAnswers) {
    this.#told = told
    this.#isReplaying = told !== undefined
  }

  /** Answers that were there before are held. Later what comes is new. */
  get isReplaying(): boolean {
    return this.#isReplaying
  }

  hold(answer: Held): void {
    const held = (this.#held ??= { told: [], untold: [] })
    if (held.untold.length === MOST_HELD && !this.#isReplaying) while (this.#handOverNext());
    if (this.#toldOf(answer) === undefined) insert(held.untold, answer, isBefore)
    else insert(held.told, answer, (one, other) => this.#placeOf(one) < this.#placeOf(other))
  }

  /** An answer is handed over. `isAlone`: nothing else was open since the wait for it began. */
  note(answer: GivenAnswer, isAlone: boolean): void {
    if (!isAlone) this.#areSideBySide = true
    const recent = this.joins(answer) ? { isJoined: true, ...answer } : answer
    if (answer.isOfStorage === true && !isAlone) this.#join()
    else this.#isJoining = false
    if (this.#recent === undefined || this.#areRecentTold) {
      // Not pushed into an empty list: that makes room for seventeen.
      this.#recent = [recent]
      this.#isLoose = this.#areRecentTold = false
      return
    }
    if (this.#recent.push(recent) <= MOST_TOLD) return
    this.#recent.shift()
    this.#isLoose = true
  }

  /** Whether storage has given this together with what was handed over before. */
  joins({ isOfStorage }: GivenAnswer): boolean {
    return isOfStorage === true && this.#isJoining
  }

  #join(): void {
    this.#isJoining = true
    // What comes together is handed over in a row, before this.
    const over = (): void => {
      this.#isJoining = false
    }
    SETTLED.then(over, over)
  }

  /** The answers that a question comes after, unless their order is that of the waits for them. */
  tell(): string | undefined {
    if (!this.#areSideBySide || this.#recent === undefined) return undefined
    this.#areRecentTold = true
    return (this.#isLoose ? LOOSE : '') + this.#recent.map(toldText).join(',')
  }

  /** A call to storage is out: the flow that made it can go on. `then` is called once no call is out. */
  wait(answer: Promise<unknown>, then: () => void): void {
    if (!this.#isReplaying) return
    this.#calls += 1
    const answered = (): void => {
      this.#calls -= 1
      if (this.#calls === 0 && this.#isReplaying) then()
    }
    answer.then(answered, answered)
  }

  /** The attempt has ended. */
  end(): void {
    this.#isReplaying = false
    const held = this.#held
    this.#held = undefined
    if (held !== undefined) for (const one of [...held.told, ...held.untold]) one.ended?.()
  }

  /** A turn has passed. Hands over the next answer, and says whether it did; without any nothing is replayed any more. */
  endTurn(): boolean {
    if (this.#calls > 0 && this.#isReplaying) return false
    const isHandedOver = this.#handOverNext()
    if (!isHandedOver) this.#isReplaying = false
    return isHandedOver
  }

  #handOverNext(): boolean {
    const next = this.#takeNext()
    next?.handOver()
    for (let at = next; at?.isOfStorage === true && this.#isNextJoined(at);) {
      at = this.#takeNext()
      at?.handOver()
    }
    return next !== undefined
  }

  #takeNext(): Held | undefined {
    return this.#nextList()?.pop()
  }

  #nextList(): Held[] | undefined {
    return this.#held && (this.#isUntoldNext(this.#held) ? this.#held.untold : this.#held.told)
  }

  /** Unless it is told otherwise, storage has given its answers together. */
  #isNextJoined(one: Held): boolean {
    const next = this.#nextList()?.at(-1)
    if (next?.isOfStorage !== true) return false
    const [told, toldNext] = [this.#toldOf(one), this.#toldOf(next)]
    if (toldNext === undefined) return told === undefined
    return toldNext.isJoined && toldNext.place - 1 === told?.place
  }

  #isUntoldNext({ told: allTold, untold: allUntold }: HeldAnswers): boolean {
    const [told, untold] = [allTold.at(-1), allUntold.at(-1)]
    if (told === undefined || untold === undefined) return told === undefined
    return this.#toldOf(told)?.isLoose === true && isBefore(untold, told)
  }

  #toldOf(answer: GivenAnswer): ToldAnswer | undefined {
    return this.#told?.get(markOf(answer))
  }

  #placeOf(answer: GivenAnswer): number {
    return this.#toldOf(answer)?.place ?? 0
  }
}

/** Into a list whose first comes last. */
function insert(list: Held[], answer: Held, isFirst: (one: Held, other: Held) => boolean): void {
  let [from, to] = [0, list.length]
  while (from < to) {
    const middle = (from + to) >> 1
    const other = list[middle]
    if (other !== undefined && isFirst(answer, other)) from = middle + 1
    else to = middle
  }
  list.splice(from, 0, answer)
}

/** Of answers of one instant that to the older question comes first: the younger question may follow from it. */
function isBefore(one: GivenAnswer, other: GivenAnswer): boolean {
  return one.at === other.at ? ageOf(one.id) < ageOf(other.id) : one.at < other.at
}

function toldText(answer: Recent): string {
  return (answer.isJoined === true ? JOINED : '') + markOf(answer)
}
