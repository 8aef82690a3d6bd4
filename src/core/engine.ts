import type { EndStatus } from '../contract/run-states.ts'
import type { Unsubscribe } from '../contract/storage.ts'
import { parseDuration } from '../primitives/duration.ts'
import { idOf, requireOptions } from '../primitives/require.ts'
import type { OptionNames } from '../primitives/require.ts'
import { toolsOf } from './ambient/ambient.ts'
import { setDefaultEngine } from './ambient/current-engine.ts'
import { currentAttempt, type EngineNamespaces } from './attempt/attempt.ts'
import type { EngineEvents } from './changes/events.ts'
import type { EngineOptions } from '../api/engine-options.ts'
import { readEngineOptions } from '../api/engine-options.ts'
import type { EnginePorts } from './host/host.ts'
import { Host } from './host/host.ts'
import { STORED_VALUES, type Values } from '../api/values.ts'
import { type ClassOf, Kernel } from './kernel.ts'
import { ACCESS_TOKENS, TIMELINE } from './namespaces/late-calls.ts'
import { EngineInputs } from './namespaces/inputs.ts'
import { EngineMetadata } from './namespaces/metadata.ts'
import { OnceEffects } from './namespaces/once.ts'
import { EngineQueue, QUEUES } from './namespaces/queue-handle.ts'
import { EngineRuns } from './namespaces/runs.ts'
import { EngineStreams } from './namespaces/streams.ts'
import { EngineTasks } from './namespaces/tasks.ts'
import { EngineWait } from './namespaces/wait.ts'
import type {
  AnyTask,
  RunHandle,
  EngineRunsNamespace,
  ForwardedTask,
  TaskOutput,
  TriggerArguments,
  TasksNamespace,
  TriggerOptions,
} from '../api/run.ts'
import type { QueueHandle, RetrievedQueue } from '../api/queue.ts'
import type { SchedulesNamespace } from '../api/schedule.ts'
import { EngineSchedules } from './schedules/schedules.ts'
import { shutDown } from './shutdown.ts'
import type { EngineStreamsNamespace } from '../api/input.ts'
import type { MetadataNamespace } from '../api/stream.ts'
import type { TimelineEntry, TimelineOptions } from '../api/timeline.ts'
import type { AccessGrant, AccessTokenOptions } from '../api/access.ts'
import type { Duration, EngineWaitNamespace } from '../api/token.ts'

/** The work of an engine at this moment. */
export interface EngineStats {
  /** Attempts whose function has not settled. */
  readonly attempts: number
  /** Those of them that hold a slot. */
  readonly executing: number
  /** Attempts whose run waits, without a slot. */
  readonly waiting: number
  /** Tokens that runs here wait for. */
  readonly waits: number
  /** The runs that this engine has ended since it was created, by their status. */
  readonly ended: Readonly<Record<EndStatus, number>>
  /** How often this engine has taken or renewed its lease. */
  readonly leaseRenewals: number
  /** The storage is away: it did not answer the last time that it was asked. */
  readonly isStorageAway: boolean
}

/** How an engine is closed. */
export interface CloseOptions {
  /**
   * How long attempts that execute may go on before they are aborted.
   *
   * @default `0`
   */
  readonly drainMs?: Duration
}

