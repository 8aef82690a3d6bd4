// Written by `npm run records` from src/contract, and not to be edited.
import { numberOf, orNull, type Row, type Value } from '../contract/columns.ts'
import type { QueueSettings } from '../contract/storage.ts'
import { rateIn } from './parts.ts'

/** The columns that make a queue. */
export const QUEUE_COLUMNS =
  'name, paused, most, limited_at, rate_limit, rate_per_ms, rated_at'

/** The queue of a row. */
export function queueOfRow(row: Row): QueueSettings {
  return {
    name: row['name'] as QueueSettings['name'], isPaused: row['paused'] === 1, limit: numberOf(row['most']),
    limitedAt: numberOf(row['limited_at']), rate: rateIn(row['rate_limit'], row['rate_per_ms']),
    ratedAt: numberOf(row['rated_at']),
  }
}

/** The values of `QUEUE_COLUMNS`. */
export function queueValues(record: QueueSettings): readonly Value[] {
  return [
    record.name, Number(record.isPaused), orNull(record.limit), orNull(record.limitedAt), orNull(record.rate?.limit),
    orNull(record.rate?.perMs), orNull(record.ratedAt),
  ]
}

export const SQLITE_QUEUE_TABLE = `
  paused INTEGER NOT NULL, most NUMERIC, limited_at NUMERIC, rate_limit NUMERIC, rate_per_ms NUMERIC,
  rated_at NUMERIC`
export const POSTGRES_QUEUE_TABLE = `
  paused int NOT NULL, most float8, limited_at float8, rate_limit float8, rate_per_ms float8, rated_at float8`
