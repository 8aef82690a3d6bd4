import type { Awaitable, Unsubscribe } from '../contract/storage.ts'
import { chain, isPromise } from '../primitives/awaitable.ts'
import { WaitpointError } from '../api/errors.ts'
import type { Attempt, EngineNamespaces } from './attempt/attempt.ts'
import { assertOpen, currentAttempt, staleAttempt } from './attempt/attempt.ts'
import { TaskRegistry } from './attempt/task-definition.ts'
import { EventQueue } from './changes/events.ts'
import { Publisher } from './changes/publisher.ts'
import { Retention } from './changes/retention.ts'
import { Watchers } from './changes/watchers.ts'
import type { EngineSettings } from './engine-options.ts'
import { Cancellation } from './execution/cancellation.ts'
import { Claimer } from './execution/claimer.ts'
import { DelayedRuns } from './execution/delayed-runs.ts'
import { Executor } from './execution/executor.ts'
import { Hints } from './execution/hints.ts'
import { Reconciler } from './execution/reconciler.ts'
import { Slots } from './execution/slots.ts'
import { Ticker } from './execution/ticker.ts'
import { reportUnknownTasks } from './execution/unknown-tasks.ts'
import { Credentials } from './host/credentials.ts'
import type { Host } from './host/host.ts'
import { RunStreams } from './streams/registry.ts'
import { Waitpoints } from './waits/waitpoints.ts'

/** The inside of one engine: its parts, which call each other as its fields, and the way every public call takes. */
export class Kernel {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly credentials: Credentials
  readonly events: EventQueue
  readonly watchers: Watchers
  readonly publisher: Publisher
  readonly retention: Retention
  readonly waitpoints: Waitpoints
  readonly streams: RunStreams
  readonly slots: Slots
  readonly ticker: Ticker
  readonly claimer: Claimer
  readonly delayed: DelayedRuns
  readonly executor: Executor
  readonly reconciler: Reconciler
  readonly cancellation: Cancellation
  readonly hints: Hints
  #namespaces: EngineNamespaces | undefined
  #unsubscribe: Unsubscribe | undefined

  constructor(host: Host, settings: EngineSettings) {
    this.host = host
    this.tasks = new TaskRegistry(settings.tasks)
    this.credentials = new Credentials(this, settings)
    this.events = new EventQueue(this)
    this.watchers = new Watchers()
    this.publisher = new Publisher(this)
    this.retention = new Retention(this, settings.retention)
    this.waitpoints = new Waitpoints(this)
    this.streams = new RunStreams(this, { chunks: settings.historyChunks, bytes: settings.historyBytes })
    this.slots = new Slots(this, settings)
    this.ticker = new Ticker(this, settings)
    this.claimer = new Claimer(this, settings)
    this.delayed = new DelayedRuns(this)
    this.executor = new Executor(this)
    this.reconciler = new Reconciler(this)
    this.cancellation = new Cancellation(this)
    this.hints = new Hints(this)
  }

  /** The public side of the engine, which its tasks and the module's functions find through the attempt. */
  get namespaces(): EngineNamespaces {
    if (this.#namespaces === undefined) throw new Error('Cannot use the engine: it is still being made')
    return this.#namespaces
  }

  /** To be called once, by the engine that this is the inside of. */
  attach(namespaces: EngineNamespaces): void {
    this.#namespaces = namespaces
  }

  /** Opens the engine if need be; refuses when it is closed. */
  open(): Awaitable<void> {
    return this.host.open(this)
  }

  /** Called by the host once the storage is open. */
  start(): Awaitable<void> {
    this.#subscribe()
    return chain(this.ticker.start(), () => {
      this.retention.start()
      this.claimer.poke()
      return reportUnknownTasks(this)
    })
  }

  #subscribe(): void {
    const { storage, owner } = this.host
    this.#unsubscribe?.()
    this.#unsubscribe = storage.subscribe(owner, (hint) => this.hints.take(hint))
  }

  /** The lease was lost: what executes here is stale, and the engine goes on under another name. */
  leaseLost(): void {
    this.executor.abortAll(staleAttempt)
    this.host.renameOwner()
    this.#subscribe()
  }

  /** From now on the engine hears and does nothing any more. */
  disconnect(): void {
    this.ticker.stop()
    this.retention.stop()
    this.#unsubscribe?.()
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

  /** Like `call()`, but may return or throw synchronously, as storage does. */
  ask<T>(serve: () => Awaitable<T>): Awaitable<T> {
    assertOpen(this.attempt())
    const answer = chain(this.open(), serve)
    return isPromise(answer) ? this.#held(answer) : answer
  }

  /** The attempt of this engine the caller runs in, if any. */
  attempt(): Attempt | undefined {
    const attempt = currentAttempt()
    return attempt?.kernel === this ? attempt : undefined
  }

  /**
   * The attempt of this engine the caller runs in.
   *
   * @throws WaitpointError `ERR_NOT_IN_RUN`, `ERR_OTHER_ENGINE`, `ERR_ENGINE_CLOSED`, or the error that ended the attempt.
   */
  requireAttempt(what: string): Attempt {
    const attempt = currentAttempt()
    if (attempt === undefined) {
      if (this.host.isClosed) throw this.host.closedError()
      throw new WaitpointError(
        'ERR_NOT_IN_RUN',
        `Cannot call ${what} here: it can only be used from inside a task.run()`,
      )
    }
    if (attempt.kernel !== this) {
      throw new WaitpointError(
        'ERR_OTHER_ENGINE',
        `Cannot call ${what} of this engine in run "${attempt.id}": the run belongs to another engine`,
      )
    }
    assertOpen(attempt)
    return attempt
  }

  /**
   * The answer of storage to a write of `attempt`. One that it refused ends the attempt, and the call that made it.
   *
   * Hot: a synchronous answer goes through as it is.
   */
  written<T>(attempt: Attempt | undefined, answer: Awaitable<T | 'stale'>): Awaitable<T> {
    if (isPromise(answer)) return answer.then((value) => this.#accepted(attempt, value))
    return this.#accepted(attempt, answer)
  }

  #accepted<T>(attempt: Attempt | undefined, answer: T | 'stale'): Awaitable<T> {
    if (answer !== 'stale') return answer
    if (attempt === undefined) throw new Error('Cannot write: storage asks for a fence outside of a run')
    return chain(this.reconciler.refused(attempt), (reason) => {
      throw reason
    })
  }

  /** While a call is out, a test clock must not move time. */
  #held<T>(answer: Promise<T>): Promise<T> {
    const { clock } = this.host
    if (clock.hold === undefined || currentAttempt() !== undefined) return answer
    const release = clock.hold({ kind: 'call', id: 'a call of the engine' })
    return answer.finally(release)
  }
}

/** Makes the inside of an engine. It does nothing before it is opened. */
export function createKernel(host: Host, settings: EngineSettings): Kernel {
  return new Kernel(host, settings)
}

function asError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown))
}
