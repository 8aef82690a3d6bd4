import type { TriggerOptions } from '../../api/run.ts'
import type { RunRecord } from '../../contract/records.ts'
import type { Engine } from '../../core/engine.ts'
import { inside } from '../../core/inside.ts'

/** A run that was stored from outside, for an engine that knows its task. */
export interface OutsideRun {
  readonly id: string
  /** The idempotency key was used before: this is the run it named then. */
  readonly isCached: boolean
}

/** The newest run of a task, if there is one. */
export async function newestRun(engine: Engine, taskId: string): Promise<RunRecord | undefined> {
  const own = inside(engine)
  const { runs } = own.host.storage
  const { records } = await own.call(() => runs.list({ taskIds: [taskId] }, { limit: 1 }))
  return records[0]
}

/**
 * Stores a run of a task whose code is elsewhere: in the queue that is named, or in that of the task. Its payload
 * is checked by the engine that executes it.
 */
export async function triggerOutside(
  engine: Engine,
  taskId: string,
  run: { readonly payload: unknown; readonly options: TriggerOptions; readonly queue: string | undefined },
): Promise<OutsideRun> {
  const { record, isCached } = await inside(engine).runs.trigger(taskId, run)
  return { id: record.id, isCached }
}

/** Whether an engine may be there that executes runs; a storage that lists none may have some. */
export async function mayBeExecuted(engine: Engine): Promise<boolean> {
  const own = inside(engine)
  const leases = await own.call(() => own.host.storage.leases?.())
  const now = own.host.clock.now()
  return leases?.every(({ isLost, until = Infinity }) => isLost || until <= now) !== true
}

/** Stores a run with the payload of another one. */
export async function replayOutside(engine: Engine, id: string): Promise<OutsideRun> {
  const record = await inside(engine).runs.replay(id)
  return { id: record.id, isCached: false }
}
