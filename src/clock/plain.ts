import type { CancelTimer, Clock } from '../contract/clock.ts'

/** The longest delay of a platform timer. A longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/**
 * The wall clock, with one platform timer for each timer. It works wherever `setTimeout` exists, browsers included. It
 * is for code with few timers that need not keep a process alive; engines use `systemClock`.
 */
export function plainClock(): Clock {
  return {
    now: () => Date.now(),
    setTimer: (at, fire) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const arm = (): void => {
        const delay = Math.min(Math.max(Math.ceil(at - Date.now()), 0), LONGEST_DELAY_MS)
        // A platform timer may fire a millisecond early, or hours early after the wall clock was set back.
        timer = setTimeout(() => (Date.now() < at ? arm() : fire()), delay)
      }
      arm()
      const cancel: CancelTimer = () => clearTimeout(timer)
      return cancel
    },
  }
}
