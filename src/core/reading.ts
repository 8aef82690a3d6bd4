import type { Watcher } from './change-feed.ts'
import { StreamLaggedError } from './errors.ts'

export interface ReadingOptions<T> {
  readonly watch: () => Watcher
  /** Reads on from wherever the reader stands. Closes the watcher. */
  readonly read: (watcher: Watcher) => AsyncGenerator<T>
}

/** One generator at work; a lag ends it, and the next one goes on. */
interface Pass<T> {
  readonly watcher: Watcher
  readonly parts: AsyncGenerator<T>
  isLagged: boolean
}

const DONE = { done: true, value: undefined } as const

/**
 * What a reader iterates: it watches nothing before the first `next()`, can be left while a `next()` is out, and goes on
 * after a `StreamLaggedError` with what is still kept.
 */
export class Reading<T> implements AsyncIterableIterator<T> {
  readonly #options: ReadingOptions<T>
  #pass: Pass<T> | undefined
  #isLeft = false

  constructor(options: ReadingOptions<T>) {
    this.#options = options
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Hot: one promise more than the generator's own. */
  next(): Promise<IteratorResult<T>> {
    if (this.#isLeft) return Promise.resolve(DONE)
    const pass = (this.#pass ??= this.#begin())
    return pass.parts.next().then(
      // Over, but asked for before the lag was known.
      (step) => (step.done === true && pass.isLagged ? this.next() : step),
      (error: unknown) => this.#failed(pass, error),
    )
  }

  async return(): Promise<IteratorResult<T>> {
    this.#isLeft = true
    const pass = this.#pass
    pass?.watcher.fail(new Error('Cannot read on: the reader has left'))
    await pass?.parts.return(undefined)
    return DONE
  }

  #begin(): Pass<T> {
    const watcher = this.#options.watch()
    return { watcher, parts: this.#options.read(watcher), isLagged: false }
  }

  #failed(pass: Pass<T>, error: unknown): IteratorResult<T> {
    if (this.#isLeft) return DONE
    if (error instanceof StreamLaggedError) {
      pass.isLagged = true
      if (this.#pass === pass) this.#pass = undefined
    }
    throw error
  }
}
