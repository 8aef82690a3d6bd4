import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findDriver } from '../src/storage/sqlite/driver.ts'
import type { SqliteHandle } from '../src/storage/sqlite/handle.ts'

/** The drivers of the database tests, for a Node without SQLite of its own. */
const load = createRequire(join(process.cwd(), 'test/databases/'))

/** New SQLite files in a folder of their own. */
export class SqliteFiles {
  readonly #folder = mkdtempSync(join(tmpdir(), 'waitpoint-bench-'))
  readonly #driver = findDriver({ node: process.versions.node, load: (name): unknown => load(name) })
  #files = 0

  open(): SqliteHandle {
    return this.#driver.open(join(this.#folder, `${(this.#files += 1)}.db`))
  }

  /** Opens the newest file again. */
  reopen(): SqliteHandle {
    return this.#driver.open(join(this.#folder, `${this.#files}.db`))
  }

  close(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}
