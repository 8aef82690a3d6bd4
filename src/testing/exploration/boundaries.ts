import type { Awaitable } from '../../contract/storage.ts'
import { StorageUnavailableError } from '../../contract/storage-unavailable.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import type { Process } from './process.ts'
import type { ToldCall } from './storage-call.ts'

/** The passage of a boundary: `whole` or with a fault; `unanswered` when its process dies. */
export type Passage = 'whole' | 'error' | 'lost' | 'late' | 'lost-response' | 'unanswered'

/** A pending call to the outside. */
export interface Boundary {
  readonly label: string
  /** The calling process; `undefined` for the test itself. */
  readonly process: Process | undefined
  /** Whether the call changes state, so that a crash before and after it is worth exploring. */
  readonly isCommit: boolean
  /** Whether it can fail. A storage call can, and the response to a request. */
  readonly mayFail: boolean | 'response'
  /** The storage call, if it is one. */
  readonly call?: ToldCall | undefined
  /** Whether it must wait for others, such as for the transaction of the only connection. */
  readonly isBlocked?: (() => boolean) | undefined
  pass(passage: Passage): void
}

interface NewBoundary extends Omit<Boundary, 'pass'> {
  /** Called with the answer just before the caller receives it. */
  readonly answered?: ((answer: unknown) => void) | undefined
}

/** A storage call that failed on purpose in this schedule, as with a storage that is away. */
export class InjectedFault extends StorageUnavailableError {
  readonly label: string

  /** @param kind `lost`: the call took effect. */
  constructor(label: string, kind: 'error' | 'lost') {
    const mayBeDone = kind === 'lost'
    const effect = mayBeDone ? 'after it took effect' : 'without any effect'
    super(`Cannot reach the storage in "${label}": the exploration injected a fault, ${effect}`, {
      mayBeDone,
    })
    this.name = 'InjectedFault'
    this.label = label
  }
}

/** The pending boundaries of one schedule, in order of arrival. */
export class Boundaries {
  #pending: Boundary[] = []
  #underWay = 0
  #loading: Promise<void> | undefined

  get pending(): readonly Boundary[] {
    return this.#pending
  }

  /** Those that may go next: the calls of a process that stands still are held. */
  get ready(): readonly Boundary[] {
    return this.#pending.some(isHeld) ? this.#pending.filter((boundary) => !isHeld(boundary)) : this.#pending
  }

  /** The number of effects in progress that take real time. */
  get underWay(): number {
    return this.#underWay
  }

  /** Waits for its turn, takes effect, and answers. If its process dies first, the answer never comes. */
  call<T>(about: NewBoundary, effect: () => Awaitable<T>): Promise<T> {
    const { label, process, isCommit, mayFail, call, isBlocked } = about
    return new Promise<T>((resolve, reject) => {
      const pass = (passage: Passage): void => {
        if (passage === 'error') reject(new InjectedFault(label, 'error'))
        else this.#perform(effect, { about, passage, resolve, reject })
      }
      // Each named, as spreads are slow.
      this.#pending.push({ label, process, isCommit, mayFail, call, isBlocked, pass })
    })
  }

  /** Suspends the schedule until the promise settles. */
  external<T>(promise: Promise<T>): Promise<T> {
    this.#underWay += 1
    const end = (): void => void (this.#underWay -= 1)
    promise.then(end, end)
    return promise
  }

  /** An effect waits for code that has boundaries itself, such as that of a transaction. */
  async meanwhile<T>(code: () => Promise<T>): Promise<T> {
    this.#underWay -= 1
    try {
      return await code()
    } finally {
      this.#underWay += 1
    }
  }

  /** Suspends the schedule until modules are loaded, however long that takes. */
  load<T>(modules: Promise<T>): Promise<T> {
    const loading: Promise<void> = modules.then(
      () => this.#loaded(loading),
      () => this.#loaded(loading),
    )
    this.#loading = loading
    return modules
  }

  #loaded(loading: Promise<void>): void {
    if (this.#loading === loading) this.#loading = undefined
  }

  /** Settles when the modules are loaded that the schedule waits for. */
  get loading(): Promise<void> | undefined {
    return this.#loading
  }

  /** Removes a boundary, in order to pass it. */
  take(boundary: Boundary): void {
    const index = this.#pending.indexOf(boundary)
    this.#pending.splice(index, 1)
  }

  /** The process of a boundary stands still before it. A label of its own names it when it comes again, and nothing else happens to its process there. */
  delay(boundary: Boundary): void {
    const label = `${boundary.label}:again`
    this.#pending = this.#pending.map((one) => (one === boundary ? { ...one, label, isCommit: false } : one))
  }

  /** Drops the boundaries of a dead process. They never take effect. */
  drop(process: Process): void {
    this.#pending = this.#pending.filter((boundary) => boundary.process !== process)
  }

  #perform<T>(effect: () => Awaitable<T>, call: PassedCall<T>): void {
    try {
      const answer = effect()
      if (isPromise(answer)) this.#follow(answer, call)
      else this.#answer(answer, call)
    } catch (error) {
      call.reject(error)
    }
  }

  #follow<T>(answer: Promise<T>, call: PassedCall<T>): void {
    this.#underWay += 1
    answer.then(
      (value) => {
        this.#underWay -= 1
        this.#answer(value, call)
      },
      (error: unknown) => {
        this.#underWay -= 1
        call.reject(error)
      },
    )
  }

  #answer<T>(value: T, { about, passage, resolve, reject }: PassedCall<T>): void {
    const { label, process, answered } = about
    const answer = (): void => {
      answered?.(value)
      resolve(value)
    }
    if (passage === 'unanswered' || process?.isDead === true) return
    if (passage === 'lost' || passage === 'lost-response') reject(new InjectedFault(label, 'lost'))
    else if (passage === 'whole') answer()
    else {
      this.#pending.push({
        label: `${label}:answer`,
        process,
        isCommit: false,
        mayFail: false,
        call: undefined,
        isBlocked: undefined,
        pass: answer,
      })
    }
  }
}

function isHeld(boundary: Boundary): boolean {
  return boundary.process?.isPaused === true || boundary.isBlocked?.() === true
}

interface PassedCall<T> {
  readonly about: NewBoundary
  readonly passage: Passage
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}
