import { WaitpointError } from '../../api/errors.ts'
import type { RetrievedRun, Run, RunsNamespace } from '../../api/run.ts'
import type { Access } from '../access/scope.ts'
import type { Caller } from '../access/caller.ts'
import { Refusal } from '../refusal.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { RouteContext } from '../route-context.ts'

/** Each of these accesses allows reading a run: to the run, to its task, or to one of its tags. */
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
 * A run that the caller may read.
 *
 * @throws Refusal 404 if there is no such run; 403 if the caller may not read it, whether it exists or not.
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
 * @throws Refusal 403 without access; 404 for a text that is not an id of this library. Such a text never reaches a
 * storage.
 */
export function changeableRunId(caller: Caller, id: string): string {
  caller.require({ action: 'write', type: 'runs', id })
  if (!isPlausibleRunId(id)) throw runNotFound()
  return id
}

/** Whether a text has the form of an id of this library. */
function isPlausibleRunId(id: string): boolean {
  return /^run_\w{1,64}$/.test(id)
}

function runNotFound(): Refusal {
  return new Refusal(404, 'Run not found')
}

/**
 * The record of a run that the caller may read, or `undefined` if there is none.
 *
 * @throws Refusal 403 if the caller may not read it, whether it exists or not.
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

/**
 * The record of a run that the caller may read and that must exist.
 *
 * @throws Refusal 403 if the caller may not read it; 404 if there is none.
 */
export async function requireReadableRun(
  context: Pick<RouteContext, 'kernel'>,
  caller: Caller,
  id: string,
): Promise<RunRecord> {
  const record = await findReadableRun(context, caller, id)
  if (record !== undefined) return record
  throw new Refusal(404, 'Run not found')
}
