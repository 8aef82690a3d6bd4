import { promisify } from 'node:util'

/** The values of the globals for the code of one task. */
export interface TaskWorld {
  now(): number
  /** From 0 to below 1. */
  random(): number
  /** Resolves after a time. Rejects when the signal aborts. */
  sleep(durationMs: number, signal: AbortSignal): Promise<void>
}

/** The world of the calling code; `undefined` for code outside of tasks. */
export type FindWorld = () => TaskWorld | undefined

/**
 * Replaces `Date`, `Math.random`, `setTimeout` and `clearTimeout` by functions that look at their caller: code with a
 * world of its own gets that world, all other code the originals.
 *
 * @returns Restores the originals, unless other code has replaced the globals since.
 */
export function replaceGlobals(findWorld: FindWorld): () => void {
  const putBack = [
    replace(globalThis, 'Date', (date) => taskDate(date, findWorld)),
    // A date is one of the replacement, for code that compares its constructor.
    replace<{ constructor: unknown }, 'constructor'>(Date.prototype, 'constructor', () => Date),
    replace(Math, 'random', (random) => () => findWorld()?.random() ?? random()),
    replace(globalThis, 'setTimeout', (set) => taskSetTimeout(set, findWorld)),
    replace(globalThis, 'clearTimeout', taskClearTimeout),
  ]
  return () => {
    for (const restore of putBack) restore()
  }
}

function replace<Owner extends object, Name extends keyof Owner>(
  owner: Owner,
  name: Name,
  make: (original: Owner[Name]) => Owner[Name],
): () => void {
  const original = owner[name]
  const replacement = make(original)
  owner[name] = replacement
  return () => {
    if (owner[name] === replacement) owner[name] = original
  }
}

function taskDate(date: DateConstructor, findWorld: FindWorld): DateConstructor {
  const now = (): number => findWorld()?.now() ?? date.now()
  return new Proxy(date, {
    construct: (target, given: unknown[], newTarget) => {
      const world = given.length === 0 ? findWorld() : undefined
      const made: unknown = Reflect.construct(target, world === undefined ? given : [world.now()], newTarget)
      // A constructor returns an object of this type.
      return made as object
    },
    apply: () => new date(now()).toString(),
    get: (target, name, receiver): unknown => (name === 'now' ? now : Reflect.get(target, name, receiver)),
  })
}

function taskSetTimeout(set: typeof setTimeout, findWorld: FindWorld): typeof setTimeout {
  const replacement = (
    callback: (...args: unknown[]) => void,
    delayMs?: number,
    ...args: unknown[]
  ): unknown => {
    const world = findWorld()
    if (world === undefined) return set(callback, delayMs, ...args)
    return new VirtualTimeout(
      () => callback(...args),
      (signal) => world.sleep(wholeMs(delayMs), signal),
    )
  }
  const promised = (delayMs?: number, value?: unknown): Promise<unknown> =>
    new Promise((resolve) => replacement(resolve, delayMs, value))
  Object.defineProperty(replacement, promisify.custom, { value: promised })
  // A virtual timeout supports everything that a timeout of Node does.
  return replacement as typeof setTimeout
}

function taskClearTimeout(clear: typeof clearTimeout): typeof clearTimeout {
  const replacement: typeof clearTimeout = (timeout) => {
    const handle: unknown = timeout
    if (handle instanceof VirtualTimeout) handle.close()
    else clear(timeout)
  }
  return replacement
}

/** Reads a delay in the way of Node's timers. */
function wholeMs(delayMs: unknown): number {
  const ms = Math.trunc(Number(delayMs))
  return ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
}

/** The return value of `setTimeout` in virtual time. It never keeps the process alive. */
class VirtualTimeout {
  readonly #callback: () => void
  readonly #sleep: (signal: AbortSignal) => Promise<void>
  #controller: AbortController
  #isReferenced = true

  constructor(callback: () => void, sleep: (signal: AbortSignal) => Promise<void>) {
    this.#callback = callback
    this.#sleep = sleep
    this.#controller = this.#start()
  }

  /** Restarts the delay. */
  refresh(): this {
    this.close()
    this.#controller = this.#start()
    return this
  }

  close(): this {
    this.#controller.abort()
    return this
  }

  ref(): this {
    this.#isReferenced = true
    return this
  }

  unref(): this {
    this.#isReferenced = false
    return this
  }

  hasRef(): boolean {
    return this.#isReferenced
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #start(): AbortController {
    const controller = new AbortController()
    const ignore = (): void => undefined
    void this.#sleep(controller.signal).then(this.#callback, ignore)
    return controller
  }
}
