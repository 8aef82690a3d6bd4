import type { ReleaseHold } from '../contract/clock.ts'
import { tokenOfRun } from '../contract/run-states.ts'
import type { Awaitable, Unsubscribe } from '../contract/storage.ts'
import { chain } from '../primitives/awaitable.ts'
import { KeyedTurns } from '../primitives/keyed-turns.ts'
import type { Namespaces } from '../api/task.ts'
import { type EngineNamespaces, staleAttempt } from './attempt/attempt.ts'
import { TaskRegistry } from '../api/task-definition.ts'
import { EventQueue } from './changes/events.ts'
import { Logs } from './changes/logs.ts'
import { Publisher } from './changes/publisher.ts'
import { Retention } from './changes/retention.ts'
import { Watchers } from './changes/watchers.ts'
import { Door } from './door.ts'
import type { EngineSettings } from '../api/engine-options.ts'
import { Cancellation } from './execution/cancellation.ts'
import { Claimer } from './execution/claimer.ts'
import { Compensations } from './execution/compensations.ts'
import { DelayedRuns } from './execution/delayed-runs.ts'
import { Effects } from './execution/effects.ts'
import { Executor } from './execution/executor.ts'
import { Hints } from './execution/hints.ts'
import { Reconciler } from './execution/reconciler.ts'
import { takeUpPending } from './execution/pending-versions.ts'
import { reportUnknownTasks } from './execution/unknown-tasks.ts'
import { Breath } from './host/breath.ts'
import { Credentials } from './host/credentials.ts'
import type { Host } from './host/host.ts'
import { Outage } from './host/outage.ts'
import { Portions } from './host/portions.ts'
import { requireLimits, requireRates } from './host/rates.ts'
import { Ticker } from './host/ticker.ts'
import { type Values, valuesOf } from '../api/values.ts'
import { Slots } from './slots/slots.ts'
import { RunStreams } from './streams/registry.ts'
import type { Upcalls } from './upcalls.ts'
import { Waitpoints } from './waits/waitpoints.ts'

/** The schedules of an engine that executes. */
interface Schedules {
  start(): Awaitable<void>
  stop(): void
  look(): void
}

/** The class that a part is made by: its own, or, in an engine that is observed, one below it. See `observed.ts`. */
export type ClassOf = <Part extends new (...args: never) => unknown>(part: Part) => Part

/**
 * The inside of one engine: its parts, from the lowest to the highest. Each calls those below it, which it names in its file; what has
 * happened it tells those above by `upcalls`.
 */
export class Kernel extends Door {
  readonly host: Host
  readonly tasks: TaskRegistry
  readonly values: Values
  readonly credentials: Credentials
  readonly breath: Breath
  readonly portions: Portions
  readonly outage: Outage
  readonly ticker: Ticker
  readonly watchers: Watchers
  readonly events: EventQueue
  readonly logs: Logs
  readonly retention: Retention
  readonly publisher: Publisher
  readonly slots: Slots
  readonly waitpoints: Waitpoints
  readonly streams: RunStreams
  readonly effects: Effects
  readonly delayed: DelayedRuns
  readonly compensations: Compensations
  readonly executor: Executor
  readonly claimer: Claimer
  readonly reconciler: Reconciler
  readonly cancellation: Cancellation
  readonly hints: Hints
  readonly upcalls: Upcalls
  /** Changes of runs that read them first: one at a time for each run. */
  readonly runTurns: KeyedTurns = new KeyedTurns()
  #namespaces: EngineNamespaces | undefined
  #tools: Namespaces | undefined
  #schedules: Schedules | undefined
  #unsubscribe: Unsubscribe | undefined
  /** So many messages of an input stream may be unread. */
  readonly unreadInputs: number
  readonly #keepAlive: boolean
  #release: ReleaseHold | undefined

