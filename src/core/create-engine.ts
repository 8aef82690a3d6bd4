import { cryptoRandom } from '../clock/crypto-random.ts'
import { systemClock } from '../clock/system.ts'
import { requireObject } from '../primitives/require.ts'
import { memoryStorage } from '../storage/memory/memory.ts'
import type { Engine } from './engine.ts'
import { createEngineOn } from './engine.ts'
import type { EngineOptions } from '../api/engine-options.ts'

/**
 * Creates an engine: synchronous and without I/O. It opens with the first call, or with `ready()`.
 *
 * @throws WaitpointError `ERR_TASK_DUPLICATE`; `ERR_CANNOT_SET_QUEUE` for the rate of a queue on a storage that keeps to none; TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const engine = createEngine({ tasks: [greet] })
 * const run = await engine.trigger(greet, { name: 'Ada' })
 * await run.result() // 'Hello Ada'
 * ```
 */
export function createEngine(options: EngineOptions = {}): Engine {
  requireObject(options, 'the options of createEngine')
  const { clock = systemClock(), storage = memoryStorage() } = options
  return createEngineOn({ clock, storage, random: cryptoRandom() }, options)
}
