import { chain } from './awaitable.ts'

/**
 * A module that few programs need, loaded when it is first used: each import costs every program its start.
 *
 * To load a file of `src/core` late: import types of it only, declare it beside the others in `core/namespaces/late-calls.ts` or in the
 * part that uses it, and add it to `core/all-loaded.ts`. The file may import what it likes, a bundled package too. In tests it is there from
 * the beginning, because an exploration cannot wait for a disk; so a caller must be right with an answer at once and with one that comes later.
 *
 * @example
 * ```ts
 * const CRON = new Late(() => import('croner'))
 * const next = await CRON.use(({ Cron }) => new Cron('0 9 * * *').nextRun())
 * ```
 */
export class Late<Module extends object> {
  readonly #load: () => Promise<Module>
  #module: Module | undefined

  constructor(load: () => Promise<Module>) {
    this.#load = load
  }

  /** Calls the module: at once if it is loaded, else when it is. A failure to load it is the caller's, and the next call tries again. */
  use<T>(call: (module: Module) => T | Promise<T>): T | Promise<T> {
    return chain(this.#module ?? this.#loaded(), call)
  }

  /** Makes the module one that is loaded, for code that has imported it. */
  provide(module: Module): void {
    this.#module = module
  }

  async #loaded(): Promise<Module> {
    return (this.#module = await this.#load())
  }
}
