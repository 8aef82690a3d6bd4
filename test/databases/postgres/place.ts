/** The parameter of a URL that names the schema; for our programs, not for the driver. */
const SCHEMA = 'waitpoint_schema'

/** One schema of a database. */
export interface Place {
  readonly connectionString: string
  readonly schema: string
}

/** A place as one argument of a program. */
export function writePlace({ connectionString, schema }: Place): string {
  const url = new URL(connectionString)
  url.searchParams.set(SCHEMA, schema)
  return String(url)
}

export function readPlace(place: string): Place {
  const url = new URL(place)
  const schema = url.searchParams.get(SCHEMA) ?? ''
  url.searchParams.delete(SCHEMA)
  return { connectionString: String(url), schema }
}
