import type { RunRecord } from '../../contract/records.ts'
import type { Awaitable, RunUpdated } from '../../contract/storage.ts'
import { isPromise } from '../../primitives/awaitable.ts'
import { parseInstant } from '../../primitives/duration.ts'
import { type OptionNames, requireOptions } from '../../primitives/require.ts'
import { WaitpointError } from '../../api/errors.ts'
import type { Kernel } from '../kernel.ts'
import type { RescheduleOptions } from '../../api/run.ts'
import { UPDATE_RUN } from '../host/storage-calls.ts'
import { readRun } from '../reading/run-changes.ts'

const NAMES: OptionNames<RescheduleOptions> = { delay: true }

/** Moves the start of a run that its trigger has put off; answers the run as it is then. */
export async function rescheduleRun(
  kernel: Kernel,
  id: string,
  options: RescheduleOptions,
): Promise<RunRecord> {
  const { host } = kernel
  const wakeAt = await kernel.call(() => {
    requireOptions(options, 'the options of runs.reschedule', NAMES)
    const now = host.now()
    return Math.max(now, parseInstant(options.delay, { now, name: 'delay' }))
  })
  for (;;) {
    const record = await readRun(kernel, id)
    requireReschedulable(record)
    const updated = await kernel.call(() => moved(kernel, record, wakeAt))
    // Otherwise something has happened to it since it was read.
    if (updated === undefined) continue
    told(kernel, record, wakeAt)
    return updated.record
  }
}

/** @throws WaitpointError `ERR_CANNOT_RESCHEDULE` */
function requireReschedulable({ id, status, attempt, expiresAt }: RunRecord): void {
  const why =
    status !== 'DELAYED'
      ? `it is ${status}, and only a run that is DELAYED can be put off`
      : attempt > 0
        ? 'it has been started, and is DELAYED until its next attempt'
        : expiresAt !== undefined
          ? 'it has a ttl, which would not move along; cancel it and trigger another one'
          : undefined
  if (why === undefined) return
  throw new WaitpointError('ERR_CANNOT_RESCHEDULE', `Cannot reschedule run "${id}": ${why}`)
}

function moved(kernel: Kernel, { id, epoch }: RunRecord, wakeAt: number): Awaitable<RunUpdated | undefined> {
  const { host, ticker } = kernel
  const expected = { status: ['DELAYED'], epoch } as const
  const change = { status: 'DELAYED', wakeAt } as const
  const asked = kernel.asked(UPDATE_RUN, { id, expected, change, by: host.owner, now: host.now() })
  // It may be stored all the same: when the run is due the tick that comes will say.
  if (isPromise(asked)) asked.catch(() => ticker.answerLost('a reschedule that failed'))
  return asked
}

function told(kernel: Kernel, before: RunRecord, wakeAt: number): void {
  const { host, publisher, claimer, delayed, ticker } = kernel
  publisher.wake(before.id)
  delayed.add(before.id, wakeAt)
  ticker.notDue(before.wakeAt)
  if (wakeAt <= host.now()) claimer.poke()
}
