import { type Codec, requireCodec } from '../api/codec.ts'
import type { AnyTask } from '../api/run.ts'
import { task } from '../core/ambient/define-task.ts'
import { isTask } from '../api/task-definition.ts'
import {
  type OptionNames,
  requireFlag,
  requireFunction,
  requireObject,
  requireOptions,
  requireWhole,
} from '../primitives/require.ts'
import type { HistoryDeparture } from './history/departure.ts'
import { type RecordedRun, recordedRun } from './history/recorded-run.ts'
import { endedAtOnce, Replay, type ReplayOptions } from './history/replay.ts'
import { isSameEnd, type RunEnd } from './history/run-end.ts'
import type { RunHistory } from './history/shape.ts'
import { OpenOrders } from './history/open-orders.ts'

/** Options of `replayHistory`; all have defaults. */
export interface ReplayHistoryOptions {
  /**
   * The codec of the engine that executed the runs.
   *
   * @default none
   */
  readonly codec?: Codec
  /**
   * Functions that stand for effects of `once`, by their key, instead of what the history has.
   *
   * @default none
   */
  readonly effects?: Readonly<Record<string, () => unknown>>
  /**
   * Whether task code, and nothing else, sees the time of the history in `Date` and `setTimeout`.
   *
   * @default `true`
   */
  readonly fakeGlobals?: boolean
  /**
   * How long, in real time, code may await something outside of the engine.
   *
   * @unit milliseconds
   * @default `1_000`
   */
  readonly patienceMs?: number
}

/** The names of the options, for functions that refuse others. */
export const REPLAY_OPTION_NAMES: OptionNames<ReplayHistoryOptions> = {
  codec: true,
  effects: true,
  fakeGlobals: true,
  patienceMs: true,
}

/** So many orders of answers are tried where the storage does not tell it. */
const MOST_TRIES = 32
/** So many tries may wait in vain for code outside of the engine, each for as long as it takes. */
const MOST_UNREACHED = 3

/** What became of a run on the present code. */
export interface ReplayedHistory {
  /** Its end, or where it stands; nothing if it departed before. */
  readonly end: RunEnd | undefined
  /** The first place where it departs from its history, if it does. */
  readonly departure: HistoryDeparture | undefined
}

/**
 * Executes a run of a history on the present code, in virtual time: its tokens, sleeps, children and effects of `once` are
 * answered as they were, in that order, at those instants. Code outside of `once` is executed as it is. See
 * docs/replaying-a-run.md.
 *
 * @param tasks The tasks of the present code, or a module that exports them.
 *
 * @throws TypeError or RangeError for arguments that cannot be used.
 *
 * @example
 * ```ts
 * const { end, departure } = await replayHistory(history, [review])
 * expect(departure?.message).toBeUndefined()
 * expect(end).toEqual({ status: 'COMPLETED', output: 'd1 published' })
 * ```
 */
export async function replayHistory(
  history: RunHistory,
  tasks: readonly AnyTask[] | Readonly<Record<string, unknown>>,
  options: ReplayHistoryOptions = {},
): Promise<ReplayedHistory> {
  requireOptions(options, 'the options of replayHistory', REPLAY_OPTION_NAMES)
  const { recorded, options: replayOptions } = readReplay(history, tasks, options)
  return replayed(recorded, replayOptions)
}

/** A run that is to be replayed, and how. */
export interface CheckedReplay {
  readonly recorded: RecordedRun
  readonly options: ReplayOptions
}

/**
 * Checks the arguments of a replay, and applies the defaults. The caller checks the names of the options.
 *
 * @throws TypeError or RangeError for arguments that cannot be used.
 */
export function readReplay(
  history: RunHistory,
  tasks: readonly AnyTask[] | Readonly<Record<string, unknown>>,
  options: ReplayHistoryOptions,
): CheckedReplay {
  requireObject(history, 'history')
  if ((history.format as unknown) !== 1)
    throw new TypeError(
      `Cannot replay a history of format ${String(history.format)}: this version of waitpoint knows format 1, so export the run again`,
    )
  if (!Array.isArray(tasks)) requireObject(tasks, 'tasks')
  const { codec, effects = {}, fakeGlobals = true, patienceMs = 1_000 } = options
  if (codec !== undefined) requireCodec(codec)
  requireObject(effects, 'effects')
  for (const [key, effect] of Object.entries(effects)) requireFunction(effect, `the effect "${key}"`)
  requireFlag(fakeGlobals, 'fakeGlobals')
  requireWhole(patienceMs, 'patienceMs', { from: 1 })
  const known = tasksIn(tasks)
  const { taskId } = history.run
  if (!known.some(({ id }) => id === taskId))
    throw new TypeError(`Cannot replay run "${history.run.id}": its task "${taskId}" is not among the tasks`)
  const replayOptions: ReplayOptions = {
    tasks: [...known, ...childrenOf(history, known)],
    codec,
    effects,
    fakeGlobals,
    patienceMs,
    isLenient: history.isRedacted === true,
    isHasty: false,
    orders: undefined,
  }
  return { recorded: recordedRun(history), options: replayOptions }
}

/** The replay in the likely order; if that does not end as the run ended, in one that does, if it is found. */
export async function replayed(recorded: RecordedRun, options: ReplayOptions): Promise<ReplayedHistory> {
  const likely = await new Replay(recorded, options).run()
  if (isAsRecorded(likely, recorded)) return likely
  const hasty = { ...options, isHasty: true }
  if (!recorded.children.some(endedAtOnce)) return (await otherOrder(recorded, options)) ?? likely
  const atOnce = await new Replay(recorded, hasty).run()
  if (isAsRecorded(atOnce, recorded)) return atOnce
  return (await otherOrder(recorded, options)) ?? (await otherOrder(recorded, hasty)) ?? likely
}

/** The replay in another order of answers than the likely one that ends as the run ended, if it is found. */
async function otherOrder(
  recorded: RecordedRun,
  options: ReplayOptions,
): Promise<ReplayedHistory | undefined> {
  const orders = new OpenOrders()
  for (let tries = 0, unreached = 0; tries < MOST_TRIES && unreached < MOST_UNREACHED; tries += 1) {
    const replay = new Replay(recorded, { ...options, orders })
    const tried = await replay.run()
    if (isAsRecorded(tried, recorded)) return tried
    if (tried.departure?.reason === 'unreached') unreached += 1
    if (!orders.again(replay.asked)) return undefined
  }
  return undefined
}

function isAsRecorded({ end, departure }: ReplayedHistory, recorded: RecordedRun): boolean {
  return departure === undefined && end !== undefined && isSameEnd(end, recorded.end)
}

function tasksIn(tasks: readonly AnyTask[] | Readonly<Record<string, unknown>>): readonly AnyTask[] {
  const values: readonly unknown[] = Object.values(tasks)
  return [...new Set(values.filter((value) => isTask(value)))]
}

/** Children are never executed: a task that is not there need not be. */
function childrenOf({ children }: RunHistory, known: readonly AnyTask[]): readonly AnyTask[] {
  const ids = new Set(children.map(({ taskId }) => taskId))
  for (const { id } of known) ids.delete(id)
  return Array.from(ids, (id) => task({ id, run: () => undefined }))
}
