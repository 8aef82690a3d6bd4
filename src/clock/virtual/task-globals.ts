import { promisify } from 'node:util'

/** What the globals answer to the code of one task. */
export interface TaskWorld {
  now(): number
  /** From 0 to below 1. */
  random(): number
  /** Resolves after a time; rejects when the signal is aborted. */
  sleep(durationMs: number, signal: AbortSignal): Promise<void>
}

/** The world of the code that is calling; none for everybody else's. */
export type FindWorld = () => TaskWorld | undefined

/**
 * Replaces `Date`, `Math.random`, `setTimeout` and `clearTimeout` by functions that ask who is calling: code with a world
 * of its own gets that, everybody else what was there before.
 *
 * @returns What puts back what was there before, unless somebody else has replaced it since.
 */
export function replaceGlobals(findWorld: FindWorld): () => void {
  const putBack = [
    replace(globalThis, 'Date', (date) => taskDate(date, findWorld)),
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
      // A constructor makes nothing else.
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
  // What it answers in a task does all that a timeout of Node does.
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

/** As a timer of Node reads a delay. */
function wholeMs(delayMs: unknown): number {
  const ms = Math.trunc(Number(delayMs))
  return ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
}

/** What `setTimeout` answers in virtual time; it keeps no process alive, whatever it is told. */
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

  /** Counts anew from now on. */
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
