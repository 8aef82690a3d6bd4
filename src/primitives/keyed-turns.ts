/** Lets callers that want the same thing have it one after the other. */
export class KeyedTurns {
  /** The end of the last turn for each key. */
  readonly #last = new Map<string, Promise<unknown>>()

  /** Calls `body` when all before it, for this key, have settled; answers what it does. */
  take<T>(key: string, body: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(body, body)
    this.#last.set(key, turn)
    const leave = (): void => {
      if (this.#last.get(key) === turn) this.#last.delete(key)
    }
    turn.then(leave, leave)
    return turn
  }
}
