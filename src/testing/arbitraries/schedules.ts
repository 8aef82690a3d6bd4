import { Arbitrary, type Random, Stream, Value } from 'fast-check'
import { random } from '../exploration/random-decider.ts'
import type { ChoiceKind, Choose, Trace } from '../exploration/trace.ts'
import { ExploredSchedule } from './explored-schedule.ts'

export interface SchedulesOptions {
  /**
   * The kinds of choices that are left to chance; the rest is FIFO. No call is `slow`, as choices of the next step hold
   * calls, too.
   *
   * @default everything that the options of `run` allow
   */
  readonly kinds?: readonly Exclude<ChoiceKind, 'slow'>[]
}

/**
 * Random schedules, which shrink towards FIFO: a failing property shows only the deviations that it needs. See
 * docs/exploring.md.
 *
 * @example
 * ```ts
 * await fc.assert(
 *   fc.asyncProperty(schedules(), fc.boolean(), async (schedule, answer) => {
 *     await schedule.run(
 *       async (t) => {
 *         const run = await t.engine.trigger(review, { doc: 'd1' })
 *         await t.complete({ tag: 'review' }, { approved: answer })
 *         await run.outcome()
 *       },
 *       { tasks: [review], crashes: 'every-commit' },
 *     )
 *   }),
 * )
 * ```
 */
export function schedules(options: SchedulesOptions = {}): Arbitrary<ExploredSchedule> {
  return new ScheduleArbitrary(options)
}

/** Schedules in which only crashes are random. Run them with `crashes: 'every-commit'`. */
export function crashPoints(): Arbitrary<ExploredSchedule> {
  return schedules({ kinds: ['crash'] })
}

const SEEDS = 2 ** 31 - 1

class ScheduleArbitrary extends Arbitrary<ExploredSchedule> {
  readonly #kinds: SchedulesOptions['kinds']

  constructor({ kinds }: SchedulesOptions) {
    super()
    this.#kinds = kinds
  }

  override generate(source: Random): Value<ExploredSchedule> {
    const seed = source.nextInt(0, SEEDS)
    return new Value(new ExploredSchedule(() => this.#decide(seed)), undefined)
  }

  override canShrinkWithoutContext(value: unknown): value is ExploredSchedule {
    return value instanceof ExploredSchedule
  }

  /** First FIFO, then the schedule without one half, one quarter, … of its deviations, at last without one of them. */
  override shrink({ trace }: ExploredSchedule): Stream<Value<ExploredSchedule>> {
    return new Stream(smaller(trace ?? [])).map((fewer) => new Value(new ExploredSchedule(fewer), undefined))
  }

  #decide(seed: number): Choose {
    const choose = random(seed).begin() ?? (() => 0)
    const kinds = this.#kinds
    return kinds === undefined
      ? choose
      : (choice) => (choice.kind !== 'slow' && kinds.includes(choice.kind) ? choose(choice) : 0)
  }
}

function* smaller(trace: Trace): Generator<Trace> {
  if (trace.length === 0) return
  yield []
  for (let size = Math.ceil(trace.length / 2); trace.length > 1; size = Math.ceil(size / 2)) {
    for (let from = 0; from < trace.length; from += size) {
      yield [...trace.slice(0, from), ...trace.slice(from + size)]
    }
    if (size === 1) return
  }
}
