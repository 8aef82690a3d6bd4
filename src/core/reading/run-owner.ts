import type { RunRecord } from '../../contract/records.ts'
import type { LeaseRecord } from '../../contract/storage.ts'
import type { RunOwner } from '../../api/run-owner.ts'
import type { RepeatableCall } from '../host/storage-calls.ts'
import type { Kernel } from '../kernel.ts'

const LEASES: RepeatableCall<undefined, readonly LeaseRecord[]> = {
  ask: ({ leases }) => leases?.() ?? [],
}

/** The lease of the engine that holds a run, if an engine does and the storage lists its leases. */
export async function leaseOf(kernel: Kernel, { owner }: RunRecord): Promise<LeaseRecord | undefined> {
  if (owner === undefined) return undefined
  const leases = await kernel.read(() => kernel.asked(LEASES, undefined))
  return leases.find((lease) => lease.owner === owner)
}

/** The engine that holds a run, as users see it. */
export function viewOwner(
  kernel: Kernel,
  { owner: id }: RunRecord,
  lease: LeaseRecord | undefined,
): RunOwner | undefined {
  if (id === undefined) return undefined
  const { host, pid, heardAt, until } = lease ?? {}
  return {
    id,
    isHere: id === kernel.host.owner,
    ...(host === undefined ? {} : { host }),
    ...(pid === undefined ? {} : { pid }),
    ...(heardAt === undefined ? {} : { heardAt: new Date(heardAt) }),
    ...(until === undefined ? {} : { leaseEndsAt: new Date(until) }),
  }
}
