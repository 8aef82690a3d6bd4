import type { PostgresPool } from 'waitpoint/postgres'
import { postgresUrl } from './client.ts'

/** The address of the server for connections whose reads are counted. */
export function countedUrl(name: string): string {
  const url = new URL(postgresUrl())
  url.searchParams.set('application_name', name)
  return String(url)
}

/** How many entries connections of that name have read of an index, those of dead rows too. They tell it when they end. */
export async function entriesRead(
  pool: Pick<PostgresPool, 'query'>,
  { name, schema, index }: { readonly name: string; readonly schema: string; readonly index: string },
): Promise<number> {
  for (;;) {
    const { rows } = await pool.query(
      `SELECT (SELECT count(*)::int FROM pg_stat_activity WHERE application_name = $3) AS open,
         idx_scan::int AS scans, idx_tup_read::int AS read FROM pg_stat_user_indexes
       WHERE schemaname = $1 AND indexrelname = $2`,
      [schema, index, name],
    )
    const [found] = rows as readonly {
      readonly open: number
      readonly scans: number
      readonly read: number
    }[]
    if (found?.open === 0 && found.scans > 0) return found.read
    await new Promise(setImmediate)
  }
}
