import type { RunRecord } from '../../contract/records.ts'
import type { Inserted } from '../../contract/storage.ts'
import type { MadeId } from '../../primitives/id.ts'
import type { RunOverrides } from '../../api/task-definition.ts'
import { fenceOf } from '../attempt/attempt.ts'
import { RUN_TRIGGER } from '../diagnostics.ts'
import { readOverrides } from '../host/overrides.ts'
import { INSERT_RUN } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'
import { announced } from './announced.ts'

/** Stores a new run with the payload of another one, whether or not this engine knows its task; one run for each `once`. */
export async function storeReplay(
  kernel: Kernel,
  original: RunRecord,
  once?: string,
): Promise<Inserted<RunRecord>> {
  const { host, claimer } = kernel
  const inserted = await storeRun(kernel, () => {
    const key = once === undefined ? undefined : { scope: `${original.id}/replay`, value: once }
    const replay = { ...replayOf(original, host.made('run')), key }
    return RUN_TRIGGER.hasSubscribers ? announced(replay, host) : replay
  })
  claimer.poke()
  return inserted
}

/** Stores a run that no check stands in front of. */
export function storeRun(kernel: Kernel, create: () => RunRecord): Promise<Inserted<RunRecord>> {
  const { host, publisher } = kernel
  return kernel.call(async (attempt) => {
    const record = create()
    const request = { record, fence: fenceOf(attempt), now: host.now(), by: host.owner }
    const storing = publisher.storing(record)
    try {
      const inserted = await kernel.written(attempt, INSERT_RUN, request)
      if (!inserted.isCached) publisher.created(record, storing)
      return inserted
    } finally {
      publisher.stored(storing)
    }
  })
}

function replayOf(original: RunRecord, { id, createdAt }: MadeId): RunRecord {
  const { taskId, payloadJson, tags, queue, concurrencyKey, priorityMs, limits, optionsJson } = original
  return {
    id,
    taskId,
    status: 'QUEUED',
    payloadJson,
    attempt: 0,
    policyAttempt: 0,
    interruptions: 0,
    epoch: 0,
    slot: false,
    returned: false,
    rootId: id,
    tags,
    streams: [],
    queue,
    concurrencyKey,
    priorityMs,
    limits,
    optionsJson: optionsOfReplay(optionsJson),
    createdAt,
    updatedAt: createdAt,
  }
}

/** The options of a run, for its replay: without the trace and the batch of the run itself. */
function optionsOfReplay(optionsJson: string | undefined): string {
  const { trace: _before, batchId: _batch, ...overrides } = readOverrides(optionsJson)
  const options: RunOverrides = { ...overrides, isReplay: true }
  return JSON.stringify(options)
}
