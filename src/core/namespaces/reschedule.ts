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

/** Moves the start of a run that its trigger has put off, and its `ttl` with it; answers the run as it is then. */
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
    told(kernel, record, updated.record)
    return updated.record
  }
}

/** @throws WaitpointError `ERR_CANNOT_RESCHEDULE` */
function requireReschedulable({ id, status, attempt }: RunRecord): void {
  const why =
    status !== 'DELAYED'
      ? `it is ${status}, and only a run that is DELAYED can be put off`
      : attempt > 0
        ? 'it has been started, and is DELAYED until its next attempt'
        : undefined
  if (why === undefined) return
  throw new WaitpointError('ERR_CANNOT_RESCHEDULE', `Cannot reschedule run "${id}": ${why}`)
}

function moved(kernel: Kernel, before: RunRecord, wakeAt: number): Awaitable<RunUpdated | undefined> {
  const { id, epoch, createdAt, expiresAt } = before
  const { host, ticker } = kernel
  const expected = { status: ['DELAYED'], epoch } as const
  const startBy = expiresAt === undefined ? undefined : expiresAt + wakeAt - (before.wakeAt ?? createdAt)
  const change = {
    status: 'DELAYED',
    wakeAt,
    ...(startBy === undefined ? {} : { expiresAt: startBy }),
  } as const
  const asked = kernel.asked(UPDATE_RUN, { id, expected, change, by: host.owner, now: host.now() })
  // It may be stored all the same: when the run is due the tick that comes will say.
  if (isPromise(asked)) asked.catch(() => ticker.answerLost('a reschedule that failed'))
  return asked
}

function told(kernel: Kernel, before: RunRecord, { id, wakeAt, expiresAt }: RunRecord): void {
  const { host, publisher, claimer, delayed, ticker } = kernel
  publisher.wake(id)
  if (wakeAt !== undefined) delayed.add(id, wakeAt)
  ticker.notDue(before.wakeAt)
  if (expiresAt !== undefined) ticker.dueAt(expiresAt, `run ${id}`)
  if (wakeAt !== undefined && wakeAt <= host.now()) claimer.poke()
}
