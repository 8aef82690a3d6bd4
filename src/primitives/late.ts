import { chain } from './awaitable.ts'

/** A module that is loaded when it is first used. */
export interface Late<Module> {
  /** Calls the module: at once if it is loaded, else when it is. A failure to load it is the caller's, and the next call tries again. */
  use<T>(call: (module: Module) => T | Promise<T>): T | Promise<T>
  /** Says that it is loaded: for code that has imported it. */
  provide(module: Module): void
}

/**
 * A module that few programs need, loaded when it is first used: each import costs every program its start.
 *
 * To load a file of `src/core` late: import types of it only, declare it beside the others in `core/namespaces/late-calls.ts` or in the
 * part that uses it, and add it to `core/all-loaded.ts`. The file may import what it likes, a bundled package too. In tests it is there from
 * the beginning, because an exploration cannot wait for a disk; so a caller must be right with an answer at once and with one that comes later.
 *
 * @example
 * ```ts
 * const CRON = late(() => import('croner'))
 * const next = await CRON.use(({ Cron }) => new Cron('0 9 * * *').nextRun())
 * ```
 */
export function late<Module extends object>(load: () => Promise<Module>): Late<Module> {
  let loaded: Module | undefined
  return {
    use: (call) => chain(loaded ?? load().then((module) => (loaded = module)), call),
    provide(module) {
      loaded = module
    },
  }
}
