import type { CancelTimer, Clock } from '../contract/clock.ts'

/** The longest delay a timer of the platform takes; a longer one would fire at once. */
const LONGEST_DELAY_MS = 2 ** 31 - 1

/**
 * Wall time and a timer of the platform for each timer, wherever there is `setTimeout`, browsers included. For what has
 * few timers and no runs to keep a process alive for; engines have `systemClock`.
 */
export function plainClock(): Clock {
  return {
    now: () => Date.now(),
    setTimer: (at, fire) => {
      let timer: ReturnType<typeof setTimeout> | undefined
      const arm = (): void => {
        const delay = Math.min(Math.max(Math.ceil(at - Date.now()), 0), LONGEST_DELAY_MS)
        // One may come a millisecond early, or hours when the wall clock was set back.
        timer = setTimeout(() => (Date.now() < at ? arm() : fire()), delay)
      }
      arm()
      const cancel: CancelTimer = () => clearTimeout(timer)
      return cancel
    },
  }
}
