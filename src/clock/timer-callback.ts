import { AsyncResource } from 'node:async_hooks'

/** The callback of a timer. It runs once, in the async context in which the timer was set. */
export class TimerCallback extends AsyncResource {
  readonly #fire: () => void

  constructor(fire: () => void) {
    super('waitpoint.timer')
    this.#fire = fire
  }

  /** An error from the callback is uncaught, as with any timer, but is thrown after the other due timers have run. */
  run(): void {
    try {
      this.runInAsyncScope(this.#fire)
    } catch (error) {
      queueMicrotask(() => {
        throw error
      })
    }
  }
}
