import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers'
import timersPromises from 'node:timers/promises'
import type { TimerOptions } from 'node:timers'
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
 * Replaces `Date`, `Math.random`, the timers, and those of `node:timers` and `node:timers/promises`, by functions that look
 * at their caller: code with a world of its own gets that world, all other code the originals.
 *
 * @returns Restores the originals, unless other code has replaced the globals since.
 */
export function replaceGlobals(findWorld: FindWorld): () => void {
  const { scheduler } = timersPromises
  const putBack = [
    replace(globalThis, 'Date', (date) => taskDate(date, findWorld)),
    // A date is one of the replacement, for code that compares its constructor.
    replace<{ constructor: unknown }, 'constructor'>(Date.prototype, 'constructor', () => Date),
    replace(Math, 'random', (random) => () => findWorld()?.random() ?? random()),
    ...[globalThis, timers].flatMap((owner) => [
      replace(owner, 'setTimeout', (set) => taskSetTimeout(set, findWorld)),
      replace(owner, 'clearTimeout', taskClear),
      replace(owner, 'setInterval', (set) => taskSetInterval(set, findWorld)),
      replace(owner, 'clearInterval', taskClear),
    ]),
    replace(timersPromises, 'setTimeout', (set) => taskDelay(set, findWorld)),
    replace(timersPromises, 'setInterval', (set) => taskTicks(set, findWorld)),
    replace(scheduler, 'wait', (wait) => taskSchedulerWait(wait.bind(scheduler), findWorld)),
  ]
  // What other modules have imported by name.
  syncBuiltinESMExports()
  return () => {
    for (const restore of putBack) restore()
    syncBuiltinESMExports()
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
  const replacement = taskTimer(set, { findWorld, isRepeated: false })
  const promised = (delayMs?: number, value?: unknown): Promise<unknown> =>
    new Promise((resolve) => replacement(resolve, delayMs, value))
  Object.defineProperty(replacement, promisify.custom, { value: promised })
  // A virtual timer supports everything that a timeout of Node does.
  return replacement as typeof setTimeout
}

function taskSetInterval(set: typeof setInterval, findWorld: FindWorld): typeof setInterval {
  // As of `setTimeout`.
  return taskTimer(set, { findWorld, isRepeated: true }) as typeof setInterval
}

type SetTimer = (callback: (...args: unknown[]) => void, delayMs?: number, ...args: unknown[]) => unknown

function taskTimer(
  set: SetTimer,
  { findWorld, isRepeated }: { readonly findWorld: FindWorld; readonly isRepeated: boolean },
): SetTimer {
  return (callback, delayMs, ...args) => {
    const world = findWorld()
    if (world === undefined) return set(callback, delayMs, ...args)
    return new VirtualTimer({
      callback: () => callback(...args),
      sleep: (signal) => world.sleep(wholeMs(delayMs), signal),
      isRepeated,
    })
  }
}

/** `clearTimeout` and `clearInterval`, each of which clears timers of both kinds. */
function taskClear(clear: typeof clearTimeout): typeof clearTimeout {
  const replacement: typeof clearTimeout = (timer) => {
    const handle: unknown = timer
    if (handle instanceof VirtualTimer) handle.close()
    else clear(timer)
  }
  return replacement
}

/** `setTimeout` of `node:timers/promises`. */
function taskDelay(
  set: typeof timersPromises.setTimeout,
  findWorld: FindWorld,
): typeof timersPromises.setTimeout {
  return async <Value = void>(delayMs?: number, value?: Value, options?: TimerOptions): Promise<Value> => {
    const world = findWorld()
    if (world === undefined) return set(delayMs, value, options)
    await sleepIn(world, wholeMs(delayMs), options)
    // Without a value, its type is `void`.
    return value as Value
  }
}

/** `setInterval` of `node:timers/promises`. */
function taskTicks(
  set: typeof timersPromises.setInterval,
  findWorld: FindWorld,
): typeof timersPromises.setInterval {
  return <Value = void>(
    delayMs?: number,
    value?: Value,
    options?: TimerOptions,
  ): NodeJS.AsyncIterator<Value> => {
    const world = findWorld()
    if (world === undefined) return set(delayMs, value, options)
    // Without a value, its type is `void`.
    return ticksIn(world, wholeMs(delayMs), { value: value as Value, options })
  }
}

async function* ticksIn<Value>(
  world: TaskWorld,
  everyMs: number,
  { value, options }: { readonly value: Value; readonly options: TimerOptions | undefined },
): AsyncGenerator<Value, undefined> {
  for (let at = world.now() + everyMs; ; at += everyMs) {
    // A tick that is due already comes at once.
    await sleepIn(world, Math.max(0, at - world.now()), options)
    yield value
  }
}

/** `scheduler.wait` of `node:timers/promises`. */
function taskSchedulerWait(
  wait: typeof timersPromises.scheduler.wait,
  findWorld: FindWorld,
): typeof timersPromises.scheduler.wait {
  return async (delayMs, options) => {
    const world = findWorld()
    return world === undefined ? wait(delayMs, options) : sleepIn(world, wholeMs(delayMs), options)
  }
}

/** @throws AbortError, as Node makes it, when the signal of the options aborts. */
async function sleepIn(
  world: TaskWorld,
  durationMs: number,
  { signal = new AbortController().signal }: TimerOptions = {},
): Promise<void> {
  try {
    signal.throwIfAborted()
    await world.sleep(durationMs, signal)
  } catch (thrown) {
    if (!signal.aborted) throw thrown
    const error = new Error('The operation was aborted', { cause: signal.reason })
    throw Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' })
  }
}

/** Reads a delay in the way of Node's timers. */
function wholeMs(delayMs: unknown): number {
  const ms = Math.trunc(Number(delayMs))
  return ms >= 1 && ms <= 2 ** 31 - 1 ? ms : 1
}

interface VirtualTimerOptions {
  readonly callback: () => void
  readonly sleep: (signal: AbortSignal) => Promise<void>
  readonly isRepeated: boolean
}

/** The return value of `setTimeout` and `setInterval` in virtual time. It never keeps the process alive. */
class VirtualTimer {
  readonly #options: VirtualTimerOptions
  #controller: AbortController
  #isReferenced = true

  constructor(options: VirtualTimerOptions) {
    this.#options = options
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
    const { callback, sleep, isRepeated } = this.#options
    const controller = new AbortController()
    const fire = (): void => {
      // Before the callback, which may clear it.
      if (isRepeated) this.#controller = this.#start()
      callback()
    }
    const ignore = (): void => undefined
    void sleep(controller.signal).then(fire, ignore)
    return controller
  }
}
