import { replaceGlobals, type TaskWorld } from '../clock/task-globals.ts'
import type { TestClock } from '../clock/test-clock.ts'
import type { RandomSource } from '../contract/random.ts'
import type { Engine } from '../core/engine.ts'
import { currentScope } from '../core/run-scope.ts'

/** The engines whose tasks have a world of their own. The globals are replaced while there is one. */
const worlds = new Map<object, TaskWorld>()
let putBack: (() => void) | undefined

export interface FakedPorts {
  readonly clock: TestClock
  readonly random: RandomSource
}

/**
 * Gives the code of an engine's tasks the time of a clock, in `Date` and `setTimeout`, and seeded chance, in
 * `Math.random`. All other code keeps its own.
 *
 * @returns What takes it away again; what was set by then does not happen.
 */
export function fakeGlobals(engine: Engine, { clock, random }: FakedPorts): () => void {
  const pending = new AbortController()
  worlds.set(engine, {
    now: () => clock.now(),
    random: () => random.fraction(),
    sleep: (durationMs, signal) =>
      clock.sleep(durationMs, { signal: AbortSignal.any([signal, pending.signal]) }),
  })
  putBack ??= replaceGlobals(worldOfCaller)
  return () => {
    pending.abort()
    worlds.delete(engine)
    if (worlds.size > 0) return
    putBack?.()
    putBack = undefined
  }
}

/** Code of an attempt that is over is nobody's any more. */
function worldOfCaller(): TaskWorld | undefined {
  const scope = currentScope()
  return scope === undefined || scope.isEnded ? undefined : worlds.get(scope.engine)
}
