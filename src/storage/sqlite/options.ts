import { fileURLToPath } from 'node:url'
import { requireName, requireOptions, requireWhole, show } from '../../primitives/require.ts'
import type { SqliteHandle } from './handle.ts'

/** How a SQLite file is opened. */
export interface SqliteOptions {
  /** The database file, by its path or its `file:` address. It is made when it is not there. */
  readonly path: string | URL
  /**
   * The failures that acknowledged writes survive: with `normal` the death of the process, with `full` also a power
   * failure, at four to ten times the price.
   *
   * @default `'normal'`
   */
  readonly synchronous?: 'normal' | 'full'
  /**
   * How often to look whether another process has changed something, while a call waits here; 1 to 60,000.
   *
   * @default `5`
   */
  readonly pollMs?: number
}

/** The checked options: a path or an open database. */
export interface SqliteSource {
  readonly path: string | undefined
  /** The caller's own; it is never closed here. */
  readonly handle: SqliteHandle | undefined
  readonly synchronous: 'normal' | 'full'
  readonly pollMs: number
}

const POLL_MS = 5
const NAMES = { path: true, synchronous: true, pollMs: true }
const METHODS = ['exec', 'prepare', 'close']

/** @throws TypeError or RangeError that says what is wrong with it. */
export function readSqliteOptions(given: string | URL | SqliteOptions | SqliteHandle): SqliteSource {
  const defaults = { synchronous: 'normal', pollMs: POLL_MS } as const
  if (typeof given === 'string' || given instanceof URL)
    return { ...defaults, path: readPath(given), handle: undefined }
  const argument: unknown = given
  if (typeof argument !== 'object' || argument === null) {
    throw new TypeError(
      `Cannot use ${show(argument)} as a SQLite database: give its path, options, or an open database`,
    )
  }
  if (isHandle(given)) return { ...defaults, path: undefined, handle: given }
  requireOptions(given, 'the options of sqliteStorage', NAMES)
  const { path, synchronous = defaults.synchronous, pollMs = POLL_MS } = given
  if (!['normal', 'full'].includes(synchronous)) {
    throw new RangeError(`Cannot use synchronous ${show(synchronous)}: it must be "normal" or "full"`)
  }
  requireWhole(pollMs, 'pollMs', { from: 1, to: 60_000 })
  return { path: readPath(path), handle: undefined, synchronous, pollMs }
}

/** Drivers differ in what they make of a URL, so they get none. */
function readPath(path: string | URL): string {
  if (!(path instanceof URL)) return requireName(path, 'the path of the SQLite file')
  if (path.protocol === 'file:') return fileURLToPath(path)
  throw new TypeError(`Cannot use the path of the SQLite file ${show(path.href)}: it must be a file: address`)
}

function isHandle(given: object): given is SqliteHandle {
  return METHODS.every((name) => typeof (given as Readonly<Record<string, unknown>>)[name] === 'function')
}
