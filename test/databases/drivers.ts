import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SqliteHandle } from '../../src/storage/sqlite-handle.ts'

type Database = new (path: string) => SqliteHandle

const require = createRequire(import.meta.url)

/** Opens a database with the driver that runs on every Node. */
export function openLibsql(path: string): SqliteHandle {
  return new (require('libsql') as Database)(path)
}

function openNode(path: string): SqliteHandle {
  return new (require('node:sqlite') as { readonly DatabaseSync: Database }).DatabaseSync(path)
}

/** From this version on Node has SQLite built in, without a flag. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
export const hasNodeSqlite: boolean = major > 22 || (major === 22 && minor >= 13)

/** The drivers there are here, and how each opens a file. */
export const drivers: readonly (readonly [name: string, open: (path: string) => SqliteHandle])[] = [
  ['libsql', openLibsql],
  ...(hasNodeSqlite ? ([['node:sqlite', openNode]] as const) : []),
]

/** A folder that is gone, with all that is in it, when it is disposed of. */
export function temporaryFolder(): Disposable & { readonly path: string; file(name: string): string } {
  const path = mkdtempSync(join(tmpdir(), 'waitpoint-test-'))
  return {
    path,
    file: (name) => join(path, name),
    [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }),
  }
}
