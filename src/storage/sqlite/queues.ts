import { changedSettings, isAsDeclared, limitInForce } from '../../contract/queue-limits.ts'
import type { QueueSettings, QueueStore } from '../../contract/storage.ts'
import { orNull, type Row } from '../sql-rows.ts'
import type { SqliteDatabase } from './database.ts'
import type { Perform } from './session.ts'

/** The queues of a SQLite storage. */
export function sqliteQueues(perform: Perform): QueueStore {
  return {
    get: (name) =>
      perform(({ database }) => {
        const count = (column: 'slot' | 'reserved'): number =>
          Number(database.value(`SELECT count(*) AS value FROM runs WHERE ${column} = 1 AND queue = ?`, name))
        const settings = settingsOf(database, name) ?? { name, isPaused: false }
        return { ...settings, slots: count('slot'), refused: count('reserved') }
      }, 'read'),
    list: () => perform(({ database }) => queueSettings(database), 'read'),
    set: (change) =>
      perform(({ database, hints }) => {
        const { name, by } = change
        const after = changedSettings(settingsOf(database, name), change)
        if (isAsDeclared(after)) database.run('DELETE FROM queues WHERE name = ?', name)
        else
          database.run(
            `INSERT INTO queues (name, paused, most, limited_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET paused = ?2, most = ?3, limited_at = ?4`,
            name,
            Number(after.isPaused),
            orNull(after.limit),
            orNull(after.limitedAt),
          )
        hints.queue(by)
        return after
      }),
  }
}

/** The limits in force: what is set comes before what a caller says. */
export function limitsInForce(
  database: SqliteDatabase,
  declared: ReadonlyMap<string, number>,
): ReadonlyMap<string, number> {
  const queues = queueSettings(database)
  if (queues.length === 0) return declared
  const limits = new Map(declared)
  for (const settings of queues)
    limits.set(settings.name, limitInForce(settings, declared.get(settings.name)) ?? Infinity)
  return limits
}

/** All queues of which something is set. */
export function queueSettings(database: SqliteDatabase): readonly QueueSettings[] {
  return database.all('SELECT * FROM queues ORDER BY name').map(settingsOfRow)
}

function settingsOf(database: SqliteDatabase, name: string): QueueSettings | undefined {
  const row = database.get('SELECT * FROM queues WHERE name = ?', name)
  return row && settingsOfRow(row)
}

function settingsOfRow({ name, paused, most, limited_at: limitedAt }: Row): QueueSettings {
  return {
    name: String(name),
    isPaused: paused === 1,
    ...(typeof most === 'number' && typeof limitedAt === 'number' ? { limit: most, limitedAt } : {}),
  }
}
