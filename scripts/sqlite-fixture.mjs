// Writes a SQLite database of the current version into test/databases/fixtures, named after its schema. Run it for
// every version of the schema, before its release, and never again: until then tests write their own.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, copyFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'

const FOLDER = 'test/databases'
const scratch = mkdtempSync(resolve(`${FOLDER}/node_modules/.fixture-`))
const database = join(scratch, 'app.db')
try {
  const expected = execFileSync(process.execPath, ['scripts/write-fixture.mjs', database], {
    encoding: 'utf8',
  })
  const libsql = createRequire(resolve(`${FOLDER}/package.json`))('libsql')
  const handle = new libsql(database)
  const { user_version: version } = handle.prepare('PRAGMA user_version').get()
  // Moves the content of the log into the file.
  handle.exec('PRAGMA wal_checkpoint(TRUNCATE)')
  handle.close()
  const target = `${FOLDER}/fixtures/schema-${version}`
  if (existsSync(`${target}.db`))
    throw new Error(`Cannot write ${target}.db: it exists already; remove it if no such version was released`)
  copyFileSync(database, `${target}.db`)
  writeFileSync(`${target}.json`, expected)
  console.log(`${target}.db`)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
