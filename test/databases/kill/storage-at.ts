import type { Storage } from 'waitpoint'
import { postgresStorage } from 'waitpoint/postgres'
import { sqliteStorage } from 'waitpoint/sqlite'
import { openUsual } from '../drivers.ts'
import { readPlace } from '../postgres/place.ts'
import { announcing, type Phase } from './phases.ts'

/** The storage of a process, and what is to be closed after it. */
export interface PlacedStorage {
  readonly storage: Storage
  close(): void
}

/** A Postgres schema, named by a URL, or a SQLite file, named by its path, which may announce a phase of its work. */
export function storageAt(place: string, phase?: Phase): PlacedStorage {
  if (place.startsWith('postgres:')) {
    return { storage: postgresStorage(readPlace(place)), close: () => undefined }
  }
  const handle = openUsual(place)
  const storage = sqliteStorage(phase === undefined ? handle : announcing(handle, phase))
  return { storage, close: () => void handle.close() }
}
