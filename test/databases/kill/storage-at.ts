import type { Storage } from 'waitpoint'
import { sqliteStorage } from 'waitpoint/sqlite'
import { hasNodeSqlite, openLibsql } from '../drivers.ts'

/** The storage of a process: of a SQLite file. */
export function storageAt(place: string): Storage {
  return sqliteStorage(hasNodeSqlite ? place : openLibsql(place))
}
