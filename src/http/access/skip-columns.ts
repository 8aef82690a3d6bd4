import { SKIPPABLE } from '../../hosted/skippable-columns.ts'

/**
 * The columns that `{ skipColumns }` names: the `realtime` claim of an access token. `undefined` for anything that is no such
 * claim.
 */
export function readSkipColumns(realtime: unknown): ReadonlySet<string> | undefined {
  if (realtime === undefined || realtime === null) return new Set()
  if (typeof realtime !== 'object' || Array.isArray(realtime)) return undefined
  const { skipColumns = [], ...others } = realtime as { readonly skipColumns?: unknown }
  if (!Array.isArray(skipColumns) || Object.keys(others).length > 0) return undefined
  return skipColumns.every((column) => SKIPPABLE.includes(column as string))
    ? new Set(skipColumns as readonly string[])
    : undefined
}
