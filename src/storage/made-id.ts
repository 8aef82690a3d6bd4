import { idsAt, timeOfId } from '../primitives/id.ts'

/** The tables whose lists are in the order of ids, which is that of creation; and the prefix of these ids. */
const LISTED_PREFIXES = { runs: 'run', tokens: 'waitpoint' } as const

type Table = keyof typeof LISTED_PREFIXES

/**
 * Lists that are bounded in time read a range of ids: the id of a run, and that of a `MANUAL` token, begins with the instant of
 * its creation.
 *
 * @throws TypeError for an id that no engine made at this instant.
 */
export function requireMadeId(
  table: Table,
  { id, createdAt }: { readonly id: string; readonly createdAt: number },
): void {
  const prefix = LISTED_PREFIXES[table]
  if (timeOfId(prefix, id) === createdAt) return
  throw new TypeError(
    `Cannot insert "${id}" into ${table}: its id must be "${prefix}_" and 26 characters that begin with its createdAt, ${createdAt}, as an engine makes it`,
  )
}

/** Ids from `floor` on, and before `ceiling`. */
export interface IdRange {
  readonly floor?: string | undefined
  readonly ceiling?: string | undefined
}

/** The ids of the records that were created within the bounds, which are inclusive. */
export function idRange(
  table: Table,
  { from, to }: { readonly from?: number | undefined; readonly to?: number | undefined },
): IdRange {
  const prefix = LISTED_PREFIXES[table]
  return {
    floor: from === undefined ? undefined : idsAt(prefix, from),
    ceiling: to === undefined ? undefined : idsAt(prefix, Math.floor(to) + 1),
  }
}
