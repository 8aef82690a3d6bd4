import { requireSeed } from '../clock/seeded-random.ts'
import { watchStalls } from '../clock/stall-watch.ts'
import { systemClock } from '../clock/system.ts'
import {
  type OptionNames,
  requireMethods,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import { requireOneOf } from '../primitives/require-one-of.ts'
import { Budget } from './exploration/budget.ts'
import { Coverage, type WaitCoverage } from './exploration/coverage.ts'
import { type Decider, following, replay as replayOf } from './exploration/decider.ts'
import { divergence } from './exploration/determinism.ts'
import { enumerate } from './exploration/enumerate.ts'
import { ExplorationError, type FailedSchedule } from './exploration/error.ts'
import { keptPage } from './exploration/kept-page.ts'
import { type OrderCoverage, Orders, ordersText } from './exploration/orders.ts'
import { missed } from './exploration/missed.ts'
import { Names } from './exploration/names.ts'
import { PassedSchedules } from './exploration/passed-schedules.ts'
import { Progress } from './exploration/progress.ts'
import { pct, random } from './exploration/random-decider.ts'
import {
  type Body,
  Schedule,
  type ScheduleOptions,
  type ScheduleReport,
  type Sometimes,
} from './exploration/schedule.ts'
import { BODY_OPTION_NAMES, type BodyOptions, scheduleOptions } from './exploration/schedule-options.ts'
import { parseShard, type Shard } from './exploration/shard.ts'
import { shrinkSchedule } from './exploration/shrink.ts'
import { type StoryKind, storyKind } from './exploration/story.ts'
import { hearStray } from './exploration/stray-rejections.ts'
import { type Choose, parseTrace, type Trace, traceOf } from './exploration/trace.ts'
import { InvariantViolation } from './exploration/violation.ts'

export interface ExploreOptions extends BodyOptions {
  /**
   * Departures from FIFO in one schedule, at most.
   *
   * @unit departures
   * @default `2`
   */
  readonly maxDeviations?: number
  /**
   * Where to stop although there are schedules left. Shrinking a failure takes what is left of it, and a quarter at least.
   *
   * @default 100,000 runs (1,000 at random), 30 s of real time
   */
  readonly budget?: { readonly runs?: number; readonly ms?: number }
  /**
   * The choice of the next step. `enumerate` is every schedule with at most `maxDeviations` departures from FIFO.
   *
   * @default `'enumerate'`
   */
  readonly decider?: 'enumerate' | 'random' | 'pct' | Decider
  /**
   * The seed of `random` and `pct`. `WAITPOINT_SEED` goes before it.
   *
   * @default `1`
   */
  readonly seed?: number | string
  /**
   * One line that a failure printed: only that schedule is run. The exploration fails if the code has changed so much that
   * there is no such schedule any more. `WAITPOINT_REPLAY` goes before it.
   *
   * @default none
   */
  readonly replay?: string
}

export interface ExploreReport {
  /** The number of executed schedules. */
  readonly runs: number
  /**
   * Whether every schedule with at most `maxDeviations` deviations has run, or another one that no code can tell from it,
   * without a cut by the budget and without randomness; of a part of them, `WAITPOINT_SHARD`, every one of that part.
   */
  readonly complete: boolean
  /** The largest number of deviations from FIFO in a schedule. */
  readonly deepest: number
  /**
   * For each wait, the number of schedules in which it was completed, timed out, or never answered. Waits that were
   * never reached are missing.
   */
  readonly waits: WaitCoverage
  /** For each condition that `t.sometimes` was given, the number of schedules in which it was true. */
  readonly sometimes: Readonly<Record<string, number>>
  /** Which steps went first of two that were both ready, and what order was never seen. */
  readonly orders: OrderCoverage
}

const BUDGET_NAMES: OptionNames<NonNullable<ExploreOptions['budget']>> = { runs: true, ms: true }
const NAMES: OptionNames<ExploreOptions> = {
  maxDeviations: true,
  budget: true,
  decider: true,
  seed: true,
  replay: true,
  ...BODY_OPTION_NAMES,
}
const DECIDERS: readonly string[] = [
  'enumerate',
  'random',
  'pct',
] satisfies readonly ExploreOptions['decider'][]

/** These schedules run twice, to check that they are deterministic. */
const RUN_TWICE: ReadonlySet<number> = new Set([1, 8, 64, 512])
const RANDOM_RUNS = 1_000
const MOST_RUNS = 100_000
const MOST_MS = 30_000

/**
 * Runs a body in every schedule with a bounded number of deviations from FIFO: every order of storage calls and timers,
 * time that passes while a call is pending, and on request every crash and every fault. It checks invariants in each
 * schedule. A failure is shrunk and described as a story, with one line that replays it. See docs/exploring.md.
 *
 * Every schedule has its own engine, memory storage and clock, so a body must create its state inside.
 *
 * @throws ExplorationError `ERR_EXPLORATION_FAILED`; TypeError or RangeError for options that cannot be used.
 *
 * @example
 * ```ts
 * const { runs, complete } = await explore(
 *   async (t) => {
 *     const run = await t.engine.trigger(review, { doc: 'd1' })
 *     await t.complete({ tag: 'review' }, { approved: true })
 *     expect(await run.outcome()).toMatchObject({ ok: true })
 *   },
 *   { tasks: [review], crashes: 'every-commit' },
 * )
 * ```
 */
export async function explore(body: Body, options: ExploreOptions = {}): Promise<ExploreReport> {
  return new Exploration(body, options).run()
}

/** An exploration whose schedules begin with a setting. */
export async function exploreIn(
  setting: ScheduleOptions['setting'],
  body: Body,
  options: ExploreOptions,
): Promise<ExploreReport> {
  return new Exploration(body, options, setting).run()
}

class Exploration {
  readonly #body: Body
  readonly #options: ScheduleOptions
  readonly #decider: Decider
  readonly #isReplay: boolean
  readonly #budget: { readonly runs: number; readonly ms: number }
  readonly #clock = systemClock()
  /** The number of schedules in which each condition was true. */
  readonly #sometimes = new Map<string, number>()
  readonly #coverage = new Coverage()
  readonly #orders = new Orders()
  readonly #passed = new PassedSchedules()
  readonly #story: StoryKind
  readonly #shard: Shard
  #runs = 0
  #deepest = 0

  constructor(body: Body, options: ExploreOptions, setting?: ScheduleOptions['setting']) {
    requireBody(body)
    requireOptions(options, 'the options of explore', NAMES)
    requireSearch(options)
    const { decider, budget, replay, seed, maxDeviations, ...others } = options
    const replayed = process.env['WAITPOINT_REPLAY'] ?? replay
    this.#body = body
    this.#options = { ...scheduleOptions(others), setting }
    this.#isReplay = replayed !== undefined
    this.#story = storyKind(this.#options.adapter !== undefined)
    this.#shard = parseShard(process.env['WAITPOINT_SHARD'])
    const search = { decider, seed, maxDeviations, shard: this.#shard }
    this.#decider = replayed === undefined ? deciderOf(search) : replayOf(parseTrace(replayed))
    const runs = this.#decider.isExhaustive ? MOST_RUNS : RANDOM_RUNS
    this.#budget = { runs: budget?.runs ?? runs, ms: budget?.ms ?? MOST_MS }
  }

  async run(): Promise<ExploreReport> {
    watchStalls()
    const progress = new Progress({ clock: this.#clock, budget: this.#budget })
    const budget = new Budget({ clock: this.#clock, ...this.#budget })
    const release = hearStray()
    try {
      const isCut = await this.#runAll(budget, (runs, deepest) => progress.ran(runs, deepest))
      const complete = this.#decider.isExhaustive && !isCut && !this.#isReplay
      // What happens in no schedule of one part may happen in another.
      if (!this.#isReplay && this.#shard.count === 1) await this.#checkSometimes()
      return {
        runs: this.#runs,
        complete,
        deepest: this.#deepest,
        waits: this.#coverage.waits,
        sometimes: Object.fromEntries(this.#sometimes),
        orders: this.#orders.coverage,
      }
    } finally {
      progress.end()
      release()
    }
  }

  /** Runs the schedules. Returns whether the budget ended the exploration. */
  async #runAll(budget: Budget, ran: (runs: number, deepest: number) => void): Promise<boolean> {
    for (;;) {
      const { isSpent } = budget
      const choose = this.#decider.begin()
      if (choose === undefined) return false
      if (isSpent) return true
      budget.spend()
      this.#runs += 1
      const isDetailed = RUN_TWICE.has(this.#runs)
      const schedule = new Schedule(this.#options, choose, isDetailed)
      const sometimes: Sometimes = new Map()
      const report = await schedule.run(this.#body, sometimes)
      if (report.failure !== undefined) throw await this.#failed(report, budget.rest())
      const departed = missed(this.#decider.trace ?? [], report)
      if (departed !== undefined) throw await this.#missed(departed, report)
      const trace = traceOf(report)
      this.#passed.add(trace)
      if (isDetailed) await this.#runAgain(report)
      this.#decider.end?.(report.decisions, report.steps)
      this.#coverage.add(report.outcomes)
      this.#orders.add(report)
      for (const [name, wasTrue] of sometimes)
        this.#sometimes.set(name, (this.#sometimes.get(name) ?? 0) + Number(wasTrue))
      this.#deepest = Math.max(this.#deepest, this.#decider.depth ?? trace.length)
      ran(this.#runs, this.#deepest)
    }
  }

  async #failed(report: ScheduleReport, budget: Budget): Promise<ExplorationError> {
    const asItIs = { trace: traceOf(report), report }
    const shrunk = this.#isReplay
      ? asItIs
      : await shrinkSchedule(report, (choose) => this.#rerun(choose), budget)
    return this.#error({
      ...shrunk,
      deviationsBefore: traceOf(report).length,
      seed: this.#decider.seed,
      hasPassed: this.#passed.has(shrunk.trace) || (await this.#passesAgain(shrunk.trace, budget)),
    })
  }

  /** Code whose state outlives a schedule may fail only once. */
  async #passesAgain(trace: Trace, budget: Budget): Promise<boolean> {
    if (this.#isReplay || budget.isSpent) return false
    budget.spend()
    const { failure } = await this.#rerun(following(trace))
    return failure === undefined
  }

  async #error(failed: Omit<FailedSchedule, 'run' | 'story' | 'page'>): Promise<ExplorationError> {
    const whole = { ...failed, run: this.#runs, story: this.#story }
    return new ExplorationError({ ...whole, page: await keptPage(whole) })
  }

  /** A replay that goes another way than it says would pass for ever, and test nothing. */
  #missed(error: Error, report: ScheduleReport): Promise<ExplorationError> {
    const { trace = [] } = this.#decider
    const failed = { trace, report: { ...report, failure: { error } } }
    return this.#error({ ...failed, deviationsBefore: trace.length })
  }

  #rerun(choose: Choose, isDetailed = false): Promise<ScheduleReport> {
    return new Schedule(this.#options, choose, isDetailed).run(this.#body)
  }

  async #runAgain(report: ScheduleReport): Promise<void> {
    // Code that reads the real clock must see a different time in the second execution.
    for (const until = this.#clock.now() + 1; this.#clock.now() < until;);
    const trace = traceOf(report)
    const again = await this.#rerun(following(trace), true)
    const error = again.failure?.error ?? divergence(report, again)
    if (error === undefined) return
    const failed = { trace, report: { ...again, failure: { error } } }
    const { seed } = this.#decider
    const hasPassed = again.failure !== undefined
    throw await this.#error({ ...failed, deviationsBefore: trace.length, seed, hasPassed })
  }

  async #checkSometimes(): Promise<void> {
    for (const [name, schedules] of this.#sometimes) {
      if (schedules > 0) continue
      const { coverage } = this.#orders
      const message = `"${name}" was true in none of ${this.#runs} schedules: the body never gets there, or it needs more deviations. ${ordersText(coverage)}`
      const error = new InvariantViolation('what was to happen sometimes happens', message)
      const names = new Names()
      const report = { decisions: [], steps: [], durationMs: 0, outcomes: [], names, failure: { error } }
      throw await this.#error({ trace: [], report, deviationsBefore: 0 })
    }
  }
}

function requireBody(body: unknown): void {
  if (typeof body !== 'function')
    throw new TypeError(`Cannot explore ${show(body)}: the body must be a function`)
}

/** Checks the options that are not those of a body. */
function requireSearch({ decider, budget = {}, replay, seed, maxDeviations = 0 }: ExploreOptions): void {
  if (typeof decider === 'object') requireMethods(decider, 'decider', ['begin'])
  else if (decider !== undefined) requireOneOf(decider, 'decider', DECIDERS)
  requireWhole(maxDeviations, 'maxDeviations', { from: 0 })
  if (seed !== undefined) requireSeed(seed)
  if (replay !== undefined && typeof replay !== 'string')
    throw new TypeError(`Cannot use replay ${show(replay)}: it must be the line that a failure printed`)
  requireOptions(budget, 'budget', BUDGET_NAMES)
  const { runs, ms } = budget
  if (runs !== undefined && runs !== Infinity) requireWhole(runs, 'budget.runs', { from: 1 })
  if (ms !== undefined && !(typeof ms === 'number' && ms > 0))
    throw new RangeError(`Cannot use budget.ms ${show(ms)}: it must be a number of milliseconds above 0`)
}

function deciderOf({
  decider = 'enumerate',
  seed = 1,
  maxDeviations = 2,
  shard,
}: {
  readonly decider: ExploreOptions['decider']
  readonly seed: ExploreOptions['seed']
  readonly maxDeviations: ExploreOptions['maxDeviations']
  readonly shard: Shard
}): Decider {
  if (typeof decider !== 'string') return decider
  if (decider === 'enumerate') return enumerate(maxDeviations, shard)
  const fixed = process.env['WAITPOINT_SEED'] ?? seed
  return decider === 'random' ? random(fixed, shard) : pct(fixed, maxDeviations + 1, shard)
}
