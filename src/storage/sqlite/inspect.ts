import { existsSync, statSync } from 'node:fs'
import { inspectRecords, type StorageInspection } from '../inspection.ts'
import { SqliteDatabase } from './database.ts'
import { findDriver } from './driver.ts'
import { sqliteMessage } from './errors.ts'
import { isGone } from './host-process.ts'
import { SQLITE_SCHEMA_VERSION, sqliteSchemaVersion } from './schema.ts'

/** The longest that the lock of another process may hold up a look. */
const BUSY_TIMEOUT_MS = 5_000

/**
 * Looks into a SQLite file. An engine that has it open goes on.
 *
 * @throws Error when there is no such file, or it cannot be opened as a database of this program.
 */
export async function inspectSqlite(
  path: string,
  {
    now,
    keptMs,
    isBrief = false,
  }: { readonly now: number; readonly keptMs: number; readonly isBrief?: boolean },
): Promise<StorageInspection> {
  if (!existsSync(path)) throw new Error(`Cannot open SQLite database "${path}": there is no such file`)
  try {
    const driver = findDriver()
    const database = new SqliteDatabase(driver.open(path), driver.binding)
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
      return await inspect(database, { path, now, keptMs, isBrief })
    } finally {
      database.close()
    }
  } catch (cause) {
    throw new Error(`Cannot open SQLite database "${path}": ${sqliteMessage(cause)}`, { cause })
  }
}

interface Look {
  readonly path: string
  readonly now: number
  readonly keptMs: number
  readonly isBrief: boolean
}

async function inspect(
  database: SqliteDatabase,
  { path, now, keptMs, isBrief }: Look,
): Promise<StorageInspection> {
  const version = sqliteSchemaVersion(database)
  const schema = { version, known: SQLITE_SCHEMA_VERSION }
  const sizes = Object.fromEntries(
    [path, `${path}-wal`]
      .filter((file) => existsSync(file))
      .map((file) => [file === path ? 'file' : 'log', statSync(file).size]),
  )
  const empty = { schema, mayWrite: true, now, sizes, damage: [] }
  if (isBrief || version !== SQLITE_SCHEMA_VERSION) return empty
  const damage = database
    .all('PRAGMA quick_check(10)')
    .map((row) => String(row['quick_check']))
    .filter((text) => text !== 'ok')
  const records = await inspectRecords(async (sql) => database.all(sql.replaceAll('$s.', '')), {
    now,
    keptMs,
  })
  const processes = new Map(
    database
      .all('SELECT owner, process FROM owners WHERE process IS NOT NULL')
      .map((row) => [String(row['owner']), String(row['process'])]),
  )
  const owners = records.owners.map((owner) => {
    const process = processes.get(owner.owner)
    return process === undefined ? owner : { ...owner, isGone: isGone(process) }
  })
  return { ...empty, damage, records: { ...records, owners } }
}
