// Written by `npm run records` from src/contract, and not to be edited.
import { numberOf, type Value } from '../contract/columns.ts'
import type { KeyRecord } from '../contract/records.ts'
import type { QueueRate } from '../contract/storage.ts'

/** The key that columns have. */
export function keyIn(
  scope: Value | undefined, value: Value | undefined, expiresAt: Value | undefined,
): KeyRecord | undefined {
  if (scope === undefined || scope === null) return undefined
  return {
    scope: scope as KeyRecord['scope'], value: value as KeyRecord['value'], expiresAt: numberOf(expiresAt),
  }
}

/** The rate that columns have. */
export function rateIn(
  limit: Value | undefined, perMs: Value | undefined,
): QueueRate | undefined {
  if (limit === undefined || limit === null) return undefined
  return {
    limit: limit as QueueRate['limit'], perMs: perMs as QueueRate['perMs'],
  }
}
