// Writes a dump of a Postgres schema of the current version into test/databases/fixtures, named after its schema:
// `node scripts/postgres-fixture.mjs postgres://…`, with the address of a server whose pg_dump is on the path. Run it
// for every version of the schema, before its release, and never again: until then tests write their own.
import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { resolve } from 'node:path'

const FOLDER = 'test/databases'
const SCHEMA = 'fixture'
const [url] = process.argv.slice(2)
if (url === undefined) throw new Error('Cannot write a fixture: name the address of a Postgres server')
const { Client } = createRequire(resolve(`${FOLDER}/package.json`))('pg')
const client = new Client(url)
await client.connect()
try {
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`)
  const expected = execFileSync(process.execPath, ['scripts/write-fixture.mjs', url, SCHEMA], {
    encoding: 'utf8',
  })
  const { rows } = await client.query(`SELECT version FROM ${SCHEMA}.version`)
  const target = `${FOLDER}/fixtures/postgres-schema-${rows[0].version}`
  if (existsSync(`${target}.sql`))
    throw new Error(
      `Cannot write ${target}.sql: it exists already; remove it if no such version was released`,
    )
  const plain = ['--inserts', '--no-owner', '--no-privileges', '--no-comments']
  const dump = execFileSync('pg_dump', [...plain, '--schema', SCHEMA, url], { encoding: 'utf8' })
  writeFileSync(`${target}.sql`, sqlOf(dump))
  writeFileSync(`${target}.json`, expected)
  console.log(`${target}.sql`)
} finally {
  await client.query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`)
  await client.end()
}

/** Without what is only for the program `psql`, and without settings of the session. */
function sqlOf(dump) {
  const lines = dump
    .split('\n')
    .filter((line) => !/^(--|SET |\\(un)?restrict|SELECT pg_catalog\.set_config)/.test(line))
  return `${lines
    .join('\n')
    .replaceAll(/\n{3,}/g, '\n\n')
    .trim()}\n`
}
