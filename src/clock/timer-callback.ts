import { AsyncResource } from 'node:async_hooks'

/** What a timer does when it fires: once, in the async context it was set in. */
export class TimerCallback extends AsyncResource {
  readonly #fire: () => void

  constructor(fire: () => void) {
    super('waitpoint.timer')
    this.#fire = fire
  }

  /** What the callback throws is uncaught, as with any timer, but only after the other timers that are due. */
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
