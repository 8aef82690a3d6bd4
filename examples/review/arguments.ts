import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The options of the command line. */
export interface Arguments {
  readonly file: string
  readonly bytes: number
  /** Wait for a curl by the user instead of approving from a child process. */
  readonly ask: boolean
  /** Store everything in this SQLite file, and continue where an earlier start was stopped. */
  readonly db: string | undefined
}

/** A wrong command line or an unreadable file: one line for people. */
export class ArgumentError extends Error {}

const USAGE = 'usage: npm start [-- --ask | --db file.db] [file]'

/** Reads the command line and checks that the file can be read. */
export function readArguments(argv: readonly string[]): Arguments {
  const { db, others } = takeDatabase(argv)
  const options = others.filter((argument) => argument.startsWith('-'))
  const files = others.filter((argument) => !argument.startsWith('-'))
  const unknown = options.find((option) => option !== '--ask')
  if (unknown !== undefined) throw new ArgumentError(`Cannot use ${unknown}: it is not an option; ${USAGE}`)
  if (files.length > 1)
    throw new ArgumentError(`Cannot review ${files.length} files: only one is allowed; ${USAGE}`)
  const file = files[0] ?? 'README.md'
  return { file, bytes: sizeOf(file), ask: db !== undefined || options.includes('--ask'), db }
}

function takeDatabase(argv: readonly string[]): {
  readonly db: string | undefined
  readonly others: readonly string[]
} {
  const at = argv.indexOf('--db')
  if (at === -1) return { db: undefined, others: argv }
  const db = argv[at + 1]
  if (db === undefined || db.startsWith('-'))
    throw new ArgumentError(`Cannot use --db: it needs the path of a file; ${USAGE}`)
  return { db, others: argv.toSpliced(at, 2) }
}

function sizeOf(file: string): number {
  try {
    const descriptor = openSync(file, 'r')
    try {
      // A folder can be opened, but not read.
      readSync(descriptor, Buffer.alloc(1))
      return fstatSync(descriptor).size
    } finally {
      closeSync(descriptor)
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    const reasons: Readonly<Record<string, string>> = {
      ENOENT: 'there is no such file',
      EACCES: 'it may not be read',
      EISDIR: 'it is a folder',
    }
    const why = typeof code === 'string' ? (reasons[code] ?? code) : String(error)
    throw new ArgumentError(`Cannot read "${file}": ${why}`)
  }
}
