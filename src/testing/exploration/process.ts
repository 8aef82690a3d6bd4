import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

/** One life of an engine, from its start to its crash or to the end of the schedule. */
export class Process {
  /** `engine`, which runs tasks and may die, or `elsewhere`. */
  readonly name: 'engine' | 'elsewhere'
  /** Resolves when the process dies. */
  readonly died: Deferred<void> = createDeferred()
  readonly #holds = new Set<Hold>()
  #isDead = false
  #isObserved = false
  #isAsleep = 0

  constructor(name: 'engine' | 'elsewhere') {
    this.name = name
  }

  get isMain(): boolean {
    return this.name === 'engine'
  }

  /** Nothing it asked for comes back any more. */
  get isDead(): boolean {
    return this.#isDead
  }

  /** Its storage calls are boundaries; while it opens and closes they go straight through. */
  get isObserved(): boolean {
    return this.#isObserved
  }

  set isObserved(isObserved: boolean) {
    this.#isObserved = isObserved
  }

  /**
   * Who is busy with what is neither the engine's nor this clock's: runs whose code is at real I/O, or a bug; requests
   * whose body is read.
   */
  get away(): readonly string[] {
    const executing: string[] = []
    const called: string[] = []
    for (const { kind, id } of this.#holds) {
      if (kind === 'executing') executing.push(id)
      else if (kind === 'call') called.push(id)
    }
    return executing.length > this.#isAsleep ? [...called, ...executing] : called
  }

  /** What its engine is busy with, or waits for. */
  get holds(): readonly Hold[] {
    return [...this.#holds]
  }

  hold(hold: Hold): ReleaseHold {
    if (this.#isDead) return () => undefined
    // An object of its own: the caller's may be held twice.
    const held = { ...hold }
    this.#holds.add(held)
    return () => void this.#holds.delete(held)
  }

  /** The code of one of its runs sleeps on the clock of the schedule. */
  fallAsleep(): void {
    this.#isAsleep += 1
  }

  wakeUp(): void {
    this.#isAsleep -= 1
  }

  die(): void {
    this.#isDead = true
    this.#holds.clear()
    this.died.resolve()
  }
}
