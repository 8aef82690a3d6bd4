import type { RunRecord, TokenRecord } from '../contract/records.ts'
import { isFinal } from '../contract/run-states.ts'
import { storedAttempts } from '../api/thrown-attempts.ts'

/** At most so many segments of a run are told apart: the newest. What is before them is one. */
export const MOST_SEGMENTS = 200

/** What a run did: `unknown` is what no record tells, such as when a process died, or what is before the newest segments. */
export type SegmentKind = 'delayed' | 'in line' | 'executing' | 'waiting' | 'before a retry' | 'unknown'

/** A stretch of the life of a run. */
export interface Segment {
  readonly kind: SegmentKind
  readonly from: number
  readonly to: number
}

/** What a run has asked: its tokens, its sleeps and its children. */
export interface Asked {
  readonly tokens: readonly TokenRecord[]
  readonly runs: readonly RunRecord[]
}

/** An instant at which something was asked or settled. `isAsk`: the function of the run executed just before it. */
interface Mark {
  readonly at: number
  readonly isAsk: boolean
  /** How many open waits there are more from then on; ONCE and tokens that were there at once open none. */
  readonly opens: number
}

/** From one call of the function to its end, or to that of the calls which went on for it. */
interface Period {
  readonly from: number
  readonly to: number
  /** Whether it began at `from`: else somewhere between that and what it asked first. */
  readonly isBegun: boolean
  /** A process ended in between, and no record says when. */
  readonly isInterrupted: boolean
  /** Whether an error of the function ended it. */
  readonly isThrown: boolean
}

/**
 * What a run did from its trigger to its end, or until now, without a gap: from the instants that are stored with it and with what it has
 * asked. Between two of them it waited, if something that it had asked for was settled next; else it executed. When it began to wait for
 * a token that it had made before is stored nowhere: it counts as waiting from there on. A run that has parked more often than that has
 * waited for what others made: when, is unknown.
 */
export function segmentsOfRun(record: RunRecord, asked: Asked, now: number): readonly Segment[] {
  const { createdAt, startedAt, finishedAt } = record
  const end = Math.max(finishedAt ?? now, createdAt)
  const begun = Math.min(startedAt ?? end, end)
  const delayedUntil = startedAt === undefined ? Math.min(record.wakeAt ?? createdAt, begun) : createdAt
  const segments: Segment[] = [
    { kind: 'delayed', from: createdAt, to: delayedUntil },
    { kind: 'in line', from: Math.max(delayedUntil, createdAt), to: begun },
  ]
  if (startedAt !== undefined) segments.push(...executions(record, marksOf(record, asked), end))
  return bounded(joined(segments, { begin: createdAt, end }))
}

function executions(record: RunRecord, marks: readonly Mark[], end: number): readonly Segment[] {
  const { parks = 0, startedAt = end, status } = record
  const segments: Segment[] = []
  let last = startedAt
  for (const period of periodsOf(record, end)) {
    segments.push({ kind: 'before a retry', from: last, to: period.from })
    segments.push(...withinPeriod(record, period, marks))
    last = period.to
  }
  segments.push({ kind: isFinal(status) ? 'unknown' : 'before a retry', from: last, to: end })
  const waits = segments.filter(({ kind }) => kind === 'waiting').length
  if (parks <= waits) return segments
  return segments.map((each) => (each.kind === 'executing' ? { ...each, kind: 'unknown' } : each))
}

/** The attempts of the run by its policy. That of the last one began somewhere after the one before, with what it asked first at the latest. */
function periodsOf(record: RunRecord, end: number): readonly Period[] {
  const thrown = storedAttempts(record.attemptsJson)
  const [first] = thrown
  // Of many attempts only the last are kept.
  let last = record.startedAt ?? end
  let number = first === undefined || record.policyAttempt <= thrown.length + 1 ? 0 : first.number - 1
  const periods: Period[] = []
  for (const attempt of thrown) {
    const isInterrupted = attempt.number > number + 1
    const from = isInterrupted ? last : attempt.startedAt
    periods.push({ from, to: attempt.endedAt, isBegun: !isInterrupted, isInterrupted, isThrown: true })
    last = attempt.endedAt
    number = attempt.number
  }
  const calls = record.attempt - number
  if (calls > 0 && last < end)
    periods.push({
      from: last,
      to: end,
      isBegun: thrown.length === 0,
      isInterrupted: calls > 1,
      isThrown: false,
    })
  return periods
}

/** All that the run has asked and was answered, in order: what it asks at the instant of an answer follows from that. */
function marksOf({ parks = 0 }: RunRecord, { tokens, runs }: Asked): readonly Mark[] {
  const marks: Mark[] = []
  const add = (from: number, to: number | undefined, isWaitedFor: boolean): void => {
    marks.push({ at: from, isAsk: true, opens: isWaitedFor ? 1 : 0 })
    // A run that was never parked has waited for nothing.
    if (to !== undefined) marks.push({ at: to, isAsk: !isWaitedFor, opens: isWaitedFor ? -1 : 0 })
  }
  for (const { kind, createdAt, completedAt, timeoutAt, status } of tokens) {
    const settledAt = status === 'TIMED_OUT' ? timeoutAt : completedAt
    if (kind !== 'BINDING') add(createdAt, settledAt, kind !== 'ONCE' && parks > 0)
  }
  for (const { createdAt, finishedAt } of runs) add(createdAt, finishedAt, parks > 0)
  return marks.sort((one, other) => one.at - other.at || Number(one.isAsk) - Number(other.isAsk))
}

function withinPeriod(
  record: RunRecord,
  { from, to, isBegun, isInterrupted, isThrown }: Period,
  marks: readonly Mark[],
): readonly Segment[] {
  const segments: Segment[] = []
  const executing = (): SegmentKind =>
    isInterrupted || (!isBegun && segments.length === 0) ? 'unknown' : 'executing'
  let last = from
  let open = 0
  for (const { at, isAsk, opens } of marks) {
    if (at > to) break
    if (at >= from) {
      segments.push({ kind: open > 0 && !isAsk ? 'waiting' : executing(), from: last, to: at })
      last = at
    }
    open += opens
  }
  segments.push({ kind: isThrown ? executing() : lastOf(record, open, executing()), from: last, to })
  return segments
}

/** What the run does now, or did when it ended. */
function lastOf({ status, returned }: RunRecord, open: number, executing: SegmentKind): SegmentKind {
  if (status === 'WAITING') return returned ? executing : 'waiting'
  if (status === 'PENDING_VERSION') return 'unknown'
  return status === 'CANCELED' && open > 0 ? 'waiting' : executing
}

/** Each from the end of the one before, and none beyond the end; without those that took no time. Neighbours of one kind are one. */
function joined(segments: readonly Segment[], { begin, end }: Bounds): readonly Segment[] {
  const found: Segment[] = []
  let last = begin
  for (const { kind, to } of segments) {
    const until = Math.min(to, end)
    if (until <= last) continue
    const before = found.at(-1)
    if (before?.kind === kind) found[found.length - 1] = { ...before, to: until }
    else found.push({ kind, from: last, to: until })
    last = until
  }
  return found
}

interface Bounds {
  readonly begin: number
  readonly end: number
}

function bounded(segments: readonly Segment[]): readonly Segment[] {
  const [first] = segments
  if (first === undefined || segments.length <= MOST_SEGMENTS) return segments
  const newest = segments.slice(1 - MOST_SEGMENTS)
  return [{ kind: 'unknown', from: first.from, to: newest[0]?.from ?? first.to }, ...newest]
}