  constructor(host: Host, settings: EngineSettings, classOf: ClassOf) {
    super()
    this.host = host
    this.unreadInputs = settings.unreadInputs
    this.#keepAlive = settings.keepAlive
    this.upcalls = upcallsOf(this)
    this.tasks = new TaskRegistry(settings.tasks, settings.retry)
    this.values = valuesOf(settings.codec)
    for (const name of this.tasks.queueRates.keys())
      requireRates(host.storage, `create the engine: queue "${name}" has a rate`)
    for (const name of this.tasks.limits.keys())
      requireLimits(host.storage, `create the engine: a task has the limit "${name}"`)
    this.credentials = new Credentials(host, settings)
    this.breath = new Breath(host)
    this.portions = new Portions(host)
    this.outage = new Outage(this, settings)
    this.ticker = new Ticker(this, settings)
    this.watchers = new (classOf(Watchers))()
    this.events = new EventQueue(this)
    this.logs = new Logs(this)
    this.retention = new Retention(this, settings.retention)
    this.publisher = new Publisher(this)
    this.slots = new Slots(this, settings)
    this.waitpoints = new (classOf(Waitpoints))(this)
    this.streams = new RunStreams(this, { chunks: settings.historyChunks, bytes: settings.historyBytes })
    this.effects = new Effects(host)
    this.delayed = new DelayedRuns(this)
    this.compensations = new Compensations(this, settings)
    this.executor = new Executor(this)
    this.claimer = new Claimer(this, settings)
    this.reconciler = new Reconciler(this)
    this.cancellation = new Cancellation(this)
    this.hints = new Hints(this)
  }

  /** The public side of the engine, which its tasks and the module's functions find through the attempt. */
  get namespaces(): EngineNamespaces {
    if (this.#namespaces === undefined) throw new Error('Cannot use the engine: it is still being made')
    return this.#namespaces
  }

  /** The namespaces as its tasks get them. */
  get tools(): Namespaces {
    return this.#tools ?? this.namespaces
  }

  /** Those of an engine that executes. */
  get schedules(): Schedules | undefined {
    return this.#schedules
  }

  /** To be called once, by the engine that this is the inside of. */
  attach(namespaces: EngineNamespaces, tools: Namespaces, schedules: Schedules | undefined): void {
    this.#namespaces = namespaces
    this.#tools = tools
    this.#schedules = schedules
  }

  /** Called by the host once the storage is open. */
  start(): Awaitable<void> {
    this.#subscribe()
    return chain(this.ticker.start(), () => {
      const { clock, isClosed } = this.host
      if (this.#keepAlive && !isClosed) this.#release ??= clock.hold?.({ kind: 'scheduled', id: 'keepAlive' })
      this.retention.start()
      // One that executes nothing leaves them to those that do.
      const takenUp = this.claimer.executes ? takeUpPending(this.host, this.tasks) : undefined
      return chain(takenUp, () => {
        this.claimer.poke()
        return chain(reportUnknownTasks(this), () => this.#schedules?.start())
      })
    })
  }

  #subscribe(): void {
    const { storage, owner } = this.host
    this.#unsubscribe?.()
    this.#unsubscribe = storage.subscribe(owner, (hint) => this.hints.take(hint))
  }

  /** The lease was lost: every attempt here is stale, and the engine goes on under another name. */
  leaseLost(): void {
    this.executor.abortAll(staleAttempt)
    // Callers that wait for a run which executed here ask storage from now on.
    this.publisher.wakeAll()
    this.host.renameOwner()
    this.#subscribe()
  }

  /** From now on the engine hears and does nothing any more. */
  disconnect(): void {
    this.ticker.stop()
    this.#schedules?.stop()
    this.retention.stop()
    this.outage.close()
    this.claimer.close()
    this.#unsubscribe?.()
    this.#release?.()
  }
}

/** What is done when something has happened in a part that concerns those above it. */
function upcallsOf(kernel: Kernel): Upcalls {
  return {
    failed: (error, runId) => kernel.events.error(error, runId),
    answerLost: (what) => kernel.ticker.answerLost(what),
    gaveUp: (attempt, error) => kernel.executor.interrupt(attempt, error),
    leftChild: (parent, childId) => kernel.cancellation.childOf(parent, childId),
    leftChildren: (runId, waited) => kernel.cancellation.childrenOf(runId, waited),
    ticked: (result, about) => kernel.hints.ticked(result, about),
    leaseLost: () => kernel.leaseLost(),
    settled: (token) => kernel.waitpoints.settled(token),
    ended(run) {
      if (kernel.waitpoints.size > 0) kernel.waitpoints.settled(tokenOfRun(run))
    },
    slotFreed: () => kernel.claimer.slotFreed(),
    mayHaveMore: () => kernel.claimer.mayHaveMore,
    claimable: () => kernel.claimer.poke(),
    woken: (tokens) => kernel.hints.woken(tokens),
    schedulesChanged: () => kernel.schedules?.look(),
    stale: (attempt) => kernel.reconciler.stale(attempt),
    refused: (attempt) => kernel.reconciler.refused(attempt),
    misfit: (attempt, error) => kernel.executor.standStill(attempt, error),
  }
}
