/** The places of the waits of one attempt: each among those of its kind, in call order. Part of their implicit keys. */
export class WaitPlaces {
  /** `onStart` is under way. It is not called again after an interruption: its waits have places of their own, below 0. */
  isStarting = false
  #next: Map<string, number> | undefined

  next(kind: string): number {
    this.#next ??= new Map()
    const counter = this.isStarting ? `onStart ${kind}` : kind
    const place = this.#next.get(counter) ?? 0
    this.#next.set(counter, place + 1)
    return this.isStarting ? -1 - place : place
  }
}
