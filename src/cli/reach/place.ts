import { existsSync } from 'node:fs'
import { UsageError } from '../exit.ts'
import { type Given, quote } from '../given.ts'
import type { OptionSpec } from '../signature.ts'

/** Where `dev` keeps its runs, seen from the folder that it is started in. */
export const DEV_DATABASE = '.waitpoint/dev.db'

/** Where `dev` leaves the queues of its tasks by their ids, for a trigger from outside. */
export const tasksFileOf = (database: string): string => `${database}.tasks.json`

/** The runs and tokens that a command is about: a file, a database, or an app behind its HTTP handler. */
export type RunsPlace =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly schema: string | undefined }
  | { readonly kind: 'http'; readonly url: string; readonly key: string }

/** A place that is a storage. */
export type StoragePlace = Exclude<RunsPlace, { readonly kind: 'http' }>

/** A place that is a Postgres database. */
export type PostgresPlace = Extract<RunsPlace, { readonly kind: 'postgres' }>

/** Options of a command that opens a Postgres database. */
export const POSTGRES_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  postgres: { value: '<url>', says: 'a Postgres database: postgres://host/name' },
  schema: { value: '<name>', says: 'the schema in that database (default: waitpoint)' },
}

/** Options of a command that opens a storage. */
export const STORAGE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  db: { value: '<file>', says: `a SQLite file; without any, ${DEV_DATABASE} if it is there` },
  ...POSTGRES_OPTIONS,
}

/** Options of a command that may ask a running app as well. */
export const PLACE_OPTIONS: Readonly<Record<string, OptionSpec>> = {
  ...STORAGE_OPTIONS,
  url: { value: '<url>', says: 'an app that serves its engine: http://127.0.0.1:3000' },
  key: { value: '<key>', says: 'a secret key of that app (default: $WAITPOINT_SECRET_KEY)' },
}

/**
 * Reads which place is meant.
 *
 * @throws UsageError when it is not clear, or not there.
 */
export function readPlace(given: Given, env: Readonly<Record<string, string | undefined>>): RunsPlace {
  requireOne(given)
  const url = given.option('url')
  if (url !== undefined) return { kind: 'http', url: readUrl(url), key: readKey(given, env) }
  return readStorage(given)
}

/**
 * Reads which storage is meant.
 *
 * @throws UsageError when it is not clear, or not there.
 */
export function readStorage(given: Given): StoragePlace {
  requireOne(given)
  return readPostgres(given) ?? { kind: 'sqlite', path: readFile(given.option('db')) }
}

/**
 * Reads which schema of a Postgres database is meant, if one is.
 *
 * @throws UsageError when it is no address, or no name of a schema.
 */
export function readPostgres(given: Given): PostgresPlace | undefined {
  const url = given.option('postgres')
  if (url === undefined) return undefined
  if (!/^postgres(ql)?:\/\//.test(url))
    throw new UsageError('--postgres must be an address that begins with postgres://')
  return { kind: 'postgres', url, schema: readSchema(given.option('schema')) }
}

/** @throws UsageError for options of several places. */
function requireOne(given: Given): void {
  const named = ['db', 'postgres', 'url'].filter((name) => given.has(name))
  if (named.length > 1) throw new UsageError(`--${named.join(' and --')} exclude each other: name one place`)
  for (const [name, other] of [
    ['schema', 'postgres'],
    ['key', 'url'],
  ] as const)
    if (given.has(name) && !given.has(other)) throw new UsageError(`--${name} goes with --${other} only`)
}

function readFile(path: string | undefined): string {
  if (path === undefined && existsSync(DEV_DATABASE)) return DEV_DATABASE
  if (path === undefined) throw new UsageError('name a place: --db <file>, --postgres <url> or --url <url>')
  if (!existsSync(path)) throw new UsageError(`--db ${quote(path)}: there is no such file`)
  return path
}

function readUrl(url: string): string {
  if (/^https?:\/\/[^\s/?#@\\]+(?:\/[^\s?#\\]*)?$/i.test(url) && URL.canParse(url)) return url
  throw new UsageError('--url must be an http or https address without credentials, query or fragment')
}

function readKey(given: Given, env: Readonly<Record<string, string | undefined>>): string {
  const key = given.option('key') ?? env['WAITPOINT_SECRET_KEY']
  if (key === undefined || key === '')
    throw new UsageError('--url needs a key: --key <key>, or the variable WAITPOINT_SECRET_KEY')
  // It is not shown: all but one of its characters may be right.
  if (!/^[\x21-\x7e]+$/.test(key))
    throw new UsageError('the key must be of visible characters without spaces')
  return key
}

function readSchema(schema: string | undefined): string | undefined {
  if (schema === undefined || (/^[a-z_][a-z0-9_]{0,47}$/.test(schema) && !schema.startsWith('pg_')))
    return schema
  throw new UsageError(
    `--schema ${quote(schema)} must be of a-z, 0-9 and _, and not begin with a digit or pg_`,
  )
}

/** The name of a place as it may be shown: without passwords. */
export function nameOfPlace(place: RunsPlace): string {
  switch (place.kind) {
    case 'sqlite':
      return place.path
    case 'http':
      return place.url
    case 'postgres': {
      const { host, pathname } = URL.canParse(place.url) ? new URL(place.url) : { host: '', pathname: '' }
      return `postgres://${host}${pathname} (schema ${place.schema ?? 'waitpoint'})`
    }
  }
}
