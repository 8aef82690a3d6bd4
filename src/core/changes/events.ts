import { readableValues } from '../../api/values.ts'
import { EventEmitter } from 'eventemitter3'
import type * as typed from 'typed-emitter'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import type { Unsubscribe } from '../../contract/storage.ts'
import { unawaited } from '../../primitives/awaitable.ts'
import { show } from '../../primitives/require.ts'
import { outsideRuns } from '../attempt/attempt.ts'
import type { LogLine } from '../../api/log.ts'
import type { Run } from '../../api/run.ts'
import type { Token } from '../../api/token.ts'
import type { Credentials } from '../host/credentials.ts'
import type { Host } from '../host/host.ts'
import type { Outage } from '../host/outage.ts'
import { viewRun } from '../views/run.ts'
import { viewToken } from '../views/token.ts'
import type { Values } from '../../api/values.ts'

/** Something went wrong that no caller could be told. */
export interface EngineErrorEvent {
  readonly error: unknown
  readonly runId?: string
}

/** Lifecycle events of an engine: its own actions, in order. */
export type EngineEvents = {
  /** A run was created, or its status changed. */
  run: (run: Run) => void
  /** A token was created, changed or settled. */
  token: (token: Token) => void
  error: (event: EngineErrorEvent) => void
  /** A task has logged a line. With a listener, lines are not printed on the console. */
  log: (line: LogLine) => void
}

const NAMES: readonly string[] = ['run', 'token', 'error', 'log'] satisfies (keyof EngineEvents)[]

interface Parts {
  readonly host: Host
  readonly values: Values
  readonly credentials: Credentials
  readonly outage: Outage
}

/** Delivers lifecycle events in a microtask of their own; a listener that throws stops no other. */
export class EventQueue {
  // EventEmitter3 implements the interface that typed-emitter describes.
  readonly #emitter = new EventEmitter() as unknown as typed.default<EngineEvents>
  readonly #kernel: Parts
  #queue: (() => void)[] = []

  constructor(kernel: Parts) {
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
    if (this.#emitter.listenerCount('run') === 0) return
    try {
      this.#emit('run', viewRun(record, this.#kernel.values))
    } catch (error) {
      // The codec cannot read its values.
      this.error(error, record.id)
    }
  }

  token(record: TokenRecord): void {
    if (this.#emitter.listenerCount('token') === 0) return
    const { credentials, values } = this.#kernel
    this.#emit('token', viewToken(record, credentials, readableValues(values)))
  }

  /** Says whether there is a listener that gets the line. */
  log(line: LogLine): boolean {
    if (this.#emitter.listenerCount('log') === 0 || this.#kernel.host.isClosed) return false
    this.#emit('log', line)
    return true
  }

  /** An error that says that the storage is away is told once, and not for every call. */
  error(error: unknown, runId?: string): void {
    if (this.#kernel.outage.noticed(error)) return
    this.#emit('error', runId === undefined ? { error } : { error, runId })
  }

  /** Does something that has no caller. */
  report(action: () => unknown, runId?: string): void {
    unawaited(action, (error) => this.error(error, runId))
  }

  #emit<Name extends keyof EngineEvents>(name: Name, event: Parameters<EngineEvents[Name]>[0]): void {
    // The answer to a write that was out may come after the engine was closed.
    if (this.#kernel.host.isClosed) return
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
