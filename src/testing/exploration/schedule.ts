import { PATTERNS } from '../../questions/json-schema.ts'
import { inNextTurn, macrotaskTurn } from '../../clock/macrotask-turn.ts'
import { losePatience } from '../../clock/patience.ts'
import type { AnyTask } from '../../api/run.ts'
import type { Awaitable } from '../../contract/storage.ts'
import { chain, isPromise } from '../../primitives/awaitable.ts'
import { createDeferred } from '../../primitives/deferred.ts'
import { StandIns } from '../fixture/stand-ins.ts'
import { type ExplorationTools, bodyTools } from './body-tools.ts'
import type { Boundary } from './boundaries.ts'
import { type Fate, FATES } from './fate.ts'
import type { Names } from './names.ts'
import type { ObservedWait } from './observer.ts'
import type { Process } from './process.ts'
import { QuestionDesk } from './question-desk.ts'
import { FIRST_INSTANT, type ScheduledTimer } from './schedule-timers.ts'
import { ScheduleRecord, type Step } from './schedule-record.ts'
import { paces, SlowCall } from './slow-call.ts'
import { catchStray } from './stray-rejections.ts'
import type { Choose, Decision } from './trace.ts'
import { InvariantViolation } from './violation.ts'
import { whoWaits } from './who-waits.ts'
import { World, type WorldOptions } from './world.ts'

/** The explored code: it uses the engine, and throws when it finds a fault. */
export type Body = (t: ExplorationTools) => Promise<unknown>

export type Fault = 'error' | 'lost' | 'late' | 'lost-response'

export interface ScheduleOptions extends WorldOptions {
  readonly tasks: readonly AnyTask[]
  readonly crashes: 'never' | 'every-commit'
  readonly pauses: 'never' | 'every-commit'
  readonly faults: readonly Fault[]
  readonly maxSteps: number
}

type Candidate = Boundary | ScheduledTimer

/** The result of a schedule. */
export interface ScheduleReport {
  readonly decisions: readonly Decision[]
  readonly steps: readonly Step[]
  /** In virtual milliseconds. */
  readonly durationMs: number
  readonly outcomes: readonly ObservedWait[]
  /** Names of the ids in the steps. */
  readonly names: Names
  readonly failure?: { readonly error: unknown }
}

/** Conditions that must be true in at least one schedule, by name. */
export type Sometimes = Map<string, boolean>

const REST_MS = 20
const IO_GRACE_MS = 1_000
/** After this many upkeep timers in a row without a change, nothing will change any more. */
const IDLE_UPKEEP = 24

