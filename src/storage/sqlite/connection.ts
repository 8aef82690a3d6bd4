import { afterReal, pauseReal } from '../real-timer.ts'
import { SqliteDatabase } from './database.ts'
import { findDriver } from './driver.ts'
import { isBusy, sqliteMessage } from './errors.ts'
import { bindingOf } from './handle.ts'
import { SqliteNews } from './news.ts'
import type { SqliteSource } from './options.ts'
import { migrateSqlite } from './schema.ts'
import type { SqliteSession } from './session.ts'

/** The longest that the lock of another process may hold up this one. */
const BUSY_TIMEOUT_MS = 50
/** Pages of the log before it goes into the file: 16 MiB, four times the default, for a quarter of the work. */
const CHECKPOINT_PAGES = 4_000
const CACHE_KIB = 16_384
const OPEN_RETRIES = 200
const RETRY_MS = 20

/** One connection to one database, for as long as it is in use. */
export class SqliteConnection {
  readonly news: SqliteNews = new SqliteNews()
  /** For people: how the database is named in errors. */
  readonly name: string
  readonly #source: SqliteSource
  #database: SqliteDatabase | undefined
  #users = 0
  #version: unknown
  /** Changes that were made by others, as of the last look. */
  #foreign: number | undefined
  #cancelProbe: (() => void) | undefined

  constructor(source: SqliteSource) {
    this.#source = source
    this.name = source.path === undefined ? 'the SQLite database' : `SQLite database "${source.path}"`
  }

  /** The session of a method. An owner that has left may come back: then the database is opened again. */
  readonly session = (): SqliteSession => {
    this.#database ??= this.#connect()
    return { database: this.#database, news: this.news }
  }

  /** Opens it for one more user. Several processes may start at once: the second waits for the first. */
  async open(): Promise<void> {
    for (let retries = 0; ; retries += 1) {
      try {
        this.session()
        break
      } catch (cause) {
        if (!isBusy(cause) || retries === OPEN_RETRIES) {
          throw new Error(`Cannot open ${this.name}: ${sqliteMessage(cause)}`, { cause })
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
    if (this.#source.handle === undefined) database?.close()
  }

  /** Looks again and again whether another process has changed something, while an engine here subscribes. */
  probe(): void {
    if (this.#cancelProbe !== undefined || this.#database === undefined || !this.news.hasListeners) return
    this.#look(this.#database)
    this.#cancelProbe = afterReal(this.#source.pollMs, () => {
      this.#cancelProbe = undefined
      this.#stirIfChanged()
      this.probe()
    })
  }

  #stirIfChanged(): void {
    if (this.#database === undefined) return
    try {
      if (this.#look(this.#database)) this.news.stir()
    } catch {
      // Another process has the lock: the next look sees it.
    }
  }

  /** Whether another connection has changed what matters since the last look. */
  #look(database: SqliteDatabase): boolean {
    const version = database.get('PRAGMA data_version')?.['data_version']
    if (version === this.#version) return false
    this.#version = version
    const foreign = Number(database.value('SELECT count AS value FROM changes')) - this.news.counted
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
      database.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`)
      database.exec(`PRAGMA cache_size = -${CACHE_KIB}`)
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
