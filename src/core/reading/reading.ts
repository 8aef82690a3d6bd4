import type { Watcher } from '../changes/watchers.ts'
import { StreamLaggedError } from '../../api/errors.ts'

export interface ReadingOptions<T, Page> {
  readonly watch: () => Watcher
  /** Reads on from wherever the reader stands. Closes the watcher. */
  readonly read: (watcher: Watcher) => AsyncGenerator<Page>
  /** The items of a page, handed out one by one. */
  items(page: Page): readonly T[]
  /** Once it is aborted nothing more is handed out: `read` is asked for what to throw. */
  readonly signal?: AbortSignal | undefined
}

/** As many pages are read ahead of a reader: some 10,000 chunks. */
const MOST_AHEAD = 64

/** One generator at work; a lag ends it, and the next one goes on. */
class Pass<Page> {
  readonly watcher: Watcher
  readonly #pages: AsyncGenerator<Page>
  readonly #ahead: Promise<IteratorResult<Page>>[] = []

  constructor(watcher: Watcher, pages: AsyncGenerator<Page>) {
    this.watcher = watcher
    this.#pages = pages
    watcher.readOn = () => this.#readAhead()
  }

  next(): Promise<IteratorResult<Page>> {
    return this.#ahead.shift() ?? this.#pages.next()
  }

  return(): Promise<unknown> {
    return this.#pages.return(undefined)
  }

  /** The storage is about to be left: its reader takes what is there by then, however slow it is. */
  async #readAhead(): Promise<void> {
    for (let count = 0; count < MOST_AHEAD; count += 1) {
      const step = this.#pages.next()
      this.#ahead.push(step)
      if ((await step).done === true) return
    }
  }
}

const DONE = { done: true, value: undefined } as const

/**
 * Closes the watcher of a reader that was dropped without `return()`: its run may go on for months. While it is open, the
 * engine has it. What a registry holds lives for as long as the reader, and an error of the watcher may reach its reader.
 */
const dropped = /* @__PURE__ */ new FinalizationRegistry<WeakRef<Watcher>>((watcher) =>
  watcher.deref()?.close(),
)

/**
 * The iterator of a reader: it watches nothing before the first `next()`, can be left while a `next()` is out, and goes on
 * after a `StreamLaggedError` with what is still kept.
 *
 * Hot: an item at hand is answered with one promise and nothing else; a `yield` of a generator is four.
 */
export class Reading<T, Page = unknown> implements AsyncIterableIterator<T> {
  readonly #options: ReadingOptions<T, Page>
  #pass: Pass<Page> | undefined
  #items: readonly T[] = []
  /** How many of the items were handed out. */
  #taken = 0
  /** The last step that was asked for, while it is out: the next one comes after it. */
  #asked: Promise<unknown> | undefined
  /** Read to its end, failed, or left. */
  #isOver = false

  constructor(options: ReadingOptions<T, Page>) {
    this.#options = options
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<T>> {
    if (this.#asked === undefined && this.#hasItem) return Promise.resolve(this.#take())
    const advance = (): Promise<IteratorResult<T>> => this.#advance()
    const step = this.#asked === undefined ? advance() : this.#asked.then(advance, advance)
    const answered = (): void => {
      if (this.#asked === step) this.#asked = undefined
    }
    this.#asked = step
    step.then(answered, answered)
    return step
  }

  async return(): Promise<IteratorResult<T>> {
    this.#isOver = true
    this.#items = []
    const pass = this.#pass
    pass?.watcher.fail(new Error('Cannot read on: the reader has left'))
    await pass?.return()
    return DONE
  }

  get #hasItem(): boolean {
    return this.#taken < this.#items.length && this.#options.signal?.aborted !== true
  }

  #take(): IteratorResult<T> {
    // There is one: it was asked for before.
    return { done: false, value: this.#items[this.#taken++] as T }
  }

  async #advance(): Promise<IteratorResult<T>> {
    while (!this.#hasItem) {
      if (this.#isOver) return DONE
      await this.#turnPage()
    }
    return this.#take()
  }

  async #turnPage(): Promise<void> {
    const pass = (this.#pass ??= this.#begin())
    try {
      const step = await pass.next()
      if (this.#isOver) return
      this.#isOver = step.done === true
      this.#items = step.done === true ? [] : this.#options.items(step.value)
      this.#taken = 0
    } catch (error) {
      if (this.#isOver) return
      this.#items = []
      if (error instanceof StreamLaggedError) this.#pass = undefined
      else this.#isOver = true
      throw error
    }
  }

  #begin(): Pass<Page> {
    const watcher = this.#options.watch()
    dropped.register(this, new WeakRef(watcher))
    return new Pass(watcher, this.#options.read(watcher))
  }
}

/** A page that is one item. */
export function alone<T>(item: T): readonly T[] {
  return [item]
}
