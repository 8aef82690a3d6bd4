import type { ChangeFeed, Watcher } from '../core/change-feed.ts'
import { currentScope } from '../core/run-scope.ts'
import { captureOrigin, type Origin } from './origin.ts'

/**
 * Who follows something from outside of runs and has not come to an end: a result that is awaited, a subscription or a
 * stream whose iterator was begun and neither read to its end nor left.
 */
export class OpenReaders {
  readonly #open = new Map<Watcher, { readonly runId: string; readonly origin: Origin }>()

  /** Watches the watchers of an engine: all of them are opened here, before anything is read. */
  watch(feed: ChangeFeed): void {
    const open = feed.watch.bind(feed)
    feed.watch = (...topics) => {
      const watcher = open(...topics)
      // The first topic is the run, whatever else of it is followed.
      if (currentScope() === undefined) this.#opened(watcher, topics[0] ?? '')
      return watcher
    }
  }

  /** One line for each. */
  get left(): readonly string[] {
    return Array.from(
      this.#open.values(),
      ({ runId, origin }) => `"${runId}" is still awaited or read at ${origin()}`,
    )
  }

  #opened(watcher: Watcher, runId: string): void {
    this.#open.set(watcher, { runId, origin: captureOrigin() })
    const close = watcher.close.bind(watcher)
    const fail = watcher.fail.bind(watcher)
    watcher.close = () => {
      this.#open.delete(watcher)
      close()
    }
    // Whoever reads is told that it has come to an end.
    watcher.fail = (error) => {
      this.#open.delete(watcher)
      fail(error)
    }
  }
}
