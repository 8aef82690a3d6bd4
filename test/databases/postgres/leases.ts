import { connectPostgres } from './client.ts'
import { readPlace } from './place.ts'

/** As if the leases of all who have one had run out: nobody waits for the dead, however long a lease is. */
export async function endLeases(place: string): Promise<void> {
  const { connectionString, schema } = readPlace(place)
  await using client = await connectPostgres(connectionString)
  const owners = `"${schema}".owners`
  const { rows } = await client.query<{ readonly is_there: boolean }>(
    'SELECT to_regclass($1) IS NOT NULL AS is_there',
    [owners],
  )
  // Everybody may have died before there was a schema.
  if (rows[0]?.is_there === true) await client.query(`UPDATE ${owners} SET until = 0 WHERE lost = 0`)
}

/** How many have a lease that nobody has taken from them. */
export async function liveOwners(place: string): Promise<number> {
  const { connectionString, schema } = readPlace(place)
  await using client = await connectPostgres(connectionString)
  const { rows } = await client.query<{ readonly count: number }>(
    `SELECT count(*)::int AS count FROM "${schema}".owners WHERE lost = 0`,
  )
  return rows[0]?.count ?? 0
}
