import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

/** One life of an engine, from its start to its crash or to the end of the schedule. */
export class Process {
  /** `engine`, which executes tasks and may crash, or `elsewhere`. */
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

  /** Whether the process is dead; its calls are then never answered. */
  get isDead(): boolean {
    return this.#isDead
  }

  /** Whether storage calls are boundaries. While the engine opens and closes, they pass directly. */
  get isObserved(): boolean {
    return this.#isObserved
  }

  set isObserved(isObserved: boolean) {
    this.#isObserved = isObserved
  }

  /**
   * Activities outside of the engine and its clock: runs whose code does real I/O or hangs, and requests whose body is
   * being read. A run that awaits another run does neither.
   */
  get away(): readonly string[] {
    const executing: string[] = []
    const called: string[] = []
    const watching = new Set<string>()
    for (const { kind, id } of this.#holds) {
      if (kind === 'executing') executing.push(id)
      else if (kind === 'call') called.push(id)
      else if (kind === 'watching') watching.add(id)
    }
    const acting = executing.filter((id) => !watching.has(id))
    return acting.length > this.#isAsleep ? [...called, ...acting] : called
  }

  /** The activities and waits of the engine. */
  get holds(): readonly Hold[] {
    return [...this.#holds]
  }

  hold(hold: Hold): ReleaseHold {
    if (this.#isDead) return () => undefined
    // A separate object, because the caller may take the same hold twice.
    const held = { ...hold }
    this.#holds.add(held)
    return () => void this.#holds.delete(held)
  }

  /** Code of one of its runs sleeps on the clock of the schedule. */
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
