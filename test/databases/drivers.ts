import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqliteHandle } from '../../src/storage/sqlite/handle.ts'

type Database = new (path: string) => SqliteHandle

const require = createRequire(import.meta.url)

/** `WAITPOINT_SQLITE_DRIVER=better-sqlite3` runs what is here on that one, where it is installed; see CONTRIBUTING. */
const CHOSEN = process.env['WAITPOINT_SQLITE_DRIVER'] ?? ''

/** Opens a database with the driver that was asked for, or else with the one that runs on every Node. */
export function openDriver(path: string): SqliteHandle {
  return openInstalled(CHOSEN === '' ? 'libsql' : CHOSEN, path)
}

function openInstalled(name: string, path: string): SqliteHandle {
  return new (require(name) as Database)(path)
}

function openNode(path: string): SqliteHandle {
  return new (require('node:sqlite') as { readonly DatabaseSync: Database }).DatabaseSync(path)
}

/** From this version on Node has SQLite built in, without a flag. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
const hasNodeSqlite = major > 22 || (major === 22 && minor >= 13)

/** Opens a database with the driver that was asked for, or else as an app would that is given a path. */
export function openUsual(path: string): SqliteHandle {
  return CHOSEN === '' && hasNodeSqlite ? openNode(path) : openDriver(path)
}

/** The drivers there are here, or the one that was asked for, and how each opens a file. */
export const drivers: readonly (readonly [name: string, open: (path: string) => SqliteHandle])[] =
  CHOSEN === ''
    ? [['libsql', openDriver], ...(hasNodeSqlite ? ([['node:sqlite', openNode]] as const) : [])]
    : [[CHOSEN, openDriver]]

/** A folder that is gone, with all that is in it, when it is disposed of. */
export function temporaryFolder(): Disposable & { readonly path: string; file(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'waitpoint-test-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
