import type { Awaitable } from '../../contract/storage.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Host } from './host.ts'

/** Calls, and runs that start, between two questions to the clock whether the event loop is due a turn. */
const LOOK_EVERY = 16
/** As many callers go on in one turn of the event loop. */
const MOST_AT_ONCE = 256

/** Answers that are handed over in one turn. */
interface Slice extends Deferred<void> {
  /** Of the runs among their callers. */
  readonly attempts: Attempt[]
  /** Places. */
  left: number
}

/**
 * Lets the rest of the process have its turns of the event loop during much work. A call is served at once. When work has kept the
 * event loop busy for long, its answer stands in a line, and some of them are handed over in each turn: a loop of awaited calls
 * on a storage that answers at once would otherwise never let another one have a turn.
 */
export class Breath {
  readonly #host: Pick<Host, 'clock' | 'afterTurn' | 'isClosed'>
  readonly #atOnce: number
  /** In the order they came. */
  #line: Slice[] = []
  /** So many steps are left until the clock is asked. */
  #left = LOOK_EVERY

  constructor(host: Pick<Host, 'clock' | 'afterTurn' | 'isClosed'>, atOnce: number = MOST_AT_ONCE) {
    this.#host = host
    this.#atOnce = atOnce
  }

  /**
   * Takes a step, and says whether what is left is to wait for a turn. Hot: the clock is asked for one in so many steps, and
   * for each from when a turn is due until it has passed.
   */
  isDue(runId?: string): boolean {
    if (--this.#left > 0 && runId === undefined) return false
    const isDue = this.#host.clock.isTurnDue?.(runId) === true
    this.#left = isDue ? 0 : LOOK_EVERY
    return isDue
  }

  /** A step that may have taken long, such as a call of a storage that answers later: the clock is asked with the next one. */
  tookLong(): void {
    this.#left = 0
  }

  /**
   * Takes a call of an attempt, or of code outside of runs, as a step. Resolves when its answer may be handed over;
   * `undefined`, as a rule: at once. The clock is told the run for one in so many calls of that run itself.
   */
  turn(attempt?: Attempt): Promise<void> | undefined {
    return this.turnOfChunk(
      attempt,
      attempt !== undefined && ++attempt.calls % LOOK_EVERY === 0 ? attempt.id : undefined,
    )
  }

  /** As `turn()`, after a chunk: to append many of them at one instant is no endless loop. */
  turnOfChunk(attempt?: Attempt, runId?: string): Promise<void> | undefined {
    if (this.#line.length === 0 && !this.isDue(runId)) return undefined
    const slice = this.#slice()
    slice.left -= 1
    if (attempt !== undefined) {
      attempt.heldAnswers += 1
      slice.attempts.push(attempt)
      void attempt.asked(slice.promise)
    }
    return slice.promise
  }

  /** Where the next answer stands: one promise for all that are handed over in a turn, as a crowd has thousands. */
  #slice(): Slice {
    const last = this.#line.at(-1)
    if (last !== undefined && last.left > 0) return last
    const slice = { ...createDeferred<void>(), attempts: [], left: this.#atOnce }
    if (this.#line.push(slice) === 1) this.#plan()
    return slice
  }

  /** Resolves when a piece of work that takes long by itself may be done; `undefined`: at once. */
  next(): Promise<void> | undefined {
    this.tookLong()
    return this.turn()
  }

  /** Does something with each of many: with the first at once, then in slices with a turn of the event loop between them. */
  inSlices<T>(items: readonly T[], act: (item: T) => void): void {
    const host = this.#host
    for (const [at, item] of items.entries()) {
      if (at > 0) this.tookLong()
      if (at > 0 && this.isDue()) {
        host.afterTurn('the rest of many', () => host.isClosed || this.inSlices(items.slice(at), act))
        return
      }
      act(item)
    }
  }

  #plan(): void {
    this.#host.afterTurn('answers that wait for a turn', () => {
      // The turn begins now, not with the first question: the work before it may be the longest.
      this.#host.clock.isTurnDue?.()
      const slice = this.#line.shift()
      for (const attempt of slice?.attempts ?? []) {
        attempt.heldAnswers -= 1
        attempt.hasGoneOn = true
      }
      slice?.resolve()
      if (this.#line.length > 0) this.#plan()
    })
  }
}

/** Does something at once. The caller gets its result, or its error, when the turn has come. */
export async function afterTurn<T>(turn: Promise<void>, action: () => Awaitable<T>): Promise<T> {
  try {
    return await action()
  } finally {
    await turn
  }
}
