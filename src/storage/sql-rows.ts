import type { Row } from '../contract/columns.ts'
import type { RunRecord, StreamRecord } from '../contract/records.ts'
import type { LeaseRecord } from '../contract/storage.ts'
import { leaseOfRow } from '../generated/lease-record.ts'
import { sha256 } from '../primitives/digest.ts'

/** The place in line of a run that goes on. */
export const OLDEST_FIRST = 'created_at - coalesce(priority_ms, 0)'

/** Suspects come before all others in line, those with the fewest deaths first: their `line` is so much less than their deaths. */
export const SUSPECTS = 1_000_000

/** The `line` of a run that goes on and has no living owner, from its columns. `dies`: whether the owner that it names has died. */
export function resumedLine(run: string, dies = `(${run}.owner IS NOT NULL)`): string {
  const deaths = `${run}.interruptions + CASE WHEN ${dies} THEN 1 ELSE 0 END`
  return `CASE WHEN (${run}.status || '') = 'EXECUTING' AND ${run}.slot = 1 AND ${run}.returned = 0 AND ${deaths} > 0
    THEN ${deaths} - ${SUSPECTS} ELSE 0 END`
}

/** An entry of an index in Postgres has at most 2,704 bytes, and a character up to three. */
const LONGEST_LANE = 800

/** The scope in which a limit of a queue counts: the queue, or one concurrency key of it. A long one is told apart by its digest. */
export function laneOf({ queue, concurrencyKey }: Pick<RunRecord, 'queue' | 'concurrencyKey'>): string {
  const lane = JSON.stringify(concurrencyKey === undefined ? [queue] : [queue, concurrencyKey])
  if (lane.length > LONGEST_LANE) return `[${sha256(lane, 'hex')}]`
  // A name that looks like a list must not be the lane of another queue.
  return concurrencyKey === undefined && !queue.startsWith('[') ? queue : lane
}

/** An endless lease is not written again: when its engine was last heard is not known. */
export function shownLease(row: Row): LeaseRecord {
  const lease = leaseOfRow(row)
  return lease.until === undefined ? { ...lease, heardAt: undefined } : lease
}

export type StreamName = Pick<StreamRecord, 'runId' | 'key'>

/** A stream of which all chunks are kept. */
export function wholeStream(
  { runId, key }: StreamName,
  next: number,
  segments: StreamRecord['segments'],
): StreamRecord {
  return { runId, key, first: 0, next, segments }
}

/** Separates the chunks of a row: JSON on one line has no line break. */
export const BREAK = '\n'

/** The JSON text of a chunk on one line. */
export function onOneLine(text: string): string {
  return text.includes(BREAK) ? JSON.stringify(JSON.parse(text)) : text
}

/** Texts as a list in SQL. They are names of the contract, in which there is nothing to escape. */
export function textList(texts: readonly string[]): string {
  return texts.map((text) => `'${text}'`).join(', ')
}
