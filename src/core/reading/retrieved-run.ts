import type { RunRecord } from '../../contract/records.ts'
import type { RetrievedRun } from '../../api/run.ts'
import type { Values } from '../../api/values.ts'
import { isFinal } from '../../contract/run-states.ts'
import { liveAttempt } from '../attempt/attempt.ts'
import { RUN_WAITS } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { type RunSurroundings, sizeOfRun, viewRetrievedRun } from '../views/run.ts'
import { leaseOf, viewOwner } from './run-owner.ts'

/** The view of a run, with what it waits for and the engine that holds it. A large one has its turn of the event loop. */
export async function retrievedRun(
  kernel: Kernel,
  record: RunRecord,
  values?: Values,
): Promise<RetrievedRun> {
  const around = isFinal(record.status) ? undefined : await surroundings(kernel, record)
  const turn = kernel.portions.take(sizeOfRun(record), liveAttempt())
  if (turn !== undefined) await turn
  return viewRetrievedRun(record, around, values)
}

async function surroundings(kernel: Kernel, record: RunRecord): Promise<RunSurroundings> {
  const [waits, lease] = await Promise.all([
    kernel.read(() => kernel.asked(RUN_WAITS, record.id)),
    leaseOf(kernel, record),
  ])
  return { waits, owner: viewOwner(kernel, record, lease) }
}