/** A task engine. A value: many may live side by side. */
export interface Engine extends AsyncDisposable {
  readonly wait: EngineWaitNamespace
  readonly metadata: MetadataNamespace
  readonly runs: EngineRunsNamespace
  readonly tasks: TasksNamespace
  readonly streams: EngineStreamsNamespace
  readonly schedules: SchedulesNamespace
  /**
   * One queue, over all engines on the storage: its runs, to pause it, and to change its limit. See docs/queues-and-schedules.md.
   *
   * @example
   * ```ts
   * await engine.queue('mail').pause()
   * ```
   *
   * @throws TypeError for a name that cannot be used.
   */
  queue(name: string): QueueHandle
  /** The queues of the tasks of this engine, and those of which something is set, by name. Rejects as a {@link QueueHandle} does. */
  queues(): Promise<readonly RetrievedQueue[]>
  /**
   * Stores a run of the task; it is executed as soon as it may. Rejects as `tasks.trigger` does.
   *
   * This is the usual way. `engine.tasks.trigger('review', …)` is for code that must not import the task. In a run, and where an
   * engine is the default one, `review.trigger(…)` does without the engine, and `tasks.trigger('review', …)` of the module
   * without both.
   *
   * @example
   * ```ts
   * const run = await engine.trigger(review, { doc: 'd1' }, { delay: '5m', tags: 'review' })
   * ```
   */
  trigger<Task extends AnyTask>(
    task: Task,
    ...given: TriggerArguments<Task>
  ): Promise<RunHandle<TaskOutput<Task>>>
  /**
   * An access token for a page or another process: it may do what is granted, on objects that there need not be yet, for 15
   * minutes or for as long as `expiresIn` says. It is signed here, without a request. Rejects with a TypeError or RangeError
   * for a grant that cannot be used. See docs/in-the-browser.md.
   *
   * @example
   * ```ts
   * const accessToken = await engine.createAccessToken({ read: { runs: run }, complete: token }, { expiresIn: '1h' })
   * ```
   */
  createAccessToken(grant: AccessGrant, options?: AccessTokenOptions): Promise<string>
  /**
   * Lifecycle events, delivered in a microtask of their own; a listener that throws stops no other. Answers the function
   * that removes the listener.
   *
   * @throws TypeError for another name than `run`, `token`, `error` or `log`, and for a listener that is no function.
   */
  on<Name extends keyof EngineEvents>(name: Name, listener: EngineEvents[Name]): Unsubscribe
  /** Opens the engine: rejects with what is wrong with its storage. */
  ready(): Promise<void>
  /**
   * The module's functions find this engine outside of runs, until the returned function is called.
   *
   * @throws WaitpointError `ERR_ENGINE_OPEN` when there is a default already; `ERR_ENGINE_CLOSED`.
   */
  makeDefault(): Unsubscribe
  /** The work at this moment: counts, for tests and for people. */
  stats(): EngineStats
  /**
   * What is due next and why, the earliest first: deadlines of tokens, sleeps, delays, retries and expiries of all engines on
   * the storage, and the schedules of this engine. Rejects with a TypeError or RangeError for options that cannot be used.
   * See docs/options.md.
   *
   * @example
   * ```ts
   * for (const { at, sentence } of await engine.timeline()) console.log(at.toISOString(), sentence)
   * ```
   */
  timeline(options?: TimelineOptions): Promise<readonly TimelineEntry[]>
  /** Ends everything: nothing of the engine runs afterwards, and nothing user code still does has an effect. */
  close(options?: CloseOptions): Promise<void>
}

const CLOSE_NAMES: OptionNames<CloseOptions> = { drainMs: true }

/** What is inside, hidden. A `WeakMap` would keep engines of which nothing is left until a full collection. */
const KERNEL: unique symbol = Symbol('kernel')

interface WithInside {
  readonly [KERNEL]?: () => Kernel
}

/** The inside of an engine, for the entries that extend it. */
export function kernelOf(engine: Engine): Kernel {
  const kernel = (Object(engine) as WithInside)[KERNEL]?.()
  if (kernel === undefined)
    throw new TypeError('Cannot use this engine: it was not made by createEngine() of this copy of waitpoint')
  return kernel
}

/** Lets an object that stands in front of engines pass for the one it stands in front of at the time. */
export function passFor(facade: Engine, engine: () => Engine): void {
  Object.defineProperty(facade, KERNEL, { value: () => kernelOf(engine()) })
}

/** Creates an engine on given ports. */
export function createEngineOn(
  ports: EnginePorts,
  options: EngineOptions,
  classOf: ClassOf = (part) => part,
): Engine {
  const settings = readEngineOptions(options)
  const kernel = new Kernel(new Host(ports), settings, classOf)
  const namespaces = namespacesOf(kernel, classOf)
  kernel.attach(namespaces, toolsOf(namespaces), settings.execute ? namespaces.schedules : undefined)
  return new TaskEngine(kernel)
}

type OwnNamespaces = EngineNamespaces & { readonly schedules: EngineSchedules }

function namespacesOf(kernel: Kernel, classOf: ClassOf): OwnNamespaces {
  const effects = new (classOf(OnceEffects))(kernel)
  const { values } = kernel
  const valued = valueNamespaces(kernel, values, classOf)
  const namespaces: OwnNamespaces = {
    once: (key, effect) => effects.run(key, effect),
    ...valued,
    metadata: new EngineMetadata(kernel),
    streams: new EngineStreams(kernel, effects, valued.inputs),
    log: (entry) => kernel.logs.write(entry, currentAttempt()),
    queue: (name) => new EngineQueue((call) => kernel.call(() => call(kernel)), name),
    queues: () => kernel.read(() => QUEUES.use(({ listQueues }) => listQueues(kernel))),
    createAccessToken: (grant, options) =>
      kernel.call(() => ACCESS_TOKENS.use(({ signAccessToken }) => signAccessToken(kernel, grant, options))),
    schedules: new EngineSchedules(kernel, (id, run) => valued.tasks.store(id, run)),
  }
  if (values === STORED_VALUES) return namespaces
  return { ...namespaces, stored: { ...namespaces, ...valueNamespaces(kernel, STORED_VALUES, classOf) } }
}

