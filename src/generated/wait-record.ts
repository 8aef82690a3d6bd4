// Written by `npm run records` from src/contract, and not to be edited.
import type { Row, Value } from '../contract/columns.ts'
import type { WaitRecord } from '../contract/records.ts'

/** The columns that make a wait. */
export const WAIT_COLUMNS =
  'run_id, token_id, owner'

/** The wait of a row. */
export function waitOfRow(row: Row): WaitRecord {
  return {
    runId: row['run_id'] as WaitRecord['runId'], tokenId: row['token_id'] as WaitRecord['tokenId'],
    owner: row['owner'] as WaitRecord['owner'],
  }
}

/** The values of `WAIT_COLUMNS`. */
export function waitValues(record: WaitRecord): readonly Value[] {
  return [
    record.runId, record.tokenId, record.owner,
  ]
}

export const SQLITE_WAIT_TABLE = `
  run_id TEXT NOT NULL, token_id TEXT NOT NULL, owner TEXT NOT NULL`
export const POSTGRES_WAIT_TABLE = `
  run_id text COLLATE "C" NOT NULL, token_id text COLLATE "C" NOT NULL, owner text COLLATE "C" NOT NULL`
