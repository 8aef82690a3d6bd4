import type { SqliteDatabase } from './database.ts'

/** The setting with the mark of a scope: see `RunInsert.mark`. */
export function markName(scope: string): string {
  return `mark ${scope}`
}

export function raiseMark(database: SqliteDatabase, scope: string, mark: number): void {
  database.run(
    `INSERT INTO settings (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = ?2
     WHERE CAST(value AS NUMERIC) < CAST(?2 AS NUMERIC)`,
    markName(scope),
    String(mark),
  )
}

export function readMarks(database: SqliteDatabase, scopes: readonly string[]): (number | undefined)[] {
  return scopes.map((scope) => {
    const value = database.value('SELECT value FROM settings WHERE name = ?', markName(scope))
    return value === undefined ? undefined : Number(value)
  })
}
