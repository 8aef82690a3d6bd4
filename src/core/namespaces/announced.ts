import type { RunRecord } from '../../contract/records.ts'
import type { TraceCarrier } from '../../api/diagnostics.ts'
import type { RunOverrides } from '../../api/task-definition.ts'
import { RUN_TRIGGER } from '../diagnostics.ts'
import { readOverrides } from '../host/overrides.ts'
import type { Host } from '../host/host.ts'

/** A longer one is not stored. */
const LONGEST_CARRIER = 4_096

/**
 * A run that is about to be stored, with what subscribers want stored with it: a member of its options, which costs runs
 * nothing that have none. To be called only if there are subscribers.
 */
export function announced(record: RunRecord, { owner }: Pick<Host, 'owner'>): RunRecord {
  const carrier: TraceCarrier = {}
  RUN_TRIGGER.publish({ engine: owner, at: record.createdAt, run: record, carrier })
  return { ...record, optionsJson: optionsWith(record.optionsJson, carrier) }
}

function optionsWith(optionsJson: string | undefined, carrier: TraceCarrier): string | undefined {
  const { trace: _before, ...overrides } = readOverrides(optionsJson)
  const isStored = Object.keys(carrier).length > 0 && JSON.stringify(carrier).length <= LONGEST_CARRIER
  const options: RunOverrides = isStored ? { ...overrides, trace: carrier } : overrides
  return Object.keys(options).length === 0 ? undefined : JSON.stringify(options)
}
