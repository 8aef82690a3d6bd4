import type { Awaitable } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import type { Process } from './process.ts'

/** How a boundary is passed: as it should be, or with one of the faults; `unanswered` by a process that dies of it. */
export type Passage = 'whole' | 'error' | 'lost' | 'late' | 'unanswered'

/** A point where control is handed to something outside, not passed yet. */
export interface Boundary {
  readonly label: string
  /** Who called; the test itself is no process. */
  readonly process: Process | undefined
  /** Something will be different afterwards: worth dying before and after it. */
  readonly isCommit: boolean
  /** Whether it can fail: a storage call can. */
  readonly mayFail: boolean
  /** What it was asked with. */
  readonly args?: readonly unknown[]
  pass(passage: Passage): void
}

interface NewBoundary extends Omit<Boundary, 'pass'> {
  /** Told of the answer just before whoever called gets it. */
  readonly answered?: ((answer: unknown) => void) | undefined
}

/** A storage call that failed because the schedule wanted it to. */
export class InjectedFault extends Error {
  readonly label: string

  constructor(label: string, effect: string) {
    super(`Cannot reach the storage in "${label}": a fault of the exploration, ${effect}`)
    this.name = 'InjectedFault'
    this.label = label
  }
}

/** The boundaries of one schedule that wait to be passed, in the order in which they came. */
export class Boundaries {
  #pending: Boundary[] = []
  #underWay = 0

  get pending(): readonly Boundary[] {
    return this.#pending
  }

  /** Effects that were begun and take real time. */
  get underWay(): number {
    return this.#underWay
  }

  /** Waits for its turn, takes effect, and answers. The answer never comes when its process dies first. */
  call<T>(about: NewBoundary, effect: () => Awaitable<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const pass = (passage: Passage): void => {
        if (passage === 'error') reject(new InjectedFault(about.label, 'without any effect'))
        else this.#perform(effect, { ...about, passage, resolve, reject })
      }
      this.#pending.push({ ...about, pass })
    })
  }

  /** Nothing goes on until the promise settles. */
  external<T>(promise: Promise<T>): Promise<T> {
    this.#underWay += 1
    const end = (): void => void (this.#underWay -= 1)
    promise.then(end, end)
    return promise
  }

  /** Takes a boundary out, to be passed. */
  take(boundary: Boundary): void {
    const index = this.#pending.indexOf(boundary)
    this.#pending.splice(index, 1)
  }

  /** The process is gone: nothing it asked for takes effect any more. */
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

  #answer<T>(value: T, { label, process, passage, answered, resolve, reject }: PassedCall<T>): void {
    const answer = (): void => {
      answered?.(value)
      resolve(value)
    }
    if (passage === 'unanswered' || process?.isDead === true) return
    if (passage === 'lost') reject(new InjectedFault(label, 'after it took effect'))
    else if (passage === 'whole') answer()
    else {
      const about = { label: `${label}:answer`, process, isCommit: false, mayFail: false }
      this.#pending.push({ ...about, pass: answer })
    }
  }
}

interface PassedCall<T> extends NewBoundary {
  readonly passage: Passage
  readonly resolve: (value: T) => void
  readonly reject: (error: unknown) => void
}
