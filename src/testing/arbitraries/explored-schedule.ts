import { following } from '../exploration/decider.ts'
import { ExplorationError } from '../exploration/error.ts'
import { type Body, Schedule } from '../exploration/schedule.ts'
import { BODY_OPTION_NAMES, type BodyOptions, scheduleOptions } from '../exploration/schedule-options.ts'
import { requireOptions } from '../../primitives/require.ts'
import { storyKind } from '../exploration/story.ts'
import { type Choose, formatTrace, parseTrace, type Trace, traceOf } from '../exploration/trace.ts'

/** One schedule of a property. It runs a body, and afterwards knows its deviations from FIFO. */
export class ExploredSchedule {
  readonly #choose: () => Choose
  #trace: Trace | undefined

  /** @param plan The deviations, or a source of new ones. */
  constructor(plan: Trace | (() => Choose)) {
    this.#choose = typeof plan === 'function' ? plan : () => following(plan)
    this.#trace = typeof plan === 'function' ? undefined : plan
  }

  /** The deviations from FIFO. Unknown before the schedule has run, except for a shrunk schedule. */
  get trace(): Trace | undefined {
    return this.#trace
  }

  /**
   * Runs a body in this schedule and checks every invariant. If `WAITPOINT_REPLAY` is set, that schedule runs instead.
   * The options are those of a body in `explore`. See docs/exploring.md.
   *
   * @throws TypeError or RangeError for options that cannot be used.
   * @throws ExplorationError with the story of the schedule, and the line that replays it.
   */
  async run(body: Body, options: BodyOptions = {}): Promise<void> {
    requireOptions(options, 'the options of schedule.run', BODY_OPTION_NAMES)
    const replay = process.env['WAITPOINT_REPLAY']
    const choose = replay === undefined ? this.#choose() : following(parseTrace(replay))
    const schedule = new Schedule(scheduleOptions(options), choose)
    const report = await schedule.run(body)
    const trace = traceOf(report)
    this.#trace = trace
    if (report.failure === undefined) return
    const story = storyKind(options.adapter !== undefined)
    throw new ExplorationError({ trace, report, run: 1, deviationsBefore: trace.length, story })
  }

  /** The schedule as one line, for the option `replay` of `explore`. */
  get replay(): string {
    return formatTrace(this.#trace ?? [])
  }

  toString(): string {
    return this.#trace === undefined ? 'a schedule that has not run' : `schedule '${this.replay}'`
  }
}
