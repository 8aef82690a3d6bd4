import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterReal, pauseReal } from '../real-timer.ts'
import { DatabaseFile } from './database-file.ts'
import { SqliteDatabase } from './database.ts'
import { findDriver } from './driver.ts'
import { isBusy, sqliteMessage } from './errors.ts'
import { bindingOf } from './handle.ts'
import { SqliteHints } from './hints.ts'
import type { SqliteSource } from './options.ts'
import { migrateSqlite } from './schema.ts'
import type { SqliteSession } from './session.ts'

/** The longest that the lock of another process may hold up this one. */
const BUSY_TIMEOUT_MS = 50
const CACHE_KIB = 16_384
const OPEN_RETRIES = 200
const RETRY_MS = 20

/** One connection to one database, for as long as it is in use. */
export class SqliteConnection {
  readonly hints: SqliteHints = new SqliteHints()
  /** For people: how the database is named in errors. */
  readonly name: string
  readonly #source: SqliteSource
  #database: SqliteDatabase | undefined
  #file: DatabaseFile | undefined
  #users = 0
  #version: unknown
  /** Changes that were made by others, as of the last look. */
  #foreign: number | undefined
  #cancelProbe: (() => void) | undefined

  constructor(source: SqliteSource) {
    this.#source = source
    this.name = source.path === undefined ? 'the SQLite database' : `SQLite database "${source.path}"`
  }

  /**
   * The session of a transaction. An owner that has left may come back: then the database is opened again.
   *
   * @throws StorageUnavailableError when the file of the open database is no longer where it was.
   */
  readonly session = (): SqliteSession => {
    this.#database ??= this.#connect()
    this.#file?.assertInPlace()
    return { database: this.#database, hints: this.hints }
  }

  /** Opens it for one more user. Several processes may start at once: the second waits for the first. */
  async open(): Promise<void> {
    for (let retries = 0; ; retries += 1) {
      try {
        this.session()
        break
      } catch (cause) {
        if (!isBusy(cause) || retries === OPEN_RETRIES) {
          const { path } = this.#source
          // Drivers name no folder in their errors.
          const isLost = path !== undefined && !existsSync(dirname(path))
          const why = isLost ? 'its folder does not exist' : sqliteMessage(cause)
          throw new Error(`Cannot open ${this.name}: ${why}`, { cause })
        }
      }
      await pauseReal(RETRY_MS)
    }
    this.#users += 1
    this.probe()
  }

  /** One user less; the last one closes it. */
  leave(): void {
    this.#users = Math.max(0, this.#users - 1)
    if (this.#users > 0) return
    this.#cancelProbe?.()
    this.#cancelProbe = undefined
    const database = this.#database
    this.#database = undefined
    this.#file = undefined
    if (this.#source.handle === undefined) database?.close()
  }

  /** Looks again and again whether another process has changed something, while an engine here subscribes. */
  probe(): void {
    if (this.#cancelProbe !== undefined || this.#database === undefined || !this.hints.hasListeners) return
    this.#stirIfChanged(this.#database)
    this.#cancelProbe = afterReal(this.#source.pollMs, () => {
      this.#cancelProbe = undefined
      // Each probe is one look: a second one would see changes and tell of none.
      this.probe()
    })
  }

  /** In a timer: nothing may be thrown into the process. */
  #stirIfChanged(database: SqliteDatabase): void {
    try {
      if (this.#look(database)) this.hints.stir()
    } catch {
      // Another process has the lock: the next look sees it.
    }
  }

  /** Whether another connection has made a change that counts since the last look. */
  #look(database: SqliteDatabase): boolean {
    const version = database.get('PRAGMA data_version')?.['data_version']
    if (version === this.#version) return false
    const foreign = Number(database.value('SELECT count AS value FROM changes')) - this.hints.counted
    // Only now: a look that failed before has seen nothing.
    this.#version = version
    if (foreign === this.#foreign) return false
    const isFirst = this.#foreign === undefined
    this.#foreign = foreign
    return !isFirst
  }

  #connect(): SqliteDatabase {
    const database = this.#openHandle()
    try {
      database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`)
      migrateSqlite(database)
      database.exec('PRAGMA journal_mode = WAL')
      database.exec(`PRAGMA synchronous = ${this.#source.synchronous}`)
      database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
      const { path } = this.#source
      this.#file = path === undefined ? undefined : DatabaseFile.at(path)
      return database
    } catch (error) {
      if (this.#source.handle === undefined) database.close()
      throw error
    }
  }

  #openHandle(): SqliteDatabase {
    const { path = '', handle } = this.#source
    if (handle !== undefined) return new SqliteDatabase(handle, bindingOf(handle))
    const driver = findDriver()
    return new SqliteDatabase(driver.open(path), driver.binding)
  }
}
