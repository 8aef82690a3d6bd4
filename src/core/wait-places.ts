import { type Few, findItem, withItem } from '../primitives/few.ts'

/** The places of the waits of one attempt: each among those of its kind, in call order. Part of their implicit keys. */
export class WaitPlaces {
  /** `onStart` is under way. It is not called again after an interruption: its waits have places of their own, below 0. */
  isStarting = false
  /** One for each kind a run waits with: nearly always a single one. */
  #counters: Few<Counter>

  next(kind: string): number {
    const place = this.#count(this.isStarting ? `onStart ${kind}` : kind)
    return this.isStarting ? -1 - place : place
  }

  #count(name: string): number {
    const counter = findItem(this.#counters, (one) => one.name === name)
    if (counter !== undefined) return counter.next++
    this.#counters = withItem(this.#counters, { name, next: 1 })
    return 0
  }
}

interface Counter {
  readonly name: string
  next: number
}
