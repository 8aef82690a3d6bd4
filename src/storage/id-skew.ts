import { idsAt, timeOfId } from '../primitives/id.ts'

/** The tables whose lists can be bounded in time, and the prefix of their ids. */
export const LISTED_PREFIXES = { runs: 'run', tokens: 'waitpoint' } as const

/** Some ids have no instant in them. */
export const NO_INSTANT: number = Number.MAX_SAFE_INTEGER

/**
 * How far the instant in the id of a record is from its `createdAt`, in whole milliseconds. They are the same, unless the
 * clock of an engine stepped back, or the id was not made by an engine.
 */
export function idSkew(
  table: keyof typeof LISTED_PREFIXES,
  { id, createdAt }: { readonly id: string; readonly createdAt: number },
): number {
  const prefix = LISTED_PREFIXES[table]
  if (id.startsWith(idsAt(prefix, createdAt))) return 0
  const time = timeOfId(prefix, id)
  return time === undefined ? NO_INSTANT : Math.ceil(Math.abs(time - createdAt))
}
