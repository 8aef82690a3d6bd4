import { WaitpointError } from '../../api/errors.ts'
import type { RetrievedRun, Run, RunsNamespace } from '../../api/run.ts'
import type { Access } from '../access/scope.ts'
import type { Caller } from '../access/caller.ts'
import { Refusal } from '../refusal.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { RouteContext } from '../route-context.ts'

/** What allows to read a run: the run itself, its task, or one of its tags. */
export function readAccesses({
  id,
  taskIdentifier,
  tags,
}: Pick<Run, 'id' | 'taskIdentifier' | 'tags'>): Access[] {
  return [
    { action: 'read', type: 'runs', id },
    { action: 'read', type: 'tasks', id: taskIdentifier },
    ...tags.map((tag) => ({ action: 'read', type: 'tags', id: tag })),
  ]
}

/**
 * A run, for whoever may read it.
 *
 * @throws Refusal 404 for one there is none of; 403 for any that the caller may not read, whether it exists or not.
 */
export async function retrieveRun(
  runs: Pick<RunsNamespace, 'retrieve'>,
  { caller, id }: { readonly caller: Caller; readonly id: string },
): Promise<RetrievedRun> {
  const run = isPlausibleRunId(id) ? await retrieve(runs, id) : undefined
  caller.require(...(run === undefined ? [{ action: 'read', type: 'runs', id }] : readAccesses(run)))
  if (run === undefined) throw runNotFound()
  return run
}

async function retrieve(
  runs: Pick<RunsNamespace, 'retrieve'>,
  id: string,
): Promise<RetrievedRun | undefined> {
  try {
    return await runs.retrieve(id)
  } catch (error) {
    if (error instanceof WaitpointError && error.code === 'ERR_RUN_NOT_FOUND') return undefined
    throw error
  }
}

/**
 * The id of a run that the caller may change.
 *
 * @throws Refusal 403, or 404 for what is no id of this library: nothing else reaches a storage.
 */
export function changeableRunId(caller: Caller, id: string): string {
  caller.require({ action: 'write', type: 'runs', id })
  if (!isPlausibleRunId(id)) throw runNotFound()
  return id
}

/** Whether a text is an id as this library makes them. */
function isPlausibleRunId(id: string): boolean {
  return /^run_\w{1,64}$/.test(id)
}

function runNotFound(): Refusal {
  return new Refusal(404, 'Run not found')
}

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
  const { storage } = kernel.host
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
