import type { RetrievedRun, Run } from '../../api/run.ts'
import { sizeOfRun } from '../../core/inside.ts'
import type { Access } from '../access/scope.ts'
import type { Caller } from '../access/caller.ts'
import { Refusal } from '../refusal.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { RunsAmong } from '../../contract/storage.ts'
import type { RouteContext } from '../route-context.ts'
import { shownRun } from './shown.ts'

const ALL_TASKS: Access = { action: 'read', type: 'tasks' }
const ALL_TAGS: Access = { action: 'read', type: 'tags' }

/** Each of these accesses allows reading a run: to the run, to its task, or to one of its tags. */
export function readAccesses({
  id,
  taskIdentifier,
  tags,
}: Pick<Run, 'id' | 'taskIdentifier' | 'tags'>): Access[] {
  return [
    runAccess(id),
    { action: 'read', type: 'tasks', id: taskIdentifier },
    ...tags.map((tag) => ({ action: 'read', type: 'tags', id: tag })),
  ]
}

/** A run as far as the caller may see it, without what may be large in it: that is in the record, as JSON. */
export interface ReadableRun {
  readonly run: RetrievedRun
  readonly record: RunRecord
}

/**
 * A run, as far as the caller may see it. What is large in it has its turn of the event loop.
 *
 * @throws Refusal 404 if there is no such run; 403 if the caller may not read it, whether it exists or not.
 */
export async function retrieveRun(
  { inside, turns }: Pick<RouteContext, 'inside' | 'turns'>,
  { caller, id }: { readonly caller: Caller; readonly id: string },
): Promise<ReadableRun> {
  const record = await requireReadableRun({ inside }, caller, id)
  const run = shownRun(await inside.runs.bare(record), caller)
  await turns.next(sizeOfRun(record))
  return { run, record }
}

/**
 * The id of a run, which there need not be.
 *
 * @throws Refusal 404 for a text that is not an id of this library. Such a text never reaches a storage.
 */
export function plausibleRunId(id: string): string {
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
  context: Pick<RouteContext, 'inside'>,
  caller: Caller,
  id: string,
): Promise<RunRecord | undefined> {
  const record = await readIfAllowed(context, caller, id)
  if (record === undefined) caller.require(runAccess(id))
  return record
}

/** The record of a run, or `undefined` if there is none or the caller may not read it. */
async function readIfAllowed(
  { inside }: Pick<RouteContext, 'inside'>,
  caller: Caller,
  id: string,
): Promise<RunRecord | undefined> {
  if (!isPlausibleRunId(id)) return undefined
  const taskIds = caller.idsOf('read', 'tasks')
  // A token for all tags may not read a run without one.
  const tags: RunsAmong['tags'] = caller.may(ALL_TAGS) ? 'any' : caller.idsOf('read', 'tags')
  const isForAll = caller.mayAny([runAccess(id), ALL_TASKS])
  if (!isForAll && taskIds.length === 0 && tags.length === 0) return undefined
  // The storage checks task and tags. A stranger learns nothing, not even by the time that reading the run takes.
  const among = isForAll ? undefined : { taskIds, tags }
  const record = await inside.read(() => inside.host.storage.runs.get(id, among))
  if (record === undefined) return undefined
  const accesses = readAccesses({ id, taskIdentifier: record.taskId, tags: record.tags })
  return caller.mayAny(accesses) ? record : undefined
}

/**
 * The record of a run that the caller may read and that must exist.
 *
 * @throws Refusal 403 if the caller may not read it; 404 if there is none.
 */
export async function requireReadableRun(
  context: Pick<RouteContext, 'inside'>,
  caller: Caller,
  id: string,
): Promise<RunRecord> {
  const record = await findReadableRun(context, caller, id)
  if (record !== undefined) return record
  throw runNotFound()
}

/** Whether the caller may read a run. */
export async function mayRead(
  context: Pick<RouteContext, 'inside'>,
  caller: Caller,
  id: string,
): Promise<boolean> {
  return caller.may(runAccess(id)) || (await readIfAllowed(context, caller, id)) !== undefined
}

function runAccess(id: string): Access {
  return { action: 'read', type: 'runs', id }
}
