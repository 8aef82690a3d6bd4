import { callingAttempt } from '../../core/inside.ts'
import type { TokenStatus } from '../../contract/records.ts'
import type { Storage, StorageOperation } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { wrapStorage } from '../storages/wrapped.ts'
import type { Process } from './process.ts'
import type { StorageCall } from './storage-call.ts'

/** The outcome of a wait in a schedule: `review.token` was `COMPLETED`. */
export interface ObservedWait {
  readonly wait: string
  readonly outcome: TokenStatus
}

/** Checks every storage call of the engine, as the engine sees it. Throws a violation. */
export interface CallWatcher {
  called?(call: StorageCall): void
  answered?(call: StorageCall): void
  /** Called at the end of a schedule, when nothing more happens. */
  ended?(storage: Storage, now: number): void | Promise<void>
  /** The outcomes of the observed waits, after the end of the schedule. */
  readonly outcomes?: readonly ObservedWait[]
}

/** Connects watchers between the engines of a schedule and their storage. */
export class Observer {
  readonly #watchers: readonly CallWatcher[]
  readonly #now: () => number
  readonly #violated: (error: unknown) => void
  #events = 0

  constructor(watchers: readonly CallWatcher[], now: () => number, violated: (error: unknown) => void) {
    this.#watchers = watchers
    this.#now = now
    this.#violated = violated
  }

  /** The outcomes of all waits. */
  get outcomes(): readonly ObservedWait[] {
    return this.#watchers.flatMap(({ outcomes = [] }) => outcomes)
  }

  /** The storage with its calls observed. */
  observe(storage: Storage, process: Process): Storage {
    return wrapStorage(storage, (name, operation) => (...args) => {
      const answered = this.called(name, args, process)
      const answer = operation(...args)
      if (isPromise(answer)) {
        return answer.then((value) => {
          answered(value)
          return value
        })
      }
      answered(answer)
      return answer
    })
  }

  /** Reports a call. The returned function is called with the answer, just before the caller receives it. */
  called(name: StorageOperation, args: unknown, process: Process): (answer: unknown) => void {
    this.#events += 1
    const attempt = callingAttempt()
    const runId = attempt === undefined || attempt.isEnded ? undefined : attempt.id
    const told = {
      name,
      args,
      calledAt: this.#events,
      now: this.#now() + process.clockSkewMs,
      process,
      runId,
      reply: undefined as { readonly answeredAt: number; readonly answer: unknown } | undefined,
    }
    // wrapStorage calls every operation with its own arguments, and names it. The answer belongs to this operation, too.
    const call = told as StorageCall
    this.#tell('called', call)
    return (answer) => {
      this.#events += 1
      told.reply = { answeredAt: this.#events, answer }
      this.#tell('answered', call)
    }
  }

  /** Checks the final state when nothing more happens. */
  async ended(storage: Storage): Promise<void> {
    for (const watcher of this.#watchers) {
      const checked = watcher.ended?.(storage, this.#now())
      if (checked !== undefined) await checked
    }
  }

  #tell(moment: 'called' | 'answered', call: StorageCall): void {
    try {
      for (const watcher of this.#watchers) watcher[moment]?.(call)
    } catch (error) {
      this.#violated(error)
    }
  }
}
