/** The columns of a run that an access token may leave out, as the published client names them. */
export const SKIPPABLE: readonly string[] = [
  'startedAt',
  'delayUntil',
  'queuedAt',
  'expiredAt',
  'completedAt',
  'number',
  'isTest',
  'usageDurationMs',
  'costInCents',
  'baseCostInCents',
  'ttl',
  'payload',
  'payloadType',
  'metadata',
  'output',
  'outputType',
  'runTags',
  'error',
]

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
