import type { Awaitable } from '../../contract/storage.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import type { Host } from './host.ts'

export interface FairTurnsOptions {
  /** The name of the timer, for people. */
  readonly label: string
  /** As many callers go on in one turn of the event loop. */
  readonly atOnce: number
}

/**
 * Lets the rest of the process have its turns during much work. Once work has kept the event loop busy for long, callers
 * go on in a line, some of them in each turn.
 */
export class FairTurns {
  readonly #host: Pick<Host, 'isTurnDue' | 'afterTurn'>
  readonly #options: FairTurnsOptions
  /** In the order they came. */
  readonly #line = new Set<() => void>()
  #isPlanned = false

  constructor(host: Pick<Host, 'isTurnDue' | 'afterTurn'>, options: FairTurnsOptions) {
    this.#host = host
    this.#options = options
  }

  get hasLine(): boolean {
    return this.#line.size > 0
  }

  /** Resolves when a caller may go on; `undefined`: at once. */
  next(): Promise<void> | undefined {
    return this.hasLine || this.#host.isTurnDue ? this.join() : undefined
  }

  /** Resolves when a caller that has to wait may go on. */
  join(): Promise<void> {
    const { promise, resolve } = createDeferred<void>()
    this.#line.add(resolve)
    this.#plan()
    return promise
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    const { label, atOnce } = this.#options
    this.#host.afterTurn(label, () => {
      this.#isPlanned = false
      let count = 0
      for (const goOn of this.#line) {
        if (count === atOnce) break
        count += 1
        this.#line.delete(goOn)
        goOn()
      }
      if (this.#line.size > 0) this.#plan()
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
