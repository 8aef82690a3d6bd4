import timers from 'node:timers'

// Real time and turns, bound when this module loads, so that fake timers installed later do not stop them. What is imported by
// name is replaced with them.
const { clearImmediate, clearTimeout, setImmediate, setTimeout } = timers

/**
 * The waiting time is divided into this many steps. Each step is a turn of the event loop, which first handles
 * everything that has arrived.
 */
const STEPS = 10
/** A timer with a longer delay fires at once. */
const LONGEST_STEP_MS = 2 ** 31 - 1

/**
 * Calls `lost` after a number of real milliseconds in which the event loop turned. A process that was suspended loses
 * at most one step, however long it stood still.
 *
 * @returns Cancels the call.
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
