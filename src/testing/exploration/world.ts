import { macrotaskTurn } from '../../clock/macrotask-turn.ts'
import { seededRandom } from '../../clock/seeded-random.ts'
import type { Clock } from '../../contract/clock.ts'
import type { Awaitable, Storage } from '../../contract/storage.ts'
import { createEngineOn, type Engine, kernelOf } from '../../core/engine.ts'
import type { EngineOptions } from '../../core/engine-options.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { isForgetting } from '../fixture/kept-records.ts'
import { noteGivenTimeouts } from '../witness/given-timeouts.ts'
import { Boundaries } from './boundaries.ts'
import { boundaryStorage, callerName } from './boundary-storage.ts'
import { Names } from './names.ts'
import { invariants } from './invariants.ts'
import { Observer } from './observer.ts'
import { Process } from './process.ts'
import { ScheduleTimers } from './schedule-timers.ts'
import { InvariantViolation } from './violation.ts'

/** Creates the storage under test on top of one whose every call is a boundary. Called for every process. */
export type Adapter = (storage: Storage, tools: AdapterTools) => Storage

export interface AdapterTools {
  /** A boundary inside the adapter: other events may happen between two of its steps. */
  step<T = void>(name: string, effect?: () => Awaitable<T>): Promise<T>
  /** Data that survives a crash, besides the storage below. */
  readonly disk: Map<string, unknown>
}

export interface WorldOptions {
  readonly engine: Omit<EngineOptions, 'storage' | 'clock'>
  readonly adapter?: Adapter | undefined
}

/** An engine and its process. */
export interface Life {
  readonly process: Process
  readonly engine: Engine
  /** The storage as the engine sees it, unobserved. */
  readonly facing: Storage
}

/** The state of one schedule: a storage, time, and one process at a time. */
export class World {
  readonly names: Names = new Names()
  readonly timers: ScheduleTimers = new ScheduleTimers(this.names)
  readonly boundaries: Boundaries = new Boundaries()
  readonly storage: Storage = memoryStorage()
  readonly observer: Observer
  readonly #options: WorldOptions
  readonly #disk = new Map<string, unknown>()
  readonly #restarts: ((engine: Engine) => void)[] = []
  /** All lives so far, dead ones included. */
  readonly #started: Life[] = []
  #life: Life | undefined
  #elsewhere: Life | undefined
  #violation: { readonly error: unknown } | undefined

  constructor(options: WorldOptions) {
    this.#options = options
    const watchers = invariants(this.names, (taskId) => this.#maxAttempts(taskId))
    const now = (): number => this.timers.now
    this.observer = new Observer(watchers, now, (error) => (this.#violation ??= { error }))
  }

  /** The current engine and its process, started on first use. */
  get life(): Life {
    return (this.#life ??= this.#start(new Process('engine'), this.#options.engine))
  }

  /** An engine without tasks in another process on the same storage, which can answer from elsewhere. */
  get elsewhere(): Life {
    const options = { ...this.#options.engine, tasks: [] }
    return (this.#elsewhere ??= this.#start(new Process('elsewhere'), options))
  }

  /** The live processes. */
  get processes(): readonly Process[] {
    return this.#lives.map(({ process }) => process)
  }

  /** The first violation so far. */
  get violation(): { readonly error: unknown } | undefined {
    return this.#violation
  }

  /** The process an engine lives or lived in, by the kernel that its attempts carry. */
  processOf(kernel: object): Process | undefined {
    return this.#started.find(({ engine }) => kernelOf(engine) === kernel)?.process
  }

  /** Adds a listener for every engine started after a crash. */
  onRestart(listener: (engine: Engine) => void): void {
    this.#restarts.push(listener)
  }

  /** Kills the process, and starts another one on its storage. */
  crash(): void {
    const { process } = this.life
    process.die()
    this.boundaries.drop(process)
    this.timers.drop(process)
    this.#life = undefined
    const { engine } = this.life
    for (const restarted of this.#restarts) restarted(engine)
  }

  /** A boundary that is not a storage call. */
  step<T>(name: string, effect: () => Awaitable<T>, process: Process | undefined): Promise<T> {
    if (process?.isDead === true) return new Promise<never>(() => undefined)
    if (process?.isObserved === false) return Promise.resolve(effect())
    const label = this.names.label(callerName(this.names), name)
    const about = { label, process, isCommit: process !== undefined, mayFail: false }
    return this.boundaries.call(about, effect)
  }

  /** Checks the final state when nothing more happens. */
  async ended(): Promise<void> {
    for (const { process } of this.#lives) process.isObserved = false
    const [life] = this.#lives
    if (life !== undefined) await this.observer.ended(life.facing)
  }

  /** Closes the engines, and checks that they leave nothing behind. */
  async close(): Promise<void> {
    for (const { engine } of this.#lives) await engine.close()
    await macrotaskTurn()
    for (const { process } of this.#lives) this.#assertEmpty(process)
  }

  #assertEmpty(process: Process): void {
    const timers = this.timers.of(process).map(({ label }) => `timer "${label}"`)
    const holds = process.holds.map(({ kind, id }) => `"${kind}" of ${this.names.readable(id)}`)
    const left = [...timers, ...holds]
    if (left.length === 0) return
    const message = `the engine is closed and still has ${left.join(', ')}`
    throw new InvariantViolation('nothing left at dispose', message)
  }

  /** The number of attempts that the retry policy of a task allows. */
  #maxAttempts(taskId: string): number {
    const { retry, options } = kernelOf(this.life.engine).tasks.require(taskId)
    return options.catchError === undefined ? (retry.maxAttempts ?? Infinity) : Infinity
  }

  /** The live engines with their processes. */
  get #lives(): readonly Life[] {
    return [this.#life, this.#elsewhere].filter((life) => life !== undefined)
  }

  #start(process: Process, engineOptions: WorldOptions['engine']): Life {
    const { storage, facing } = this.#storageOf(process)
    const random = seededRandom(this.#started.length + 1)
    const engine = createEngineOn({ clock: this.#clockOf(process), storage, random }, engineOptions)
    const { stored } = kernelOf(engine).namespaces
    for (const { wait } of [engine, ...(stored === undefined ? [] : [stored])]) noteGivenTimeouts(wait)
    // An opening error reaches every call of the body.
    engine.ready().catch(() => undefined)
    process.isObserved = true
    const life = { process, engine, facing }
    this.#started.push(life)
    return life
  }

  #storageOf(process: Process): Pick<Life, 'facing'> & { readonly storage: Storage } {
    const { boundaries, names, observer } = this
    const { adapter } = this.#options
    if (adapter === undefined) {
      const storage = boundaryStorage(this.storage, { boundaries, names, process, observer })
      return { storage, facing: storage }
    }
    const tools: AdapterTools = {
      disk: this.#disk,
      step: <T = void>(name: string, effect?: () => Awaitable<T>) =>
        // A step without an effect has no result.
        this.step(`adapter.${name}`, effect ?? (() => undefined as T), process),
    }
    const facing = adapter(boundaryStorage(this.storage, { boundaries, names, process }), tools)
    return { storage: observer.observe(facing, process), facing }
  }

  #clockOf(process: Process): Clock {
    return {
      now: () => this.timers.now,
      setTimer: (at, fire, about = { label: 'timer' }) =>
        process.isDead || isForgetting(about, this.#options.engine)
          ? () => undefined
          : this.timers.set(fire, { at, process, isEngines: true, ...about }),
      hold: (hold) => process.hold(hold),
    }
  }
}
