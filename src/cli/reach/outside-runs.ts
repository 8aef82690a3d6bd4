import type { RunRecord } from '../../contract/records.ts'
import { task } from '../../core/ambient/define-task.ts'
import { TaskRegistry } from '../../api/task-definition.ts'
import { type Engine, kernelOf } from '../../core/engine.ts'
import { LIST_RUNS } from '../../core/host/storage-calls.ts'
import { newRun } from '../../core/namespaces/new-run.ts'
import { storeReplay, storeRun } from '../../core/namespaces/runs.ts'
import { readRun } from '../../core/reading/run-changes.ts'
import type { TriggerOptions } from '../../api/run.ts'

/** A run that was stored from outside, for an engine that knows its task. */
export interface OutsideRun {
  readonly id: string
  /** The idempotency key was used before: this is the run it named then. */
  readonly isCached: boolean
}

/** The newest run of a task, if there is one. */
export async function newestRun(engine: Engine, taskId: string): Promise<RunRecord | undefined> {
  const kernel = kernelOf(engine)
  const request = { filter: { taskIds: [taskId] }, page: { limit: 1, after: undefined, before: undefined } }
  const { records } = await kernel.call(() => kernel.asked(LIST_RUNS, request))
  return records[0]
}

/**
 * Stores a run of a task whose code is elsewhere: in the queue that is named, or in that of the task. Its payload
 * is checked by the engine that executes it.
 */
export async function triggerOutside(
  engine: Engine,
  taskId: string,
  {
    payload,
    options,
    queue,
  }: { readonly payload: unknown; readonly options: TriggerOptions; readonly queue: string | undefined },
): Promise<OutsideRun> {
  const kernel = kernelOf(engine)
  const standIn = task({
    id: taskId,
    run: notHere,
    ...(queue === undefined ? {} : { queue: { name: queue } }),
  })
  const definition = new TaskRegistry([standIn]).require(taskId)
  const { record, isCached } = await storeRun(kernel, () =>
    newRun(kernel.host, definition, { payload, options, context: {} }),
  )
  return { id: record.id, isCached }
}

/** Stores a run with the payload of another one. */
export async function replayOutside(engine: Engine, id: string): Promise<OutsideRun> {
  const kernel = kernelOf(engine)
  const { record } = await storeReplay(kernel, await readRun(kernel, id))
  return { id: record.id, isCached: false }
}

async function notHere(): Promise<never> {
  throw new Error('this engine executes no runs')
}
