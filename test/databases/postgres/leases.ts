import { connectPostgres } from './client.ts'
import { readPlace } from './place.ts'

/** Ends the leases of all owners, so that no test waits for the lease of a killed process. */
export async function endLeases(place: string): Promise<void> {
  const { connectionString, schema } = readPlace(place)
  await using client = await connectPostgres(connectionString)
  const owners = `"${schema}".owners`
  const { rows } = await client.query<{ readonly is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [owners],
  )
  // All processes may have been killed before one created the schema.
  if (rows[0]?.is_there === true) await client.query(`UPDATE ${owners} SET until = 0 WHERE lost = 0`)
}

/** The number of owners whose lease no other owner has taken. */
export async function liveOwners(place: string): Promise<number> {
  const { connectionString, schema } = readPlace(place)
  await using client = await connectPostgres(connectionString)
  const { rows } = await client.query<{ readonly count: number }>(
    `SELECT count(*)::int AS count FROM "${schema}".owners WHERE lost = 0`,
  )
  return rows[0]?.count ?? 0
}
