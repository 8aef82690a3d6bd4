import type { TaskSchedule } from '../../api/schedule.ts'
import type { DueRun, DueToken, TimelineEntry, TimelineOptions } from '../../api/timeline.ts'
import type { RunRecord, TokenRecord } from '../../contract/records.ts'
import { startBy } from '../../contract/run-states.ts'
import type { NextDue } from '../../contract/storage.ts'
import { type OptionNames, requireOptions, requireWhole } from '../../primitives/require.ts'
import { GET_RUN, GET_TOKEN, type RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { debounceKeyOf } from '../../contract/key-scopes.ts'

const NAMES: OptionNames<TimelineOptions> = { limit: true }
const MOST = 1_000

/** A storage that cannot tell what is due leaves the schedules. */
const DUE: RepeatableCall<number, readonly NextDue[]> = { ask: ({ due }, limit) => due?.(limit) ?? [] }

/** `engine.timeline`. */
export async function timeline(kernel: Kernel, options: TimelineOptions): Promise<readonly TimelineEntry[]> {
  requireOptions(options, 'the options of timeline', NAMES)
  const { limit = 20 } = options
  requireWhole(limit, 'limit', { from: 1, to: MOST })
  const [due, schedules] = await Promise.all([
    kernel.read(() => kernel.asked(DUE, limit)),
    kernel.namespaces.schedules.list(),
  ])
  const entries = await Promise.all(due.map((each) => entryOf(kernel, each)))
  return [...entries.flat(), ...schedules.flatMap(dueSchedule)]
    .sort((one, other) => one.at.getTime() - other.at.getTime())
    .slice(0, limit)
}

/** Nothing for what has gone meanwhile. */
async function entryOf(kernel: Kernel, { at, what }: NextDue): Promise<TimelineEntry | []> {
  const [kind, id = ''] = what.split(' ', 2)
  if (kind === 'run') {
    const record = await kernel.read(() => kernel.asked(GET_RUN, id))
    return record === undefined ? [] : dueRun(record, at)
  }
  // As of before its deadline: looking settles nothing.
  const read = await kernel.read(() => kernel.asked(GET_TOKEN, { id, now: at - 1 }))
  return read === undefined ? [] : dueToken(read.record, at)
}

function dueRun(record: RunRecord, at: number): DueRun {
  const { id, taskId, status, policyAttempt } = record
  const run = `run ${id} of task "${taskId}"`
  const entry = { kind: 'run', at: new Date(at), id, taskIdentifier: taskId } as const
  if (startBy(record) === at)
    return { ...entry, reason: 'expires', sentence: `${run} expires unless it has started` }
  if (status !== 'DELAYED') return { ...entry, reason: 'goes on', sentence: `${run} is looked at again` }
  const key = debounceKeyOf(record)
  const debounced = key === undefined ? '' : `, debounced with the key "${key}",`
  return policyAttempt === 0
    ? { ...entry, reason: 'starts', sentence: `${run} starts: its delay${debounced} is over` }
    : { ...entry, reason: 'retries', sentence: `${run} begins attempt ${policyAttempt + 1}` }
}

function dueToken({ id, kind, tags, runId }: TokenRecord, at: number): DueToken {
  const whose = runId === undefined ? '' : ` of run ${runId}`
  const tagged = tags.length === 0 ? '' : ` [${tags.join(', ')}]`
  return {
    kind: 'token',
    at: new Date(at),
    id,
    tokenKind: kind,
    tags,
    ...(runId === undefined ? {} : { runId }),
    sentence: kind === 'SLEEP' ? `the sleep${whose} is over` : `token ${id}${tagged}${whose} times out`,
  }
}

/** Nothing of one that is not active. */
function dueSchedule({ id, taskId, cron, nextAt }: TaskSchedule): TimelineEntry | [] {
  if (nextAt === undefined) return []
  const sentence = `schedule "${cron}" triggers a run of task "${taskId}"`
  return { kind: 'schedule', at: nextAt, id, taskIdentifier: taskId, sentence }
}
