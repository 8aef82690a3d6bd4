import { systemClock } from '../clock/system.ts'
import { type Codec, requireCodec } from '../api/codec.ts'
import type { AnyTask } from '../api/run.ts'
import { LIVE_STATUSES } from '../contract/run-states.ts'
import type { Storage } from '../contract/storage.ts'
import type { OptionNames } from '../primitives/require.ts'
import {
  requireList,
  requireMethods,
  requireName,
  requireOptions,
  requireWhole,
  show,
} from '../primitives/require.ts'
import { GrowingReport, type InFlightReport } from './in-flight/report.ts'
import { RunCheck } from './in-flight/run-check.ts'

/** Options of `checkInFlight`; all have defaults. */
export interface CheckInFlightOptions {
  /**
   * The codec of the engine that executed the runs.
   *
   * @default none
   */
  readonly codec?: Codec
  /**
   * The ids of the tasks whose runs are checked, for a storage that other programs share.
   *
   * @default all
   */
  readonly taskIds?: readonly string[]
  /**
   * The instant at which the runs go on: waits that are due by then are settled.
   *
   * @default now
   */
  readonly at?: Date
  /**
   * How long, in real time, a run may take from one stored answer to the next. Code that awaits something outside of the
   * engine before its wait may need more.
   *
   * @unit milliseconds
   * @default `1_000`
   */
  readonly patienceMs?: number
  /**
   * At most so many departures are kept; all are counted.
   *
   * @unit departures
   * @default `1_000`
   */
  readonly maxDepartures?: number
}

const OPTION_NAMES: OptionNames<CheckInFlightOptions> = {
  codec: true,
  taskIds: true,
  at: true,
  patienceMs: true,
  maxDepartures: true,
}
const PAGE = 100
const AT_ONCE = 16

/**
 * Executes every run that is in flight on new code, up to its wait, and says which would depart from what they have asked.
 * Nothing is written to the storage; effects of `once` are replaced by their stored results, and children are not executed.
 * Code outside of `once` is executed as it is. See docs/changing-code.md.
 *
 * @param storage A copy of the storage, or the storage itself.
 * @param tasks The tasks of the new code.
 *
 * @throws TypeError or RangeError for arguments that cannot be used; the error of the storage.
 *
 * @example
 * ```ts
 * const report = await checkInFlight(sqliteStorage('copy.db'), [review])
 * if (report.departed > 0) throw new Error(String(report))
 * ```
 */
export async function checkInFlight(
  storage: Storage,
  tasks: readonly AnyTask[],
  options: CheckInFlightOptions = {},
): Promise<InFlightReport> {
  const { now, taskIds, patienceMs, maxDepartures } = readArguments(storage, tasks, options)
  const check = new RunCheck(storage, { tasks, codec: options.codec, now, patienceMs })
  const report = new GrowingReport(maxDepartures)
  await storage.open()
  try {
    const filter = { status: LIVE_STATUSES, taskIds }
    let after: string | undefined
    do {
      const page = await storage.runs.list(filter, { limit: PAGE, after })
      const results = await eachAtOnce(page.records, async (record) => {
        const stored = await check.read(record)
        return { stored, departure: await check.departure(stored) }
      })
      for (const { stored, departure } of results) report.add(stored, departure)
      after = page.next
    } while (after !== undefined)
  } finally {
    await storage.leave({ owner: 'checkInFlight', now })
  }
  return report
}

interface Arguments extends Required<Pick<CheckInFlightOptions, 'patienceMs' | 'maxDepartures'>> {
  readonly now: number
  readonly taskIds: readonly string[] | undefined
}

function readArguments(
  storage: Storage,
  tasks: readonly AnyTask[],
  options: CheckInFlightOptions,
): Arguments {
  requireMethods(storage, 'storage', ['open'])
  requireList(tasks, 'tasks')
  requireOptions(options, 'the options of checkInFlight', OPTION_NAMES)
  const { taskIds, at = new Date(systemClock().now()), patienceMs = 1_000, maxDepartures = 1_000 } = options
  if (options.codec !== undefined) requireCodec(options.codec)
  if (!(at instanceof Date) || Number.isNaN(at.getTime()))
    throw new TypeError(`Cannot use at ${show(at)}: it must be a valid Date`)
  requireWhole(patienceMs, 'patienceMs', { from: 1 })
  requireWhole(maxDepartures, 'maxDepartures', { from: 0 })
  if (taskIds !== undefined) {
    requireList(taskIds, 'taskIds')
    for (const id of taskIds) requireName(id, 'an id of taskIds')
  }
  return { now: at.getTime(), taskIds, patienceMs, maxDepartures }
}

/** The results in the order of the items, of which so many are worked on at a time. */
async function eachAtOnce<Item, Result>(
  items: readonly Item[],
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results: Result[] = []
  const left = items.entries()
  const worker = async (): Promise<void> => {
    for (const [at, item] of left) results[at] = await work(item)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, worker))
  return results
}
