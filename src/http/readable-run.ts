import type { RunRecord } from '../contract/records.ts'
import type { Caller } from './access/caller.ts'
import { Refusal } from './refusal.ts'
import type { RouteContext } from './route-context.ts'
import { isPlausibleRunId, readAccesses } from './runs/access.ts'

/**
 * The record of a run, for whoever may read it; nothing when there is none.
 *
 * @throws Refusal 403 for one that the caller may not read, whether it exists or not.
 */
export async function findReadableRun(
  { kernel }: Pick<RouteContext, 'kernel'>,
  caller: Caller,
  id: string,
): Promise<RunRecord | undefined> {
  const { storage } = kernel.parts.host
  const record = isPlausibleRunId(id) ? await kernel.call(() => storage.runs.get(id)) : undefined
  if (record === undefined) caller.require({ action: 'read', type: 'runs', id })
  else caller.require(...readAccesses({ id, taskIdentifier: record.taskId, tags: record.tags }))
  return record
}

/** The same, when there must be one. @throws Refusal 403; 404. */
export async function requireReadableRun(
  context: Pick<RouteContext, 'kernel'>,
  caller: Caller,
  id: string,
): Promise<RunRecord> {
  const record = await findReadableRun(context, caller, id)
  if (record !== undefined) return record
  throw new Refusal(404, 'Run not found')
}
