import { onAbort } from '../../primitives/abort.ts'

const DONE = { done: true, value: undefined } as const

/**
 * The iterator of a subscription. It sends no request before the first `next()`. `return()` ends everything at once,
 * also while a `next()` is pending.
 */
export class Following<T> implements AsyncIterableIterator<T> {
  readonly #start: (signal: AbortSignal) => AsyncGenerator<T>
  readonly #signals: readonly (AbortSignal | undefined)[]
  readonly #controller = new AbortController()
  #parts: AsyncGenerator<T> | undefined
  #removeListeners: readonly (() => void)[] = []
  #isLeft = false

  constructor(
    start: (signal: AbortSignal) => AsyncGenerator<T>,
    signals: readonly (AbortSignal | undefined)[],
  ) {
    this.#start = start
    this.#signals = signals
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  async next(): Promise<IteratorResult<T>> {
    if (this.#isLeft) return DONE
    return this.#begin()
      .next()
      .then(
        (step) => this.#came(step),
        (error: unknown) => this.#failed(error),
      )
  }

  async return(): Promise<IteratorResult<T>> {
    if (this.#isLeft) return DONE
    this.#isLeft = true
    this.#end()
    await this.#parts?.return(undefined)
    return DONE
  }

  #begin(): AsyncGenerator<T> {
    if (this.#parts !== undefined) return this.#parts
    const { signal } = this.#controller
    this.#removeListeners = this.#signals.map((other) =>
      onAbort(other, (reason) => this.#controller.abort(reason)),
    )
    return (this.#parts = this.#start(signal))
  }

  #came(step: IteratorResult<T>): IteratorResult<T> {
    if (step.done === true) this.#end()
    return this.#isLeft ? DONE : step
  }

  #failed(error: unknown): IteratorResult<T> {
    this.#end()
    if (this.#isLeft) return DONE
    throw error
  }

  /** Aborts the pending requests. */
  #end(): void {
    for (const remove of this.#removeListeners) remove()
    this.#removeListeners = []
    this.#controller.abort(new Error('Cannot read on: the subscription has ended'))
  }
}
