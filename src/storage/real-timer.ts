// Bound when this module loads, so that fake timers installed later do not stop a storage.
import { setImmediate } from 'node:timers'
import { createDeferred } from '../primitives/deferred.ts'

/**
 * Calls `fire` after so many real milliseconds, however a test clock stands; without keeping the process alive. For an
 * adapter that waits for another process: its work is outside of the time of the clock.
 */
export function afterReal(ms: number, fire: () => void): () => void {
  const timer = setTimeout(fire, ms)
  timer.unref()
  return () => clearTimeout(timer)
}

/**
 * Resolves with `answer`, or rejects once so many real milliseconds have passed without it.
 *
 * @throws Error that says that it took too long.
 */
export async function withinReal<Answer>(ms: number, answer: Promise<Answer>): Promise<Answer> {
  if (await isDoneWithinReal(ms, answer)) return answer
  throw new Error(`there was no answer within ${ms} ms`)
}

/** Resolves once `work` has, with `true`, or once so many real milliseconds have passed, with `false`. */
export async function isDoneWithinReal(ms: number, work: Promise<unknown>): Promise<boolean> {
  const { promise, resolve, reject } = createDeferred<boolean>()
  const cancel = afterReal(ms, () => resolve(false))
  work.then(() => resolve(true), reject)
  try {
    return await promise
  } finally {
    cancel()
  }
}

/** Resolves after so many real milliseconds, and keeps the process alive. */
export function pauseReal(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}

/** Resolves after a turn of the event loop. */
export function turnReal(): Promise<void> {
  return new Promise((resolve) => void setImmediate(resolve))
}
