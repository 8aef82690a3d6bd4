// Real time and turns, bound when this module is loaded: fake timers that replace the globals later do not stop them.
import { clearImmediate, clearTimeout, setImmediate, setTimeout } from 'node:timers'

/** Each of them is a turn of the event loop in which what has come meanwhile is heard first. */
const STEPS = 10
/** A timer that is set for longer fires at once. */
const LONGEST_STEP_MS = 2 ** 31 - 1

/**
 * Calls `lost` after so many real milliseconds of an event loop that turns. A process that stood still, on a machine that
 * was busy with other things, has lost one step by it and no more, however long that took.
 *
 * @returns Ends it.
 */
export function losePatience(ms: number, lost: () => void): () => void {
  let left = STEPS
  let turn: NodeJS.Immediate | undefined
  const arm = (): NodeJS.Timeout =>
    setTimeout(
      () => {
        turn = setImmediate(next)
      },
      Math.min(ms / STEPS, LONGEST_STEP_MS),
    )
  const next = (): void => {
    left -= 1
    if (left === 0) lost()
    else timer = arm()
  }
  let timer = arm()
  return () => {
    clearTimeout(timer)
    clearImmediate(turn)
  }
}
