import type { Host } from '../core/host/host.ts'
import { createDeferred } from '../primitives/deferred.ts'

/** As many readers go on in one turn of the event loop. Each of them then gets a text of some 32 KiB. */
const AT_ONCE = 8

/**
 * Lets the rest of the process have its turns while many answers are sent. Once work has kept the event loop busy for long,
 * readers go on in a line, some of them in each turn.
 */
export class FairTurns {
  readonly #host: Pick<Host, 'isTurnDue' | 'afterTurn'>
  /** In the order they came. */
  readonly #line = new Set<() => void>()
  #isPlanned = false

  constructor(host: Pick<Host, 'isTurnDue' | 'afterTurn'>) {
    this.#host = host
  }

  /** Resolves when a reader may go on; `undefined`: at once. */
  next(): Promise<void> | undefined {
    if (this.#line.size === 0 && !this.#host.isTurnDue) return undefined
    const { promise, resolve } = createDeferred<void>()
    this.#line.add(resolve)
    this.#plan()
    return promise
  }

  #plan(): void {
    if (this.#isPlanned) return
    this.#isPlanned = true
    this.#host.afterTurn('answers that wait for a turn', () => {
      this.#isPlanned = false
      let count = 0
      for (const goOn of this.#line) {
        if (count === AT_ONCE) break
        count += 1
        this.#line.delete(goOn)
        goOn()
      }
      if (this.#line.size > 0) this.#plan()
    })
  }
}
