import { EventEmitter } from 'eventemitter3'
import type * as typed from 'typed-emitter'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Unsubscribe } from '../../contract/storage.ts'
import { show } from '../../primitives/require.ts'
import { outsideRuns } from '../attempt/attempt.ts'
import type { Run } from '../../api/run.ts'
import type { Token } from '../../api/token.ts'
import type { Credentials } from '../host/credentials.ts'
import { viewRun } from '../views/run.ts'
import { viewToken } from '../views/token.ts'

/** Something went wrong that no caller could be told. */
export interface EngineErrorEvent {
  readonly error: unknown
  readonly runId?: string
}

/** Lifecycle events of an engine: what it did itself, in order. */
export type EngineEvents = {
  /** A run was created, or its status changed. */
  run: (run: Run) => void
  /** A token was created or settled. */
  token: (token: Token) => void
  error: (event: EngineErrorEvent) => void
}

const NAMES: readonly string[] = ['run', 'token', 'error'] satisfies (keyof EngineEvents)[]

/** The part of an engine that the view of a token uses. */
export interface EventKernel {
  readonly credentials: Credentials
}

/** Delivers lifecycle events in a microtask of their own; a listener that throws stops no other. */
export class EventQueue {
  // EventEmitter3 implements the interface that typed-emitter describes.
  readonly #emitter = new EventEmitter() as unknown as typed.default<EngineEvents>
  readonly #kernel: EventKernel
  #queue: (() => void)[] = []

  constructor(kernel: EventKernel) {
    this.#kernel = kernel
  }

  on<Name extends keyof EngineEvents>(name: Name, listener: EngineEvents[Name]): Unsubscribe {
    if (!NAMES.includes(name))
      throw new TypeError(`Cannot listen to ${show(name)}: events are ${NAMES.join(', ')}`)
    if (typeof listener !== 'function')
      throw new TypeError(`Cannot listen to "${name}": the listener must be a function`)
    // A listener of its own, so that the same function may listen twice: `off` takes away every one that is equal.
    const own = (listener as (event: never) => void).bind(undefined) as EngineEvents[Name]
    this.#emitter.on(name, own)
    return () => {
      this.#emitter.off(name, own)
    }
  }

  run(record: RunRecord): void {
    if (this.#emitter.listenerCount('run') > 0) this.#emit('run', viewRun(record))
  }

  token(record: TokenRecord): void {
    if (this.#emitter.listenerCount('token') > 0)
      this.#emit('token', viewToken(record, this.#kernel.credentials))
  }

  error(error: unknown, runId?: string): void {
    this.#emit('error', runId === undefined ? { error } : { error, runId })
  }

  #emit<Name extends keyof EngineEvents>(name: Name, event: Parameters<EngineEvents[Name]>[0]): void {
    // An event of a run is made inside of that run; its listeners are called outside.
    if (this.#queue.length === 0) Promise.resolve().then(() => outsideRuns(() => this.#flush()), ignore)
    this.#queue.push(() => {
      for (const listener of this.#emitter.listeners(name)) this.#call(listener, event, name === 'error')
    })
  }

  #flush(): void {
    const queue = this.#queue
    this.#queue = []
    for (const deliver of queue) deliver()
  }

  /** A listener of `error` that throws or rejects cannot be reported to any other. */
  #call(listener: (event: never) => unknown, event: unknown, isLast: boolean): void {
    const fail = (error: unknown): void => {
      if (!isLast) this.error(error)
    }
    try {
      // The event was made for the name the listener was registered under.
      const answer = listener(event as never)
      if (answer instanceof Promise) answer.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}

function ignore(): void {
  // Nothing in the queue throws: every delivery is isolated.
}
