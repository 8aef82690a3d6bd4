import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { sqliteStorage } from 'waitpoint/sqlite'
import { hasNodeSqlite, openLibsql } from '../drivers.ts'
import { readPlace } from '../postgres/place.ts'

/** The storage of a process: a Postgres schema, named by a URL, or a SQLite file, named by its path. */
export function storageAt(place: string): Storage {
  if (place.startsWith('postgres:')) return postgresStorage(readPlace(place))
  return sqliteStorage(hasNodeSqlite ? place : openLibsql(place))
}
