import type { ReleaseHold } from '../contract/clock.ts'
import type { RunRecord } from '../contract/records.ts'
import type { Awaitable } from '../contract/storage.ts'
import { onAbort } from '../primitives/abort.ts'
import { isPromise } from '../primitives/awaitable.ts'
import type { Deferred } from '../primitives/deferred.ts'
import { createDeferred } from '../primitives/deferred.ts'
import type { Watcher, WatchListener } from './change-feed.ts'
import type { Kernel } from './kernel.ts'
import { awaited, runNotFound } from './run-results.ts'
import { currentScope, type RunScope, runInScope } from './run-scope.ts'
import { isFinal } from './run-status.ts'

/**
 * What `read` makes of the record of a run once that has ended. Rejects with what `read` throws, when the engine closes
 * first, and when the run that asks is canceled.
 */
export function whenEnded<T>(kernel: Kernel, runId: string, read: (record: RunRecord) => T): Promise<T> {
  return new RunEnd(kernel, runId, read).promise
}

/** Somebody awaits a run. Hot, hence no async function: one promise, however often the run has to be looked at. */
class RunEnd<T> implements WatchListener {
  readonly #kernel: Kernel
  readonly #runId: string
  readonly #read: (record: RunRecord) => T
  readonly #scope: RunScope | undefined = currentScope()
  readonly #watcher: Watcher
  readonly #end: Deferred<T> = createDeferred()
  readonly #release: ReleaseHold | undefined
  readonly #removeAbort: (() => void) | undefined
  #isOver = false
  #isLooking = false
  /** It has changed since storage was asked. */
  #isBehind = false
  #failure: Error | undefined

  constructor(kernel: Kernel, runId: string, read: (record: RunRecord) => T) {
    const { host, journal } = kernel.parts
    this.#kernel = kernel
    this.#runId = runId
    this.#read = read
    const watcher = journal.feed.watch(runId)
    this.#watcher = watcher
    if (this.#scope === undefined) this.#release = host.clock.hold?.(awaited(runId, watcher))
    else this.#removeAbort = failOnAbort(watcher, this.#scope)
    watcher.listen(this)
    // Asked before the engine began to close, it is answered while that takes its time.
    this.#look(() => kernel.ask(() => this.#get()))
  }

  get promise(): Promise<T> {
    return this.#end.promise
  }

  changed(): void {
    this.#isBehind = true
    if (!this.#isLooking && !this.#isEnding) this.#lookAgain()
  }

  /** What storage is about to answer counts first. */
  failed(error: Error): void {
    this.#failure = error
    if (!this.#isLooking) this.#reject(error)
  }

  /** Told from wherever the run changed: storage is asked from where it is awaited. */
  #lookAgain(): void {
    this.#look(() => runInScope(this.#scope, () => this.#get()))
  }

  #get(): Awaitable<RunRecord | undefined> {
    return this.#kernel.parts.host.storage.runs.get(this.#runId)
  }

  #look(ask: () => Awaitable<RunRecord | undefined>): void {
    if (this.#isOver) return
    this.#isLooking = true
    this.#isBehind = false
    try {
      const record = ask()
      if (isPromise(record)) record.then(this.#seen.bind(this), this.#unseen.bind(this))
      else this.#seen(record)
    } catch (error) {
      this.#unseen(error)
    }
  }

  #seen(record: RunRecord | undefined): void {
    this.#isLooking = false
    if (record === undefined) this.#reject(runNotFound(this.#runId))
    else if (isFinal(record.status) && !this.#isEnding) this.#resolve(record)
    else if (this.#failure !== undefined) this.#reject(this.#failure)
    else if (this.#isBehind) this.#lookAgain()
  }

  /** Whoever goes on with a result finds the attempt that came to it over, and its slot free: that is told as well. */
  get #isEnding(): boolean {
    const scope = this.#kernel.parts.executor.scopes.get(this.#runId)
    return scope?.isEnded === false && isFinal(scope.record.status)
  }

  #unseen(error: unknown): void {
    this.#reject(this.#failure ?? error)
  }

  #resolve(record: RunRecord): void {
    try {
      this.#end.resolve(this.#read(record))
      this.#leave()
    } catch (error) {
      this.#reject(error)
    }
  }

  #reject(error: unknown): void {
    this.#end.reject(error)
    this.#leave()
  }

  #leave(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#watcher.close()
    this.#removeAbort?.()
    this.#release?.()
  }
}

function failOnAbort(watcher: Watcher, { signal }: RunScope): () => void {
  // Only an error is ever the reason why an attempt is aborted.
  return onAbort(signal, (reason) => watcher.fail(reason as Error))
}
