// Bound when this module is loaded: fake timers that replace the globals later do not stop the turns.
import { setImmediate } from 'node:timers'

/**
 * Resolves after one turn of the event loop, in which everything that needs no real I/O has run.
 *
 * A message to oneself is no such turn: Node handles up to a thousand of them before it lets immediates and I/O run.
 */
export function macrotaskTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
