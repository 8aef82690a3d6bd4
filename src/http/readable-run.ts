import type { RunRecord } from '../contract/records.ts'
import type { Access } from './access-scope.ts'
import type { Caller } from './caller.ts'
import { Refusal } from './refusal.ts'
import type { RouteContext } from './route-context.ts'

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
  // Nothing else than an id of this library reaches a storage.
  const isPlausible = /^run_\w{1,64}$/.test(id)
  const record = isPlausible ? await kernel.call(() => kernel.parts.host.storage.runs.get(id)) : undefined
  caller.require(...(record === undefined ? [read('runs', id)] : readAccesses(record)))
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

/** What allows to read a run: the run itself, its task, or one of its tags. */
function readAccesses({ id, taskId, tags }: RunRecord): readonly Access[] {
  return [read('runs', id), read('tasks', taskId), ...tags.map((tag) => read('tags', tag))]
}

function read(type: string, id: string): Access {
  return { action: 'read', type, id }
}