/** Runs a body once, with its own engine, storage and clock, and a decider for every choice. */
export class Schedule {
  readonly #options: ScheduleOptions
  readonly #world: World
  readonly #slow = new SlowCall()
  readonly #desk: QuestionDesk
  readonly #record: ScheduleRecord
  readonly #standIns: StandIns
  #body: { readonly state: 'runs' | 'returned' } | { readonly state: 'threw'; readonly error: unknown } = {
    state: 'runs',
  }
  #upkeep = 0

  constructor(options: ScheduleOptions, choose: Choose, isDetailed = false) {
    this.#record = new ScheduleRecord(choose, isDetailed)
    this.#options = options
    this.#standIns = new StandIns(options.tasks)
    const { tasks } = this.#standIns
    this.#world = new World({ ...options, engine: { ...options.engine, tasks } }, this.#record)
    this.#desk = new QuestionDesk(this.#world)
  }

  /** @param sometimes Collects conditions that must be true in at least one schedule. */
  run(body: Body, sometimes: Sometimes = new Map()): Promise<ScheduleReport> {
    const stray = (reason: unknown): void => {
      // A dead process cannot leave anything unhandled.
      if (this.#world.process?.isDead !== true) this.#world.fail(strayRejection(reason))
    }
    return catchStray(stray, () => this.#run(body, sometimes))
  }

  async #run(body: Body, sometimes: Sometimes): Promise<ScheduleReport> {
    // Else the first schedule would wait for a disk, and the next one not.
    await PATTERNS.use(() => undefined)
    this.#start(body, sometimes)
    let failure: ScheduleReport['failure']
    try {
      await this.#steps()
      if (this.#body.state === 'threw') throw this.#body.error
      await this.#end()
    } catch (error) {
      failure = { error }
    } finally {
      this.#world.over()
    }
    const durationMs = this.#world.timers.now - FIRST_INSTANT
    const { outcomes } = this.#world.observer
    const { decisions, steps } = this.#record
    const { names } = this.#world
    const report = { decisions, steps, durationMs, outcomes, names }
    return failure === undefined ? report : { ...report, failure }
  }

  #start(body: Body, sometimes: Sometimes): void {
    const { crashes, faults } = this.#options
    const tools = bodyTools({
      world: this.#world,
      desk: this.#desk,
      standIns: this.#standIns,
      mayRepeat: crashes !== 'never' || faults.some((fault) => fault === 'error' || fault === 'lost'),
      sometimes: (name, condition) => sometimes.set(name, condition || (sometimes.get(name) ?? false)),
    })
    startBody(body, tools).then(
      () => (this.#body = { state: 'returned' }),
      (error: unknown) => (this.#body = { state: 'threw', error }),
    )
  }

  /** Takes one step in each turn of the event loop, until nothing is left to do. */
  #steps(): Promise<void> {
    const { promise, resolve, reject } = createDeferred<void>()
    const next = (): void => inNextTurn(turn)
    const turn = (): void => {
      try {
        if (!this.#goesOn()) return resolve()
        // Most steps are synchronous. Promises for each, and for its turn, would take a fifth of a schedule's time.
        const step = this.#goOn()
        if (isPromise(step)) step.then(next, reject)
        else next()
      } catch (error) {
        reject(error)
      }
    }
    next()
    return promise
  }

  /** All code is at rest. Returns whether anything is left to do. */
  #goesOn(): boolean {
    const { boundaries, timers, violation } = this.#world
    if (violation !== undefined) throw violation.error
    if (this.#body.state === 'threw') return false
    if (this.#body.state === 'runs' || boundaries.underWay > 0 || boundaries.loading !== undefined)
      return true
    this.#world.resumeAll()
    return boundaries.pending.length > 0 || timers.due().length > 0
  }

  #goOn(): Awaitable<void> {
    const { boundaries } = this.#world
    if (boundaries.loading !== undefined) return boundaries.loading
    if (boundaries.underWay > 0) return this.#waitFor(() => boundaries.underWay > 0)
    const ready = [...boundaries.ready, ...this.#world.timers.due()]
    return this.#desk.isEmpty ? this.#step(ready) : this.#serve(ready)
  }

  #serve(ready: readonly Candidate[]): Awaitable<void> {
    return chain(this.#desk.serve(ready.length > 0 ? 'busy' : 'at rest'), (isServed) =>
      isServed ? undefined : this.#step(ready),
    )
  }

  #step(ready: readonly Candidate[]): Awaitable<void> {
    const isLive = this.#body.state === 'runs'
    if (ready.length === 0 && isLive && this.#isAway()) return this.#waitForRuns()
    const upcoming = isLive ? this.#upcoming(ready.length > 0) : []
    if (this.#slow.isHeld && ready.length === 1 && this.#isAwayBeside(ready[0]?.label)) this.#slow.letGo()
    return this.#pick(this.#slow.candidates(ready, upcoming), upcoming)
  }

  /** Time may pass while calls are pending, up to the next foreground timer. */
  #upcoming(isBusy: boolean): readonly ScheduledTimer[] {
    const { timers } = this.#world
    return isBusy ? timers.upcomingForeground() : timers.upcoming()
  }

  #pick(candidates: readonly Candidate[], upcoming: readonly Candidate[]): Awaitable<void> {
    const first = candidates[0]
    if (first === undefined || this.#isIdle(candidates)) return this.#idle()
    if (this.#record.steps.length >= this.#options.maxSteps) {
      const message = `it has not ended after ${this.#options.maxSteps} boundaries; the last one was "${first.label}"`
      throw new InvariantViolation('the body comes to an end', message)
    }
    const options = candidates.map(({ label }) => label)
    const index = options.length > 1 ? this.#record.decide({ kind: 'next', at: first.label, options }) : 0
    const picked = candidates[index] ?? first
    if (!('pass' in picked)) this.#fire(picked, options)
    else if (index > 0 || !this.#isSlow(picked, candidates.length - upcoming.length, upcoming.length))
      this.#pass(picked, options)
    return undefined
  }

  /** Whether the next call is slow: held while others are ready, or over timers that are ahead. */
  #isSlow(boundary: Boundary, ready: number, ahead: number): boolean {
    if (this.#slow.isHeld || ready + ahead === 1) return false
    const options = paces({ isBesideOthers: ready > 1, isBeforeTimers: ahead > 0 })
    const slowness = options[this.#record.decide({ kind: 'slow', at: boundary.label, options })]
    if (slowness === undefined || slowness === 'on time') return false
    this.#slow.hold(boundary, slowness)
    return true
  }

  #fire(timer: ScheduledTimer, ready: readonly string[]): void {
    if (!timer.background && timer.at > this.#world.timers.now) this.#slow.timeMoved()
    this.#upkeep = timer.background && timer.at > this.#world.timers.now ? this.#upkeep + 1 : this.#upkeep
    if (!timer.background) this.#upkeep = 0
    this.#world.timers.fire(timer)
    this.#note({ label: timer.label, ready, isEngines: timer.isEngines })
  }

  #pass(boundary: Boundary, ready: readonly string[]): void {
    const { label, process } = boundary
    const faults = this.#faultsOf(boundary)
    const { boundaries } = this.#world
    const fate = boundary.isCommit && process !== undefined ? this.#fateOf(process, label) : 'lives'
    if (fate !== 'lives' && process !== undefined) return this.#interrupt(boundary, fate, { process, ready })
    let fault: Fault | undefined
    if (faults.length > 0) {
      fault = faults[this.#record.decide({ kind: 'fault', at: label, options: ['works', ...faults] }) - 1]
    }
    boundaries.take(boundary)
    const event = fault === undefined ? undefined : FAULTS[fault]
    this.#note({ label, ready, event, call: boundary.call })
    boundary.pass(fault ?? 'whole')
  }

  #faultsOf({ mayFail }: Boundary): readonly Fault[] {
    const { faults } = this.#options
    if (mayFail === false || faults.length === 0) return NO_FAULTS
    return faults.filter((fault) => (fault === 'lost-response') === (mayFail === 'response'))
  }

  /** What happens to the process that makes a call. */
  #fateOf({ isMortal }: Process, label: string): Fate {
    const { crashes, pauses } = this.#options
    if (!isMortal || (crashes === 'never' && pauses === 'never')) return 'lives'
    const options: readonly Fate[] = [
      'lives',
      ...(crashes === 'never' ? [] : (['before', 'after'] as const)),
      ...(pauses === 'never' ? [] : (['pause'] as const)),
    ]
    return options[this.#record.decide({ kind: 'crash', at: label, options })] ?? 'lives'
  }

  /** The process dies of a call, or stands still before it. */
  #interrupt(
    boundary: Boundary,
    fate: Exclude<Fate, 'lives'>,
    { process, ready }: { readonly process: Process; readonly ready: readonly string[] },
  ): void {
    const { label, call } = boundary
    const event = `${process.title} ${FATES[fate]}`
    if (fate === 'pause') {
      this.#world.boundaries.delay(boundary)
      this.#note({ label, ready, event, call })
      return this.#world.pause(process.name)
    }
    this.#world.boundaries.take(boundary)
    if (fate === 'after') boundary.pass('unanswered')
    this.#note({ label, ready, event, call })
    this.#world.crash(process.name)
    // The next process has a lease to wait for.
    this.#upkeep = 0
  }

  #note(step: Omit<Step, 'now' | 'asked' | 'isHeard'>): void {
    const isHeard = this.#options.adapter !== undefined
    this.#record.note({ now: this.#world.timers.now, isHeard, ...step })
  }

  #isIdle(candidates: readonly Candidate[]): boolean {
    return this.#upkeep > IDLE_UPKEEP && candidates.every((one) => 'background' in one && one.background)
  }

  #isAway(): boolean {
    return this.#world.processes.some(({ away }) => away.length > 0)
  }

  /** Whether a run that does not make this call is busy with real I/O, during which no time is to pass. */
  #isAwayBeside(label = ''): boolean {
    const { names, processes } = this.#world
    const makesIt = (id: string): boolean => label.startsWith(`${names.of(id) ?? id}/`)
    return processes.some(({ away }) => !away.every(makesIt))
  }

  #waitForRuns(): Promise<void> {
    const { boundaries, timers } = this.#world
    const isAway = (): boolean => this.#isAway() && boundaries.ready.length === 0 && timers.due().length === 0
    return this.#waitFor(isAway)
  }

  /** Waits in real time while activities outside of the schedule go on. */
  async #waitFor(isBusy: () => boolean, graceMs: number = IO_GRACE_MS): Promise<void> {
    if (await hasPassed(graceMs, isBusy)) throw this.#stillBusy()
  }

  #stillBusy(): InvariantViolation {
    const { processes, names } = this.#world
    const away = processes.flatMap((process) => process.away)
    const who =
      away.map((id) => (names.of(id) === undefined ? `"${id}"` : `run "${names.of(id) ?? ''}"`)).join(', ') ||
      'the promise given to `t.external`'
    const message = `${who} is busy outside of the engine and \`t.clock\`, and does not return`
    return new InvariantViolation('the body comes to an end', message)
  }

  async #idle(): Promise<void> {
    this.#upkeep = 0
    if (!this.#desk.isEmpty && (await this.#desk.serve('too late'))) return
    await this.#stuck()
  }

  /** Nothing can happen any more and the body still waits: an error, unless it waits for undeclared real I/O. */
  async #stuck(): Promise<void> {
    const { boundaries, timers } = this.#world
    const isAtRest = (): boolean =>
      this.#body.state === 'runs' && boundaries.ready.length === 0 && !timers.hasForeground
    await macrotaskTurn()
    if (!(await hasPassed(REST_MS, isAtRest))) return
    await this.#world.ended()
    const waiting = await whoWaits(this.#world)
    throw new InvariantViolation('the body comes to an end', `nothing can happen any more, and ${waiting}`)
  }

  async #end(): Promise<void> {
    if (this.#world.processes.length > 0) {
      await this.#world.ended()
      await this.#world.close()
    }
    const { violation } = this.#world
    if (violation !== undefined) throw violation.error
  }
}

function strayRejection(reason: unknown): InvariantViolation {
  const message = `a promise was rejected that no code handles: ${reason instanceof Error ? reason.message : String(reason)}`
  return new InvariantViolation('no rejection is left unhandled', message, { cause: reason })
}

/** Whether a condition held for a number of real milliseconds in which the event loop turned. */
async function hasPassed(ms: number, isSo: () => boolean): Promise<boolean> {
  const patience = new AbortController()
  const keepPatience = losePatience(ms, () => patience.abort())
  try {
    while (isSo()) {
      if (patience.signal.aborted) return true
      await macrotaskTurn()
    }
    return false
  } finally {
    keepPatience()
  }
}

/** Turns a synchronous error of a body into a rejection. */
async function startBody(body: Body, tools: ExplorationTools): Promise<unknown> {
  return body(tools)
}

const NO_FAULTS: readonly Fault[] = []

const FAULTS: Readonly<Record<Fault, string>> = {
  error: 'fails without any effect',
  lost: 'takes effect and fails',
  late: 'takes effect, its answer comes later',
  'lost-response': 'is lost on the way',
}
