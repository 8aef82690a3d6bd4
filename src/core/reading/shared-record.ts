import type { RunRecord } from '../../contract/records.ts'
import type { Kernel } from '../kernel.ts'
import { readRun } from './run-changes.ts'

/** Runs that were read last. Of more at a time the readers have records of their own. */
const MOST = 1_000

/** Weak: a record goes with the last of its readers. */
const newest = new WeakMap<Kernel, Map<string, WeakRef<RunRecord>>>()

/** The run as it is; readers that find it equal get one object. It must not be changed. */
export async function readShared(kernel: Kernel, runId: string): Promise<RunRecord> {
  return sharedRecord(kernel, await readRun(kernel, runId))
}

/** One object for equal records of a run: a database answers a new one to each reader, with its whole payload. */
function sharedRecord(kernel: Kernel, record: RunRecord): RunRecord {
  const records = newest.get(kernel) ?? new Map<string, WeakRef<RunRecord>>()
  newest.set(kernel, records)
  const known = records.get(record.id)?.deref()
  if (known !== undefined && areEqual(known, record)) return known
  records.delete(record.id)
  records.set(record.id, new WeakRef(record))
  const [oldest] = records.size > MOST ? records.keys() : []
  if (oldest !== undefined) records.delete(oldest)
  return record
}

function areEqual(one: RunRecord, other: RunRecord): boolean {
  if (one === other) return true
  const names = Object.keys(one) as (keyof RunRecord)[]
  return names.length === Object.keys(other).length && names.every((name) => areSame(one[name], other[name]))
}

/** Tags, streams and the key are small. */
function areSame(one: unknown, other: unknown): boolean {
  if (typeof one !== 'object' || typeof other !== 'object') return one === other
  return JSON.stringify(one) === JSON.stringify(other)
}
