// Bound when this module loads, so that fake timers installed later do not stop the turns.
import { setImmediate } from 'node:timers'

/**
 * Resolves after one turn of the event loop, in which everything ready without real I/O has run.
 *
 * A `MessageChannel` would not do: Node handles up to a thousand messages before it runs immediates and I/O.
 */
export function macrotaskTurn(): Promise<void> {
  return new Promise(inNextTurn)
}

/** Calls `goOn` after such a turn. */
export function inNextTurn(goOn: () => void): void {
  setImmediate(goOn)
}
