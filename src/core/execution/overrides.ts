import type { RunRecord } from '../../contract/records.ts'
import type { RunOverrides } from '../attempt/task-definition.ts'
import { fromJson } from '../host/serialize.ts'

/** The options of the task that the trigger of this run overrides. */
export function readOverrides({ record }: { readonly record: RunRecord }): RunOverrides {
  // Only newRun and replays write these.
  return fromJson(record.optionsJson) ?? {}
}
