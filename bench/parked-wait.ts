import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import type { Engine, Storage, Task } from 'waitpoint'
import { createEngine, task, wait } from 'waitpoint'
import { Mailbox } from './bare/mailbox.ts'
import { parked } from './turn.ts'

/** Parks one run after another, and reports when each continued. */
export class ParkedWait {
  readonly #mailbox = new Mailbox()
  readonly #pause: Task<null, void>
  readonly #engine: Engine
  #resumed: DeferredPromise<number> = pDefer<number>()

  constructor(storage: Storage) {
    this.#pause = task({
      id: 'pause',
      run: async (_: null) => {
        const token = await wait.createToken()
        this.#mailbox.say(token.id)
        await wait.forToken(token)
        this.#resumed.resolve(performance.now())
      },
    })
    this.#engine = createEngine({ tasks: [this.#pause], storage })
  }

  ready(): Promise<void> {
    return this.#engine.ready()
  }

  /** Parks a run. Returns a function that completes its token and resolves with the time of its next line. */
  async begin(): Promise<() => Promise<number>> {
    this.#resumed = pDefer<number>()
    await this.#engine.trigger(this.#pause, null)
    const id = await this.#mailbox.next()
    await parked(this.#engine)
    return async () => {
      void this.#engine.wait.completeToken(id, { approved: true })
      return this.#resumed.promise
    }
  }

  close(): Promise<void> {
    return this.#engine.close()
  }
}
