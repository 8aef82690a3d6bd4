import { idsAt } from '../../primitives/id.ts'
import { idSkew, LISTED_PREFIXES, NO_INSTANT } from '../id-skew.ts'
import type { SqliteSession } from './session.ts'

/** The settings with the largest difference between `created_at` and the instant in the id, in milliseconds. */
const SKEW_SETTINGS = { runs: 'id-skew-of-runs', tokens: 'id-skew-of-tokens' } as const

type Table = keyof typeof LISTED_PREFIXES

/** Ids from `floor` on, and before `ceiling`. */
export interface IdRange {
  readonly floor?: string | undefined
  readonly ceiling?: string | undefined
}

/** Bounds on `created_at`, inclusive. */
interface Bounds {
  readonly from: number | undefined
  readonly to: number | undefined
}

/** Notes how far the instant in the id of a new record is from its `created_at`. */
export function noteIdTime(
  { database }: SqliteSession,
  table: Table,
  record: { readonly id: string; readonly createdAt: number },
): void {
  const skew = idSkew(table, record)
  if (skew === 0) return
  database.run(
    `INSERT INTO settings (name, value) VALUES (?1, ?2)
     ON CONFLICT (name) DO UPDATE SET value = ?2 WHERE CAST(value AS INTEGER) < CAST(?2 AS INTEGER)`,
    SKEW_SETTINGS[table],
    String(skew),
  )
}

/** The ids that records within the bounds can have: a list goes along ids, and need not look at any others. */
export function idRangeOf({ database }: SqliteSession, table: Table, { from, to }: Bounds): IdRange {
  const isFromBound = from !== undefined && from > -Infinity
  const isToBound = to !== undefined && to < Infinity
  if (!isFromBound && !isToBound) return {}
  const skew = Number(database.value('SELECT value FROM settings WHERE name = ?', SKEW_SETTINGS[table]) ?? 0)
  if (skew >= NO_INSTANT) return {}
  const prefix = LISTED_PREFIXES[table]
  return {
    ...(isFromBound && { floor: idsAt(prefix, from - skew) }),
    ...(isToBound && { ceiling: idsAt(prefix, to + skew + 1) }),
  }
}