/** The namespaces that take and answer values. */
function valueNamespaces(
  kernel: Kernel,
  values: Values,
  classOf: ClassOf,
): {
  readonly wait: EngineWait
  readonly inputs: EngineInputs
  readonly runs: EngineRuns
  readonly tasks: EngineTasks
} {
  return {
    wait: new (classOf(EngineWait))(kernel, values),
    inputs: new EngineInputs(kernel, values),
    runs: new EngineRuns(kernel, values),
    tasks: new (classOf(EngineTasks))(kernel, values),
  }
}

class TaskEngine implements Engine {
  readonly #kernel: Kernel
  #removeDefault: Unsubscribe | undefined
  #closed: Promise<void> | undefined

  constructor(kernel: Kernel) {
    this.#kernel = kernel
    Object.defineProperty(this, KERNEL, { value: () => kernel })
  }

  get wait(): EngineWaitNamespace {
    return this.#kernel.namespaces.wait
  }

  get metadata(): MetadataNamespace {
    return this.#kernel.namespaces.metadata
  }

  get runs(): EngineRunsNamespace {
    return this.#kernel.namespaces.runs
  }

  get tasks(): TasksNamespace {
    return this.#kernel.namespaces.tasks
  }

  get streams(): EngineStreamsNamespace {
    return this.#kernel.namespaces.streams
  }

  get schedules(): SchedulesNamespace {
    return this.#kernel.namespaces.schedules
  }

  queue(name: string): QueueHandle {
    return this.#kernel.namespaces.queue(name)
  }

  queues(): Promise<readonly RetrievedQueue[]> {
    return this.#kernel.namespaces.queues()
  }

  trigger<Task extends AnyTask>(
    task: Task,
    ...given: TriggerArguments<Task>
  ): Promise<RunHandle<TaskOutput<Task>>>
  trigger(task: ForwardedTask, payload?: unknown, options?: TriggerOptions): Promise<RunHandle<never>> {
    // A value that is no task is refused where it is looked up: this answers a promise.
    return this.#kernel.namespaces.tasks.trigger<ForwardedTask>(idOf(task) as string, payload, options)
  }

  createAccessToken(grant: AccessGrant, options?: AccessTokenOptions): Promise<string> {
    return this.#kernel.namespaces.createAccessToken(grant, options)
  }

  on<Name extends keyof EngineEvents>(name: Name, listener: EngineEvents[Name]): Unsubscribe {
    return this.#kernel.events.on(name, listener)
  }

  ready(): Promise<void> {
    return this.#kernel.call(() => undefined)
  }

  makeDefault(): Unsubscribe {
    const { host } = this.#kernel
    if (host.isClosing) throw host.closedError()
    this.#removeDefault = setDefaultEngine(this.#kernel.namespaces)
    return this.#removeDefault
  }

  stats(): EngineStats {
    const { executor, slots, waitpoints, publisher, ticker, outage } = this.#kernel
    const attempts = executor.attempts.size
    return {
      attempts,
      executing: slots.used,
      // An attempt that was taken over may hold its slot for some seconds beside the one that took over.
      waiting: Math.max(0, attempts - slots.used - slots.draining),
      waits: waitpoints.size,
      ended: { ...publisher.ended },
      leaseRenewals: ticker.renewals,
      isStorageAway: outage.isAway,
    }
  }

  async timeline(options: TimelineOptions = {}): Promise<readonly TimelineEntry[]> {
    return TIMELINE.use(({ timeline }) => timeline(this.#kernel, options))
  }

  close(options: CloseOptions = {}): Promise<void> {
    if (this.#closed !== undefined) return this.#closed
    try {
      requireOptions(options, 'the options of close', CLOSE_NAMES)
      const { drainMs = 0 } = options
      const ms = parseDuration(drainMs, 'drainMs')
      this.#removeDefault?.()
      this.#closed = shutDown(this.#kernel, ms)
      return this.#closed
    } catch (error) {
      return Promise.reject(error instanceof Error ? error : new Error(String(error)))
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }
}
