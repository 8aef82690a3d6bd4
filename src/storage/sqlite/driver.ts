import { loadBuiltIn, loadPackage } from '../../primitives/load-module.ts'
import type { Binding, SqliteHandle } from './handle.ts'

/** A driver that can be loaded here, and how a file is opened with it. */
export interface SqliteDriver {
  readonly name: string
  readonly open: (path: string) => SqliteHandle
  readonly binding: Binding
}

/** Where drivers are looked for: Node's version, and what is installed. */
export interface DriverPlace {
  readonly node: string
  /** Loads a module, or throws. */
  readonly load: (name: string) => unknown
}

type DatabaseClass = new (path: string) => SqliteHandle

/** From here on `node:sqlite` needs no flag. */
const BUILT_IN_SINCE = [22, 13] as const
/** On an older Node this major version of `better-sqlite3` ends the process without an error. */
const DEADLY_MAJOR = 13
const HARMLESS_SINCE = [22, 14] as const

const HERE: DriverPlace = {
  node: process.versions.node,
  load: (name) => (name.startsWith('node:') ? loadBuiltIn(name) : loadPackage(name)),
}

/**
 * The first driver there is of `node:sqlite`, `better-sqlite3` and `libsql`. Nothing is loaded before this is called.
 *
 * @throws Error that says what to install, when there is none.
 */
export function findDriver(place: DriverPlace = HERE): SqliteDriver {
  const refusals: string[] = []
  for (const find of [builtIn, betterSqlite, libsql]) {
    const found = find(place)
    if (typeof found === 'object') return found
    refusals.push(found)
  }
  throw new Error(
    'there is no driver for it; use Node 22.13 or later, which has one built in, or ' +
      `npm install libsql (${refusals.join('; ')})`,
  )
}

function builtIn({ node, load }: DriverPlace): SqliteDriver | string {
  if (!isSince(node, BUILT_IN_SINCE)) return `node:sqlite is not in Node ${node}`
  const loaded = tryLoad(load, 'node:sqlite')
  if (typeof loaded === 'string') return loaded
  const { DatabaseSync } = loaded.module as { readonly DatabaseSync: DatabaseClass }
  return { name: 'node:sqlite', open: (path) => new DatabaseSync(path), binding: 'spread' }
}

function betterSqlite({ node, load }: DriverPlace): SqliteDriver | string {
  const about = tryLoad(load, 'better-sqlite3/package.json')
  if (typeof about === 'string') return 'better-sqlite3 is not installed'
  const { version } = about.module as { readonly version: string }
  if (Number.parseInt(version) >= DEADLY_MAJOR && !isSince(node, HARMLESS_SINCE)) {
    return `better-sqlite3 ${version} ends the process on Node ${node}: install version 12`
  }
  return driverOf('better-sqlite3', load)
}

function libsql({ load }: DriverPlace): SqliteDriver | string {
  return driverOf('libsql', load)
}

function driverOf(name: string, load: DriverPlace['load']): SqliteDriver | string {
  const loaded = tryLoad(load, name)
  if (typeof loaded === 'string') return loaded
  const Database = loaded.module as DatabaseClass
  return { name, open: (path) => new Database(path), binding: 'array' }
}

function tryLoad(load: DriverPlace['load'], name: string): { readonly module: unknown } | string {
  try {
    return { module: load(name) }
  } catch (error) {
    const { code, message } = error as { readonly code?: unknown; readonly message?: unknown }
    return code === 'MODULE_NOT_FOUND'
      ? `${name} is not installed`
      : `${name} cannot be loaded: ${String(message)}`
  }
}

function isSince(version: string, [major, minor]: readonly [number, number]): boolean {
  const [ownMajor = 0, ownMinor = 0] = version.split('.').map(Number)
  return ownMajor > major || (ownMajor === major && ownMinor >= minor)
}
