import type { RunOverrides } from '../../api/task-definition.ts'
import { fromJson } from '../../api/serialize.ts'

/** The options of the task that the trigger of a run overrides. */
export function readOverrides(optionsJson: string | undefined): RunOverrides {
  // Only newRun and replays write these.
  return fromJson(optionsJson) ?? {}
}
