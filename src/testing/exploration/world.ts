import { AsyncResource } from 'node:async_hooks'
import { macrotaskTurn } from '../../clock/macrotask-turn.ts'
import { seededRandom } from '../../clock/seeded-random.ts'
import type { Clock } from '../../contract/clock.ts'
import {
  type Awaitable,
  STORAGE_CALLS,
  type Hint,
  type Storage,
  type StorageOperation,
} from '../../contract/storage.ts'
import { loadAll } from '../../core/all-loaded.ts'
import type { Engine } from '../../core/engine.ts'
import type { AnyTask } from '../../api/run.ts'
import { callingAttempt, createObservedEngine, inside } from '../../core/inside.ts'
import type { EngineOptions } from '../../api/engine-options.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { show } from '../../primitives/require.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { isForgetting } from '../fixture/kept-records.ts'
import { notingTimeout } from '../witness/given-timeouts.ts'
import { Boundaries } from './boundaries.ts'
import { boundaryStorage, callerName } from './boundary-storage.ts'
import { applicationProcess } from './current-process.ts'
import { FATES } from './fate.ts'
import { Names } from './names.ts'
import { invariants } from './invariants.ts'
import { KeptLease } from './kept-lease.ts'
import { Observer } from './observer.ts'
import { Process } from './process.ts'
import { networkError } from './network-error.ts'
import { ScheduleTimers } from './schedule-timers.ts'
import type { ScheduleRecord } from './schedule-record.ts'
import type { Setting } from './setting.ts'
import { spell } from './spell.ts'
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
  /** How storage calls may fail. With `lost`, hints may be lost too. */
  readonly faults?: readonly string[]
  readonly crashes?: 'never' | 'every-commit'
  /** How far the clocks of started engines may be wrong. */
  readonly clockSkewsMs?: readonly number[]
  /** What a schedule begins with; nothing if it is missing. Called once for each schedule. */
  readonly setting?: ((world: World) => Setting) | undefined
}

/** The options of an engine that a body starts. */
export type StartedEngineOptions = Omit<EngineOptions, 'storage' | 'clock'>

/** An engine and its process. */
export interface Life {
  readonly process: Process
  readonly engine: Engine
  /** Tells the engine from others: its attempts carry the same. */
  readonly kernel: object
  /** The storage as the engine sees it, unobserved. */
  readonly facing: Storage
  readonly lease: KeptLease
  /** When it looks at what hints have not told. */
  looksAt: number
}

/** What is known of an engine by name, whichever of its lives is the current one. */
interface Place {
  options: StartedEngineOptions
  readonly isMortal: boolean
  readonly clockSkewMs: number
  readonly restarts: ((engine: Engine) => void)[]
  life?: Life | undefined
  /** Until its hooks are done, after a crash. */
  restarting?: Promise<void> | undefined
}

const LEASE_MS = 30_000
/** Names that labels use for something else. */
const TAKEN_NAMES: readonly string[] = ['engine', 'elsewhere', 'body', 'time']

/** The state of one schedule: a storage, time, and the processes of its engines. */
export class World {
  readonly names: Names = new Names()
  readonly timers: ScheduleTimers = new ScheduleTimers(this.names)
  readonly boundaries: Boundaries = new Boundaries()
  readonly storage: Storage
  readonly observer: Observer
  readonly #options: WorldOptions
  readonly #record: ScheduleRecord
  readonly #setting: Setting | undefined
  /** Engines start outside of the code that has crashed. */
  readonly #outside = new AsyncResource('World')
  readonly #crashed: ((name: string) => Awaitable<readonly AnyTask[] | undefined>)[] = []
  readonly #disk = new Map<string, unknown>()
  readonly #places = new Map<string, Place>()
  /** All lives so far, dead ones included. */
  readonly #started: Life[] = []
  #violation: { readonly error: unknown } | undefined

