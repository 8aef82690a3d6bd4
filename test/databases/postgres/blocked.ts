import { pauseReal } from '../../../src/storage/real-timer.ts'
import { connectPostgres } from './client.ts'

/** Resolves once `count` statements on a schema wait for a lock. */
export async function untilBlocked(schema: string, count: number = 1): Promise<void> {
  await using watcher = await connectPostgres()
  for (;;) {
    const { rows } = await watcher.query<{ readonly count: number }>(
      `SELECT count(*)::int AS count FROM pg_stat_activity
       WHERE wait_event_type = 'Lock' AND query LIKE '%"${schema}"%' AND pid <> pg_backend_pid()`,
    )
    if ((rows[0]?.count ?? 0) >= count) return
    await pauseReal(5)
  }
}
