import type { CallCounts } from '../../contract/question-keys.ts'
import type { EffectChunks } from './effect-chunks.ts'

const SETTLED = /* @__PURE__ */ Promise.resolve()

/**
 * A point in the flow of an attempt, carried by the async context: the path of engine calls that led here. A call moves
 * its caller to a place of its own, so flows that run side by side have different places whatever the order of answers.
 *
 * A place is known by a 64-bit hash of its path, in two halves: a loop may wait a million times, and its path stays as
 * short as the first. Hot: every wait makes one place, and a parked run holds one.
 */
export class Place<Attempt> {
  readonly attempt: Attempt
  readonly #high: number
  readonly #low: number
  /** The place of the synchronous code that entered this one, until that code has ended: see {@link enterCall}. */
  origin: Place<Attempt> | undefined = undefined
  /** The content of the first call. Most places see one call, or none. */
  #content: number | undefined = undefined
  /** From the second call on. */
  #calls: Calls | undefined = undefined

  constructor(attempt: Attempt, high = 0x811c9dc5, low = 0x2f0b4c47) {
    this.attempt = attempt
    this.#high = high
    this.#low = low
  }

  /** What the effect writes that this is part of: see {@link EffectPlace}. */
  get chunks(): EffectChunks | undefined {
    return undefined
  }

  /** Names this place in keys: the same for the same path in every execution. */
  get name(): string {
    return `${spell(this.#high)}-${spell(this.#low)}`
  }

  /** Whether a call was made here. */
  get hasCalls(): boolean {
    return this.#content !== undefined
  }

  /** The place of a branch that is known by its content alone, such as the effect under a key of `once`. */
  branch(content: number): Place<Attempt> {
    return Place.#after(this, content, -1)
  }

  /**
   * A call with this content is made here. Answers the place its caller goes on from. `isFirst`: by a continuation that has
   * made none here yet.
   */
  call(content: number, isFirst: boolean): Place<Attempt> {
    if (this.#content === undefined) this.#content = content
    else (this.#calls ??= new Calls()).add(content === this.#content ? undefined : content, isFirst)
    return Place.#after(this, content, this.latest.index)
  }

  /** Of the latest call: how many were made here before. */
  get latest(): CallCounts {
    return this.#calls ?? NONE_BEFORE
  }

  /** Static: a private method would cost each place 8 bytes. */
  static #after<Attempt>(place: Place<Attempt>, content: number, index: number): Place<Attempt> {
    const high = mix(mix(place.#high, content), index)
    const low = mix(mix(place.#low ^ 0x5bd1e995, index), content)
    const { chunks } = place
    if (chunks === undefined) return new Place(place.attempt, high, low)
    return new EffectPlace(place.attempt, chunks, [high, low])
  }
}

/** A place in an effect of `once`. Few are, and a field would cost each place 8 bytes. */
export class EffectPlace<Attempt> extends Place<Attempt> {
  readonly #written: EffectChunks

  constructor(attempt: Attempt, written: EffectChunks, halves: readonly [] | readonly [number, number] = []) {
    super(attempt, ...halves)
    this.#written = written
  }

  override get chunks(): EffectChunks {
    return this.#written
  }
}

export const NONE_BEFORE: CallCounts = { index: 0, continuation: 0, position: 0 }

/** Counts the calls at a place, and says what came before the latest. */
class Calls implements CallCounts {
  index = 0
  continuation = 0
  position = 0
  /** Of calls with the content of the first. */
  #count = 1
  /** Of calls with other content. */
  #others: Map<number, number> | undefined = undefined

  /** @param content None for that of the first call. */
  add(content: number | undefined, isFirst: boolean): void {
    if (isFirst) this.continuation += 1
    this.position += 1
    if (content === undefined) this.index = this.#count++
    else {
      this.#others ??= new Map()
      this.index = this.#others.get(content) ?? 0
      this.#others.set(content, this.index + 1)
    }
  }
}

/** The place entered by synchronous code that may still be running, and others if there are. */
let entered: Place<unknown> | undefined
let alsoEntered: Place<unknown>[] | undefined

/**
 * Makes a call at the place its caller is at, or, when the same synchronous code has made another call before, at the
 * place that code began at: what `enterWith` leaves behind must not make one flow the child of its neighbour. Answers the
 * place its caller goes on from. Its `origin`, until the code has ended, is the place of the call.
 */
export function enterCall<Attempt>(current: Place<Attempt>, content: number): Place<Attempt> {
  const { origin } = current
  const at = origin ?? current
  const next = at.call(content, origin === undefined)
  next.origin = at
  if (entered === undefined) {
    entered = next
    // A continuation that finds the new place comes after this microtask, which was there before it.
    SETTLED.then(endSegments, endSegments)
  } else if (alsoEntered === undefined) alsoEntered = [next]
  else alsoEntered.push(next)
  return next
}

/** The synchronous code that entered these places has ended. */
function endSegments(): void {
  if (entered !== undefined) entered.origin = undefined
  if (alsoEntered !== undefined) for (const place of alsoEntered) place.origin = undefined
  entered = alsoEntered = undefined
}

/** One step of FNV-1a, with its bits spread: paths differ in few of them. */
function mix(hash: number, value: number): number {
  let mixed = Math.imul(hash ^ value, 0x01000193)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b)
  return mixed ^ (mixed >>> 13)
}

/** In base 36. Without its last digit it is a small integer, of which V8 makes a text several times as fast as of others. */
function spell(half: number): string {
  const number = half >>> 0
  const rest = Math.floor(number / 36)
  return (rest === 0 ? '' : rest.toString(36)) + (number % 36).toString(36)
}
