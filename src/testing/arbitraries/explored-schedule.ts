import { following } from '../exploration/decider.ts'
import { ExplorationError } from '../exploration/error.ts'
import { type Body, Schedule } from '../exploration/schedule.ts'
import { type BodyOptions, scheduleOptions } from '../exploration/schedule-options.ts'
import { traceOf } from '../exploration/shrink.ts'
import { type Choose, formatTrace, parseTrace, type Trace } from '../exploration/trace.ts'

/** One schedule of a property: runs a body, and knows afterwards where it departed from FIFO. */
export class ExploredSchedule {
  readonly #choose: () => Choose
  #trace: Trace | undefined

  /** @param plan The deviations, or who makes them up. */
  constructor(plan: Trace | (() => Choose)) {
    this.#choose = typeof plan === 'function' ? plan : () => following(plan)
    this.#trace = typeof plan === 'function' ? undefined : plan
  }

  /** The departures from FIFO: unknown before the schedule was run, unless it is one that others were shrunk to. */
  get trace(): Trace | undefined {
    return this.#trace
  }

  /**
   * Runs a body in this schedule, with every invariant watched; in the one of `WAITPOINT_REPLAY` if that is set. Options
   * as for `explore`.
   *
   * @throws ExplorationError with the story of the schedule, and the line that replays it.
   */
  async run(body: Body, options: BodyOptions = {}): Promise<void> {
    const replay = process.env['WAITPOINT_REPLAY']
    const choose = replay === undefined ? this.#choose() : following(parseTrace(replay))
    const schedule = new Schedule(scheduleOptions(options), choose)
    const report = await schedule.run(body)
    const trace = traceOf(report)
    this.#trace = trace
    if (report.failure === undefined) return
    throw new ExplorationError({ trace, report, run: 1, deviationsBefore: trace.length })
  }

  /** One line for the option `replay` of `explore`. */
  get replay(): string {
    return formatTrace(this.#trace ?? [])
  }

  toString(): string {
    return this.#trace === undefined ? 'a schedule that was not run' : `schedule '${this.replay}'`
  }
}
