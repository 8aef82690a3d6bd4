import type { Hold, ReleaseHold } from '../../contract/clock.ts'
import type { Hint, Unsubscribe } from '../../contract/storage.ts'
import { createDeferred, type Deferred } from '../../primitives/deferred.ts'

export interface ProcessOptions {
  /** `engine`, `elsewhere`, or the name that the body gave to its engine. */
  readonly name: string
  /** Whether it may crash and stand still. */
  readonly isMortal: boolean
  /** How far its clock is ahead. */
  readonly clockSkewMs?: number
}

/** One life of an engine, from its start to its crash or to the end of the schedule. */
export class Process {
  readonly name: string
  readonly isMortal: boolean
  readonly clockSkewMs: number
  /** Resolves when the process dies. */
  readonly died: Deferred<void> = createDeferred()
  readonly #holds = new Set<Hold>()
  readonly #listeners = new Set<(hint: Hint) => void>()
  /** The callers that wait for answers, and are told when none will come. */
  readonly #callers = new Set<() => void>()
  #isDead = false
  #isObserved = false
  #isPaused = false
  #isAsleep = 0

  constructor({ name, isMortal, clockSkewMs = 0 }: ProcessOptions) {
    this.name = name
    this.isMortal = isMortal
    this.clockSkewMs = clockSkewMs
  }

  /** The engine that the body uses as `t.engine`. */
  get isMain(): boolean {
    return this.name === 'engine'
  }

  /** As a story names it: `the process`, while there is one only, or the engine by its name. */
  get title(): string {
    return this.isMain ? 'the process' : this.name
  }

  /** Whether the process is dead; its calls are then never answered. */
  get isDead(): boolean {
    return this.#isDead
  }

  /** Whether the process stands still: its calls are held, its timers do not fire, and time passes. */
  get isPaused(): boolean {
    return this.#isPaused
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused
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
    if (this.#isPaused) return []
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

  /** Subscribes its engine to hints. */
  listen(listener: (hint: Hint) => void): Unsubscribe {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** Its engine learns that something has changed. */
  hear(hint: Hint): void {
    if (this.#isDead) return
    for (const listener of this.#listeners) listener(hint)
  }

  /** Code of one of its runs sleeps on the clock of the schedule. */
  fallAsleep(): void {
    this.#isAsleep += 1
  }

  wakeUp(): void {
    this.#isAsleep -= 1
  }

  /** The answer to a call, or `undefined` if the process dies before. */
  answerTo<T>(call: Promise<T>): Promise<{ readonly value: T } | undefined> {
    const { promise, resolve, reject } = createDeferred<{ readonly value: T } | undefined>()
    const giveUp = (): void => resolve(undefined)
    this.#callers.add(giveUp)
    // A race would take five promises.
    call.then(
      (value) => {
        this.#callers.delete(giveUp)
        resolve({ value })
      },
      (error: unknown) => {
        this.#callers.delete(giveUp)
        reject(error)
      },
    )
    return promise
  }

  die(): void {
    this.#isDead = true
    this.#isPaused = false
    this.#holds.clear()
    this.died.resolve()
    for (const giveUp of this.#callers) giveUp()
    this.#callers.clear()
  }
}
