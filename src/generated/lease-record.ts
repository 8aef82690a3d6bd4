// Written by `npm run records` from src/contract, and not to be edited.
import { numberOf, orNull, type Row, textOf, type Value } from '../contract/columns.ts'
import type { LeaseRecord } from '../contract/storage.ts'

/** The columns that make a lease. */
export const LEASE_COLUMNS =
  'owner, until, lost, host, pid, heard_at'

/** The lease of a row. */
export function leaseOfRow(row: Row): LeaseRecord {
  return {
    owner: row['owner'] as LeaseRecord['owner'], until: numberOf(row['until']), isLost: row['lost'] === 1,
    host: textOf(row['host']), pid: numberOf(row['pid']), heardAt: numberOf(row['heard_at']),
  }
}

/** The values of `LEASE_COLUMNS`. */
export function leaseValues(record: LeaseRecord): readonly Value[] {
  return [
    record.owner, orNull(record.until), Number(record.isLost), orNull(record.host), orNull(record.pid),
    orNull(record.heardAt),
  ]
}

export const SQLITE_LEASE_TABLE = `
  until NUMERIC, lost INTEGER NOT NULL, host TEXT, pid INTEGER, heard_at NUMERIC`
export const POSTGRES_LEASE_TABLE = `
  until float8, lost int NOT NULL, host text, pid int, heard_at float8`
