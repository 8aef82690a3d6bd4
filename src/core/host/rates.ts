import type { Storage } from '../../contract/storage.ts'
import { WaitpointError } from '../../api/errors.ts'

/** @throws WaitpointError `ERR_CANNOT_SET_QUEUE` for limits of tasks on a storage that cannot keep to them. */
export function requireLimits({ limits }: Storage, action: string): void {
  if (limits === true) return
  throw new WaitpointError(
    'ERR_CANNOT_SET_QUEUE',
    `Cannot ${action}: the storage keeps to one limit of a run; use memory storage, or give yours Storage.limits`,
  )
}

/** @throws WaitpointError `ERR_CANNOT_SET_QUEUE` for a rate on a storage that cannot keep to one. */
export function requireRates({ rates }: Storage, action: string): void {
  if (rates === true) return
  throw new WaitpointError(
    'ERR_CANNOT_SET_QUEUE',
    `Cannot ${action}: the storage counts no starts; use memory, SQLite or Postgres storage, or give yours Storage.rates`,
  )
}
