import type { AnyTask } from '../api/run.ts'
import { isFinal } from '../contract/run-states.ts'
import { defined } from '../primitives/defined.ts'
import { parseShard } from './exploration/shard.ts'
import type { Body } from './exploration/schedule.ts'
import { Schedule } from './exploration/schedule.ts'
import { scheduleOptions } from './exploration/schedule-options.ts'
import { enumerate } from './exploration/enumerate.ts'
import type { World } from './exploration/world.ts'
import { exploreIn, type ExploreOptions, type ExploreReport } from './explore.ts'
import type { ToldOrder } from './history/told-order.ts'
import { Neighbour } from './history/neighbour.ts'
import { isSameEnd, type RunEnd } from './history/run-end.ts'
import type { RunHistory } from './history/shape.ts'
import { type OptionNames, requireFunction, requireOptions } from '../primitives/require.ts'
import {
  type CheckedReplay,
  readReplay,
  REPLAY_OPTION_NAMES,
  type ReplayHistoryOptions,
  replayed,
} from './replay-history.ts'
import { TestError } from './test-error.ts'

/** Options of `exploreHistory`; all have defaults. */
export interface ExploreHistoryOptions extends ReplayHistoryOptions {
  /**
   * Throws if the end of a neighbour is wrong. It is called for each neighbour in which the run ends.
   *
   * @default none
   */
  readonly check?: (neighbour: HistoryNeighbour) => unknown
  /**
   * Whether the process may die, before and after every write to the storage.
   *
   * @default `'every-commit'`
   */
  readonly crashes?: 'never' | 'every-commit'
  /**
   * Where to stop although there are neighbours left. The default is less than the five seconds that vitest gives a test.
   *
   * @default 100,000 runs, 3 s of real time
   */
  readonly budget?: NonNullable<ExploreOptions['budget']>
  /**
   * One line that a failure printed: only that schedule is run. `WAITPOINT_REPLAY` goes before it.
   *
   * @default none
   */
  readonly replay?: string
}

/** How a run ended in a schedule that departs once from the recorded one. */
export interface HistoryNeighbour {
  readonly end: RunEnd
  /**
   * Whether each question of the run was answered as in the history, and no race had another winner. The run was told the same, so
   * it is to end as it ended.
   */
  readonly isAnsweredAlike: boolean
}

export interface ExploreHistoryReport extends Pick<ExploreReport, 'runs' | 'complete'> {
  /**
   * Whether the usual order, first in, first out, ends as the replay. If not, as of answers of one millisecond, no neighbour is
   * taken to be answered as in the history.
   */
  readonly startsAsRecorded: boolean
}

const OPTION_NAMES: OptionNames<ExploreHistoryOptions> = {
  ...REPLAY_OPTION_NAMES,
  check: true,
  crashes: true,
  budget: true,
  replay: true,
}
const MOST_MS = 3_000

/**
 * Executes a run of a history in the schedules that depart once from the recorded one, in virtual time, as `explore` does: steps
 * change places, time passes while a call is out, one call is slow, the process dies before or after a write. The world does what it did
 * in the history, at its instants. Invariants are checked in each schedule, and `check` is called. See docs/replaying-a-run.md.
 *
 * @param tasks The tasks of the present code, or a module that exports them.
 *
 * @throws ExplorationError `ERR_EXPLORATION_FAILED`; TestError `ERR_HISTORY_DEPARTS` if the present code departs from the
 * history; TypeError or RangeError for arguments that cannot be used.
 *
 * @example
 * ```ts
 * await exploreHistory(history, [review], {
 *   check: ({ end, isAnsweredAlike }) => {
 *     if (isAnsweredAlike) expect(end).toEqual({ status: 'COMPLETED', output: 'd1 published' })
 *   },
 * })
 * ```
 */
export async function exploreHistory(
  history: RunHistory,
  tasks: readonly AnyTask[] | Readonly<Record<string, unknown>>,
  options: ExploreHistoryOptions = {},
): Promise<ExploreHistoryReport> {
  requireOptions(options, 'the options of exploreHistory', OPTION_NAMES)
  const { check = () => undefined, crashes = 'every-commit', budget, replay, ...others } = options
  requireFunction(check, 'check')
  const { recorded, options: replayOptions } = readReplay(history, tasks, others)
  const body = { tasks: replayOptions.tasks, crashes, ...defined({ codec: replayOptions.codec }) }
  const world = scheduleOptions(body)
  const { end, departure } = await replayed(recorded, replayOptions)
  if (departure !== undefined)
    throw new TestError('ERR_HISTORY_DEPARTS', `Cannot explore the neighbours of a run. ${departure.message}`)

  const neighbourhood = new Neighbourhood({ recorded, options: replayOptions })
  const schedule = new Schedule({ ...world, setting: neighbourhood.setting }, () => 0)
  /** The order of answers in the recorded schedule; none if answers came in another order than that of their instants. */
  let usual: ToldOrder | undefined
  await schedule.run(
    neighbourhood.body((neighbour, ended) => {
      if (end !== undefined && ended !== undefined && isSameEnd(ended, end)) usual = neighbour.told
    }),
  )
  const checked = neighbourhood.body((neighbour, ended) => {
    // A run that still waits may be on its way.
    if (ended === undefined || !isFinal(ended.status)) return undefined
    const isAnsweredAlike = usual !== undefined && neighbour.isAnsweredAs(usual)
    return check({ end: ended, isAnsweredAlike })
  })
  const { runs, complete } = await exploreIn(neighbourhood.setting, checked, {
    ...body,
    decider: enumerate(1, parseShard(process.env['WAITPOINT_SHARD']), true),
    budget: { ms: MOST_MS, ...budget },
    ...defined({ replay }),
  })
  return { runs, complete, startsAsRecorded: usual !== undefined }
}

/** Schedules of one recorded run, executed one after the other. */
class Neighbourhood {
  readonly #replay: CheckedReplay
  #neighbour: Neighbour | undefined

  constructor(replay: CheckedReplay) {
    this.#replay = replay
  }

  /** What each schedule begins with. */
  readonly setting = (world: World): Neighbour => {
    const { recorded, options } = this.#replay
    this.#neighbour = new Neighbour(recorded, options, world)
    return this.#neighbour
  }

  /** A body that waits for the end of the run: none if it asked what the history has no answer to. */
  body(then: (neighbour: Neighbour, end: RunEnd | undefined) => unknown): Body {
    return async (t) => {
      const neighbour = this.#neighbour
      if (neighbour === undefined) throw new Error('Cannot begin a schedule without its setting')
      await then(neighbour, await neighbour.end(t))
    }
  }
}
