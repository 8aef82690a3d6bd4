import type { Awaitable } from '../contract/storage.ts'
import { chain, isPromise } from '../primitives/awaitable.ts'
import type { Credentials } from './host/credentials.ts'
import { WaitpointError } from '../api/errors.ts'
import type { Executor } from './execution/executor.ts'
import type { Host } from './host/host.ts'
import type { RunJournal } from './changes/run-journal.ts'
import type { RunScope } from './attempt/attempt.ts'
import { assertOpen, currentScope } from './attempt/attempt.ts'
import type { RunStreams } from './streams/registry.ts'
import type { TaskRegistry } from './attempt/task-definition.ts'
import type { Ticker } from './execution/ticker.ts'
import type { Waitpoints } from './waits/waitpoints.ts'

/** The parts of one engine, as its namespaces use them. */
export interface KernelParts {
  readonly host: Host
  readonly journal: RunJournal
  readonly ticker: Ticker
  readonly waitpoints: Waitpoints
  readonly executor: Executor
  readonly streams: RunStreams
  readonly tasks: TaskRegistry
  readonly credentials: Credentials
  /** Identity of the engine: a scope carries the same. */
  readonly engine: object
  /** What opening does once the storage is open. */
  readonly start: () => Awaitable<void>
}

/** One engine, seen from inside: every public call goes through it. */
export class Kernel {
  readonly parts: KernelParts

  constructor(parts: KernelParts) {
    this.parts = parts
  }

  /** Opens the engine if need be; refuses when it is closed. */
  open(): Awaitable<void> {
    return this.parts.host.open(this.parts.start)
  }

  /** Serves a public call: always a promise, on an open engine, and never for an attempt that has ended. */
  call<T>(serve: () => Awaitable<T>): Promise<T> {
    try {
      const answer = this.ask(serve)
      return isPromise(answer) ? answer : Promise.resolve(answer)
    } catch (error) {
      return Promise.reject(asError(error))
    }
  }

  /** The same for callers that are promises already: answers, and throws, as storage does. */
  ask<T>(serve: () => Awaitable<T>): Awaitable<T> {
    assertOpen(this.scope())
    const answer = chain(this.open(), serve)
    return isPromise(answer) ? this.#held(answer) : answer
  }

  /** The attempt of this engine the caller runs in, if any. */
  scope(): RunScope | undefined {
    const scope = currentScope()
    return scope?.engine === this.parts.engine ? scope : undefined
  }

  /**
   * The attempt of this engine the caller runs in.
   *
   * @throws WaitpointError `ERR_NOT_IN_RUN`, `ERR_OTHER_ENGINE`, `ERR_ENGINE_CLOSED`, or what ended the attempt.
   */
  requireScope(what: string): RunScope {
    const scope = currentScope()
    if (scope === undefined) {
      if (this.parts.host.isClosed) throw this.parts.host.closedError()
      throw new WaitpointError(
        'ERR_NOT_IN_RUN',
        `Cannot call ${what} here: it can only be used from inside a task.run()`,
      )
    }
    if (scope.engine !== this.parts.engine) {
      throw new WaitpointError(
        'ERR_OTHER_ENGINE',
        `Cannot call ${what} of this engine in run "${scope.id}": the run belongs to another engine`,
      )
    }
    assertOpen(scope)
    return scope
  }

  /**
   * What storage answered to a write of `scope`. One it refused ends the attempt, and the call that made it.
   *
   * Hot: a synchronous answer goes through as it is.
   */
  written<T>(scope: RunScope | undefined, answer: Awaitable<T | 'stale'>): Awaitable<T> {
    if (isPromise(answer)) return answer.then((value) => this.#accepted(scope, value))
    return this.#accepted(scope, answer)
  }

  #accepted<T>(scope: RunScope | undefined, answer: T | 'stale'): Awaitable<T> {
    if (answer !== 'stale') return answer
    if (scope === undefined) throw new Error('Cannot write: storage asks for a fence outside of a run')
    return chain(this.parts.executor.refused(scope), (reason) => {
      throw reason
    })
  }

  /** While a call is out, a test clock must not move time. */
  #held<T>(answer: Promise<T>): Promise<T> {
    const { clock } = this.parts.host
    if (clock.hold === undefined || currentScope() !== undefined) return answer
    const release = clock.hold({ kind: 'call', id: 'a call of the engine' })
    return answer.finally(release)
  }
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
