import type { ScheduleStore } from '../../contract/storage.ts'
import type { SqliteDatabase } from './database.ts'
import { markName } from './marks.ts'
import type { Perform } from './session.ts'
import { isStaleAttempt } from './waits.ts'

/** The setting with the number of changes. Those of the schedules have its name, a slash, and their ids. */
const REVISION = 'schedules'
const PREFIX = `${REVISION}/`

/** The schedules that were created. They are few, and are settings. */
export function sqliteSchedules(perform: Perform): ScheduleStore {
  return {
    get: (id) => perform(({ database }) => textOf(database, PREFIX + id), 'read'),
    list: (known) =>
      perform(({ database }) => {
        const revision = revisionOf(database)
        if (revision === known) return undefined
        const rows = database.all(
          `SELECT substr(name, ?1) AS id, value AS text FROM settings WHERE name >= ?2 AND name < ?3 ORDER BY name`,
          PREFIX.length + 1,
          PREFIX,
          // The character after the slash.
          `${REVISION}0`,
        )
        return { revision, schedules: rows.map(({ id, text }) => ({ id: String(id), text: String(text) })) }
      }, 'read'),
    put: (request) =>
      perform((session) => {
        if (isStaleAttempt(session, request)) return 'stale'
        const { database, hints } = session
        const { id, expected, text, by } = request
        const name = PREFIX + id
        if (textOf(database, name) !== expected) return false
        if (text === undefined)
          database.run('DELETE FROM settings WHERE name IN (?, ?)', name, markName(`schedule/${id}`))
        else setTo(database, name, text)
        setTo(database, REVISION, String(Number(revisionOf(database)) + 1))
        hints.all(by)
        return true
      }),
  }
}

function revisionOf(database: SqliteDatabase): string {
  return textOf(database, REVISION) ?? '0'
}

function textOf(database: SqliteDatabase, name: string): string | undefined {
  const value = database.value('SELECT value FROM settings WHERE name = ?', name)
  return value === undefined ? undefined : String(value)
}

function setTo(database: SqliteDatabase, name: string, value: string): void {
  database.run(
    'INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2',
    name,
    value,
  )
}
