/** The parameters of a URL for our programs, not for the driver. */
const SCHEMA = 'waitpoint_schema'
const CHECK_MS = 'waitpoint_check_ms'

/** One schema of a database. */
export interface Place {
  readonly connectionString: string
  readonly schema: string
  readonly listenCheckMs?: number
}

/** A place as one argument of a program. */
export function writePlace({ connectionString, schema, listenCheckMs }: Place): string {
  const url = new URL(connectionString)
  url.searchParams.set(SCHEMA, schema)
  if (listenCheckMs !== undefined) url.searchParams.set(CHECK_MS, String(listenCheckMs))
  return String(url)
}

export function readPlace(place: string): Place {
  const url = new URL(place)
  const schema = url.searchParams.get(SCHEMA) ?? ''
  const checkMs = url.searchParams.get(CHECK_MS)
  for (const name of [SCHEMA, CHECK_MS]) url.searchParams.delete(name)
  const known = { connectionString: String(url), schema }
  return checkMs === null ? known : { ...known, listenCheckMs: Number(checkMs) }
}
