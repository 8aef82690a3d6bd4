import { seededRandom } from '../clock/seeded-random.ts'
import type { TestClock } from '../clock/test-clock.ts'
import type { Storage } from '../contract/storage.ts'
import { createEngineOn, type Engine } from '../core/engine.ts'
import type { EngineOptions } from '../core/engine-options.ts'
import { memoryStorage } from '../storage/memory.ts'
import { requireMethods, requireObject, show } from '../primitives/require.ts'
import { alwaysAsync } from './async-storage.ts'
import { observedStorage } from './observed-storage.ts'
import { testClock, type TestClockOptions } from './test-clock.ts'

/** Options of `createTestEngine`: those of `createEngine`, a clock of its own, and a seed; all have defaults. */
export interface TestEngineOptions extends Omit<EngineOptions, 'clock'> {
  /** A clock, or the options of a new one. Default: a new one in mode `auto`. */
  readonly clock?: TestClock | TestClockOptions
  /** What ids and jitter are made from. Engines that share a database, but neither storage nor clock, need two. Default: 1. */
  readonly seed?: number | string
}

/** An engine in virtual time, and the clock that moves it. */
export interface TestEngine extends AsyncDisposable {
  readonly engine: Engine
  readonly clock: TestClock
  /** Closes the engine; then the clock, if it was made here: what is left on it is an error. */
  close(): Promise<void>
}

/**
 * Creates an engine in virtual time, ready for use: with a storage in memory unless another one is given, and with the
 * same ids and jitter for the same seed.
 *
 * `WAITPOINT_STORAGE=memory-async` makes the storage in memory answer like one that is not. Rejects as `createEngine` and
 * `testClock` throw, and with what is wrong with the storage.
 *
 * @example
 * ```ts
 * await using t = await createTestEngine({ tasks: [review] })
 * const run = await t.engine.trigger(review, { doc: 'd1' })
 * await t.clock.advance('24h')
 * ```
 */
export async function createTestEngine(options: TestEngineOptions = {}): Promise<TestEngine> {
  requireObject(options, 'the options of createTestEngine')
  const { seed = 1, clock: clockOption = {}, storage = defaultStorage(), ...engineOptions } = options
  if (typeof seed !== 'string' && !Number.isFinite(seed))
    throw new TypeError(`Cannot use seed ${show(seed)}: it must be a number or a string`)
  requireObject(clockOption, 'clock')
  requireMethods(storage, 'storage', ['open'])
  const isOwnClock = !isClock(clockOption)
  const clock = isOwnClock ? testClock(clockOption) : clockOption
  // Engines that meet on a storage or a clock must not make the same ids.
  const random = seededRandom(`${seed} ${countUse(storage)} ${countUse(clock)}`)
  const engine = createEngineOn({ clock, storage: observedStorage(storage, clock), random }, engineOptions)

  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => {
    await engine.close()
    if (isOwnClock) await clock[Symbol.asyncDispose]()
  }
  const closeOnce = (): Promise<void> => (closed ??= close())
  await engine.ready()
  return { engine, clock, close: closeOnce, [Symbol.asyncDispose]: closeOnce }
}

function isClock(option: TestClock | TestClockOptions): option is TestClock {
  return 'setTimer' in option
}

function defaultStorage(): Storage {
  const kind = process.env['WAITPOINT_STORAGE'] ?? 'memory'
  if (kind === 'memory') return memoryStorage()
  if (kind === 'memory-async') return alwaysAsync(memoryStorage())
  throw new RangeError(`Cannot use WAITPOINT_STORAGE "${kind}": use "memory" or "memory-async"`)
}

const uses = new WeakMap<object, number>()

/** How often createTestEngine was given `port` before. */
function countUse(port: object): number {
  const count = uses.get(port) ?? 0
  uses.set(port, count + 1)
  return count
}
