import { type ChangeFeed, EndWatcher, type Watcher } from '../core/change-feed.ts'
import { currentScope } from '../core/run-scope.ts'
import { captureOrigin, type Origin } from './origin.ts'

/**
 * Who follows something from outside of runs and has not come to an end: a result that is awaited, a subscription or a
 * stream whose iterator was begun and neither read to its end nor left.
 */
export class OpenReaders {
  readonly #open = new Map<Watcher, { readonly runId: string; readonly origin: Origin }>()

  /**
   * Watches the watchers of an engine: all of them are opened before anything is read. `ended` is told of each run whose
   * end somebody awaited, and knows.
   */
  watch(feed: ChangeFeed, ended: (runId: string) => void): void {
    const open = feed.open.bind(feed)
    feed.open = (watcher) => {
      // The first topic is the run, whatever else of it is followed.
      const [runId = ''] = watcher.topics
      if (watcher instanceof EndWatcher)
        onClose(watcher, () => {
          if (watcher.ended !== undefined) ended(runId)
        })
      if (currentScope() === undefined) this.#opened(watcher, runId)
      return open(watcher)
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
    onClose(watcher, () => this.#open.delete(watcher))
    const fail = watcher.fail.bind(watcher)
    // Whoever reads is told that it has come to an end.
    watcher.fail = (error) => {
      this.#open.delete(watcher)
      fail(error)
    }
  }
}

function onClose(watcher: Watcher, closing: () => void): void {
  const close = watcher.close.bind(watcher)
  watcher.close = () => {
    closing()
    close()
  }
}
