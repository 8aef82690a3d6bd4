import type { RunRecord, RunStatus } from '../../contract/records.ts'
import { chain } from '../../primitives/awaitable.ts'
import { WaitpointError } from '../../api/errors.ts'
import { runNotFound } from '../../api/not-found.ts'
import { executable } from '../execution/pending-versions.ts'
import { GET_RUN, UPDATE_RUN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'

/** `runs.continueWith`: the run goes on with the code there is; answers it as it is then. */
export async function continueRun(kernel: Kernel, id: string): Promise<RunRecord> {
  const { host, tasks, publisher, claimer } = kernel
  const updated = await kernel.call(() =>
    chain(kernel.asked(GET_RUN, id), (record) => {
      if (record === undefined) throw runNotFound(id)
      tasks.require(record.taskId)
      if (record.status !== 'PENDING_VERSION')
        throw new WaitpointError(
          'ERR_CANNOT_CONTINUE',
          `Cannot continue run "${id}": it is ${record.status}, not PENDING_VERSION`,
        )
      return kernel.asked(CONTINUE_RUN, executable(record, { host, isDecided: true }))
    }),
  )
  if (updated === undefined) return continueRun(kernel, id)
  publisher.run(updated.record)
  claimer.poke()
  return updated.record
}

/** A run that no longer stands still may have been released by the call before. */
const CONTINUE_RUN: typeof UPDATE_RUN = {
  ...UPDATE_RUN,
  again: async (storage, request) => {
    const answer = await storage.runs.update(request)
    if (answer !== undefined) return answer
    const record = await storage.runs.get(request.id)
    const isReleased = record !== undefined && !STILL.has(record.status)
    return isReleased ? { record, ready: [] } : undefined
  },
}

/** Statuses of a run that no `continueWith` has released. */
const STILL: ReadonlySet<RunStatus> = new Set<RunStatus>(['PENDING_VERSION', 'CANCELED'])