  constructor(options: WorldOptions, record: ScheduleRecord) {
    loadAll()
    this.#options = options
    this.#record = record
    const watchers = invariants(this.names, (taskId) => this.#maxAttempts(taskId))
    const now = (): number => this.timers.now
    this.observer = new Observer(watchers, now, (error) => this.fail(error))
    this.#setting = options.setting?.(this)
    this.storage = this.#setting?.storage ?? memoryStorage()
    const { clockSkewMs = 0 } = this.#setting ?? {}
    this.#places.set('engine', { ...placeOf(options.engine), clockSkewMs })
    const elsewhere = placeOf({ ...options.engine, tasks: [] })
    this.#places.set('elsewhere', { ...elsewhere, isMortal: false, clockSkewMs })
  }

  /** The current engine of a name and its process, started on first use. */
  lifeOf(name: string): Life {
    const place = this.#placeOf(name)
    return (place.life ??= this.#start(name, place))
  }

  /**
   * Starts another engine on the storage, with the options of the exploration and its own ones.
   *
   * @throws TypeError for a name that cannot be used, and for options that cannot.
   */
  startEngine(name: string, options: StartedEngineOptions): void {
    requireName(name)
    if (this.#places.has(name) || TAKEN_NAMES.includes(name))
      throw new TypeError(`Cannot start an engine "${name}": there is one with this name, take another`)
    const place = { ...placeOf({ ...this.#options.engine, ...options }), clockSkewMs: this.#skewOf(name) }
    this.#places.set(name, place)
    this.lifeOf(name)
  }

  /** The live processes. */
  get processes(): readonly Process[] {
    return this.#lives.map(({ process }) => process)
  }

  /** Fails the schedule, unless it has failed before. */
  fail(error: unknown): void {
    this.#violation ??= { error }
  }

  /** The first violation so far. */
  get violation(): { readonly error: unknown } | undefined {
    return this.#violation
  }

  /** The process of the code that calls, and the label of its call. The body is in no process. */
  calling(what: string): { readonly process: Process | undefined; readonly label: string } {
    const { process } = this
    const caller = callingAttempt() === undefined ? (process?.name ?? 'body') : callerName(this.names)
    return { process, label: this.names.label(caller, this.names.readable(what)) }
  }

  /** The process of the code that calls; `undefined` for the body. */
  get process(): Process | undefined {
    const attempt = callingAttempt()
    return attempt === undefined ? applicationProcess() : this.processOf(attempt.kernel)
  }

  /** Whether the process dies of a call that takes effect at once. */
  fateAt(label: string, { isMortal, title }: Process): 'lives' | 'before' | 'after' {
    const options = ['lives', 'before', 'after'] as const
    const isSafe = !isMortal || this.#options.crashes !== 'every-commit'
    const fate = isSafe
      ? 'lives'
      : (options[this.#record.decide({ kind: 'crash', at: label, options })] ?? 'lives')
    this.#note(label, fate === 'lives' ? undefined : `${title} ${FATES[fate]}`)
    return fate
  }

  /** Tells in the story of something that happens at once. */
  #note(label: string, event: string | undefined): void {
    this.#record.note({ now: this.timers.now, label, ready: [label], event })
  }

  /** The response to a request reaches its caller, or is lost. */
  async response(what: string, response: Response): Promise<Response> {
    if (this.#options.faults?.includes('lost-response') !== true) return response
    const label = this.names.label('body', `response to ${what}`)
    const about = { label, process: undefined, isCommit: false, mayFail: 'response' } as const
    try {
      return await this.boundaries.call(about, () => response)
    } catch {
      throw networkError('the connection broke')
    }
  }

  /** The process an engine lives or lived in, by the kernel that its attempts carry. */
  processOf(kernel: object): Process | undefined {
    return this.#started.find((life) => life.kernel === kernel)?.process
  }

  /** Adds a listener for every engine of this name that is started after a crash. */
  onRestart(name: string, listener: (engine: Engine) => void): void {
    this.#placeOf(name).restarts.push(listener)
  }

  /** Adds a hook that is called before an engine is started anew. Tasks that it answers replace those of the engine. */
  onCrash(hook: (name: string) => Awaitable<readonly AnyTask[] | undefined>): void {
    this.#crashed.push(hook)
  }

  /** Kills the process of an engine, and starts another one on its storage. */
  crash(name = 'engine'): void {
    this.#outside.runInAsyncScope(() => this.#crash(name))
  }

  #crash(name: string): void {
    const place = this.#placeOf(name)
    const { process, lease } = this.lifeOf(name)
    process.die()
    this.boundaries.drop(process)
    this.timers.drop(process)
    if (this.#hasStartedEngines) this.#letGo(process, lease)
    place.life = undefined
    const restart = (): void => {
      place.restarting = undefined
      const { engine } = this.lifeOf(name)
      for (const restarted of place.restarts) restarted(engine)
    }
    const prepared = this.#prepare(name, place)
    if (!isPromise(prepared)) return restart()
    place.restarting = this.boundaries.load(prepared.then(restart))
    place.restarting.catch((error: unknown) => this.fail(error))
  }

  /** Resolves when the engine of a name is there again after a crash. */
  restarted(name: string): Promise<void> | undefined {
    return this.#placeOf(name).restarting
  }

  #prepare(name: string, place: Place): Awaitable<void> {
    return this.#crashed.reduce<Awaitable<void>>(
      (before, hook) =>
        chain(before, () =>
          chain(hook(name), (tasks) => {
            if (tasks !== undefined) place.options = { ...place.options, tasks }
          }),
        ),
      undefined,
    )
  }

  /** The process of an engine stands still: its calls are held and its timers do not fire, until the time is over. */
  pause(name: string, durationMs?: number): void {
    const { process, lease } = this.lifeOf(name)
    if (process.isPaused) return
    process.isPaused = true
    const pausedMs = durationMs ?? 2 * this.#leaseMsOf(name)
    const endsAt = this.timers.now + pausedMs
    this.#letGo(process, lease)
    this.timers.set(() => this.#goOn(process), { at: endsAt, label: `pause of ${name}` })
  }

  /** Whether the process of an engine stands still. */
  isPaused(name: string): boolean {
    return this.#placeOf(name).life?.process.isPaused === true
  }

  /** Processes that stand still go on. */
  resumeAll(): void {
    for (const { process } of this.#lives) if (process.isPaused) this.#goOn(process)
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

  /** The schedule is over, however it ended. */
  over(): void {
    this.#setting?.over()
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
    const [definition] = this.#started.flatMap(({ engine }) => inside(engine).tasks.get(taskId) ?? [])
    if (definition === undefined) return Infinity
    const { retry, options } = definition
    return options.catchError === undefined ? (retry.maxAttempts ?? Infinity) : Infinity
  }

  /** The live engines with their processes. */
  get #lives(): readonly Life[] {
    const lives: Life[] = []
    for (const { life } of this.#places.values()) if (life !== undefined) lives.push(life)
    return lives
  }

  /** Whether the body has started engines besides `engine` and `elsewhere`. */
  get #hasStartedEngines(): boolean {
    return this.#places.size > 2
  }

  #placeOf(name: string): Place {
    const place = this.#places.get(name)
    if (place === undefined) throw new TypeError(`Cannot find engine "${name}": it was not started`)
    return place
  }

  #leaseMsOf(name: string): number {
    return this.#placeOf(name).options.leaseMs ?? LEASE_MS
  }

  /** A process that is gone keeps its lease no longer. The others look when it has ended. */
  #letGo(process: Process, lease: KeptLease): void {
    const endsAt = lease.letGo(this.timers.now + process.clockSkewMs)
    const others = this.#lives.filter((life) => life.process !== process)
    if (endsAt === undefined || others.length === 0) return
    const at = endsAt - process.clockSkewMs
    for (const { process: other } of others) {
      const label = `lease of ${process.name}, seen by ${other.name}`
      const isOver = (): boolean => process.isDead || process.isPaused
      const look = (): void => (isOver() ? other.hear({ topic: 'any' }) : undefined)
      this.timers.set(look, { at, label, background: true, process: other })
    }
  }

  #goOn(process: Process): void {
    if (!process.isPaused) return
    process.isPaused = false
    this.#lookAt(process, this.timers.now)
  }

  /** As a renewal of its lease would, at this instant. */
  #lookAt(process: Process, at: number): void {
    const life = this.#started.find((one) => one.process === process)
    if (life === undefined || life.looksAt <= at) return
    life.looksAt = at
    const look = (): void => {
      life.looksAt = Infinity
      life.lease.fallBehind()
      process.hear({ topic: 'any' })
    }
    this.timers.set(look, { at, label: `lease of ${process.name}`, background: true, process })
  }

  #skewOf(name: string): number {
    const { clockSkewsMs = [] } = this.#options
    if (clockSkewsMs.length === 0) return 0
    const options = ['right', ...clockSkewsMs.map((ms) => `${ms < 0 ? '' : '+'}${ms}ms`)]
    const at = this.names.label(name, 'its clock')
    const index = this.#record.decide({ kind: 'fault', at, options })
    const skewMs = clockSkewsMs[index - 1]
    if (skewMs === undefined) return 0
    this.#note(at, `is ${spell(Math.abs(skewMs))} ${skewMs < 0 ? 'behind' : 'ahead'}`)
    return skewMs
  }

  /** Whether a hint reaches a process. One that is lost is made up for by the next renewal of its lease. */
  #arrives(hint: Hint, process: Process): boolean {
    const isFaulty = this.#options.faults?.includes('lost') === true && this.#hasStartedEngines
    if (!isFaulty || hint.topic === 'any') return true
    const at = this.names.label(process.name, `hint of ${hint.topic}`)
    if (this.#record.decide({ kind: 'fault', at, options: ['works', 'lost'] }) === 0) return true
    this.#note(at, 'is lost')
    this.#lookAt(process, this.#nextRenewal(process))
    return false
  }

  /** Something that no hint tells, such as a run that is due later, is found by the next renewal of each lease. */
  #stored(name: StorageOperation, by: Process): void {
    if (!this.#hasStartedEngines || STORAGE_CALLS[name].isDueUntold !== true) return
    for (const { process } of this.#lives)
      if (process !== by) this.#lookAt(process, this.#nextRenewal(process))
  }

  #nextRenewal({ name }: Process): number {
    return this.timers.now + this.#leaseMsOf(name) / 3
  }

  #start(name: string, place: Place): Life {
    const { options, isMortal, clockSkewMs } = place
    const process = new Process({ name, isMortal, clockSkewMs })
    const lease = new KeptLease(this.storage, {
      leaseMs: this.#leaseMsOf(name),
      isKept: () => this.#hasStartedEngines,
    })
    const { storage, facing } = this.#storageOf(process, lease.storage)
    const random = seededRandom(this.#started.length + 1)
    const ports = { clock: this.#clockOf(process), storage, random }
    const setting = this.#setting?.starting(process, () => engine)
    const engine = createObservedEngine(ports, options, { call: notingTimeout, ...setting })
    this.#setting?.started(engine, process)
    // An opening error reaches every call of the body.
    engine.ready().catch(() => undefined)
    process.isObserved = true
    const { kernel } = inside(engine)
    const life = { process, engine, kernel, facing, lease, looksAt: Infinity }
    this.#started.push(life)
    return life
  }

  #storageOf(process: Process, below: Storage): Pick<Life, 'facing'> & { readonly storage: Storage } {
    const { boundaries, names, observer } = this
    const { adapter } = this.#options
    const arrives = (hint: Hint): boolean => this.#arrives(hint, process)
    const stored = (name: StorageOperation): void => this.#stored(name, process)
    if (adapter === undefined) {
      const storage = boundaryStorage(below, { boundaries, names, process, observer, arrives, stored })
      return { storage, facing: storage }
    }
    const tools: AdapterTools = {
      disk: this.#disk,
      step: <T = void>(name: string, effect?: () => Awaitable<T>) =>
        // A step without an effect has no result.
        this.step(`adapter.${name}`, effect ?? (() => undefined as T), process),
    }
    const facing = adapter(boundaryStorage(below, { boundaries, names, process, arrives, stored }), tools)
    return { storage: observer.observe(facing, process), facing }
  }

  #clockOf(process: Process): Clock {
    return {
      now: () => this.timers.now + process.clockSkewMs,
      setTimer: (at, fire, about = { label: 'timer' }) =>
        process.isDead || isForgetting(about, this.#options.engine)
          ? () => undefined
          : this.timers.set(fire, { at: at - process.clockSkewMs, process, isEngines: true, ...about }),
      hold: (hold) => process.hold(hold),
    }
  }
}

function placeOf(options: StartedEngineOptions): Place {
  return { options, isMortal: true, clockSkewMs: 0, restarts: [] }
}

function requireName(name: unknown): void {
  if (typeof name === 'string' && /^[\w-]+$/.test(name)) return
  throw new TypeError(
    `Cannot start an engine ${show(name)}: its name must be made of letters, digits, "-" and "_"`,
  )
}
