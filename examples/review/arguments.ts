import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** The options of the command line. */
export interface Arguments {
  readonly file: string
  readonly bytes: number
  /** So long a person has for the answer. */
  readonly waitMs: number
  /** Store everything in this SQLite file, and continue where an earlier start was stopped. */
  readonly db: string | undefined
}

/** A wrong command line or an unreadable file: one line for people. */
export class ArgumentError extends Error {}

export const HELP = `A task reads a file as a model would write it, asks whether to publish it, and waits for the answer: yours, or its own.

Usage: npm start -- [options] [file]

  file              what is reviewed (default: README.md)
  --wait <seconds>  approve it after so long without an answer, at most 600 (default: 20; without a terminal 0)
  --db <file>       keep the run in this SQLite file: a start after Ctrl-C or kill -9 goes on with it
  --help            say this, and end
`

const MORE = 'npm start -- --help says more'

/** Reads the command line and checks that the file can be read; `undefined` if it asks for help. */
export function readArguments(argv: readonly string[], isTerminal: boolean): Arguments | undefined {
  if (argv.includes('--help') || argv.includes('-h')) return undefined
  const rest = [...argv]
  const db = take(rest, '--db', 'the path of a file')
  const wait = take(rest, '--wait', 'a number of seconds')
  const waitS = wait === undefined ? (isTerminal ? 20 : 0) : /^\d{1,3}$/.test(wait) ? Number(wait) : Infinity
  if (waitS > 600)
    throw new ArgumentError(`Cannot wait for ${wait} s: it must be a number from 0 to 600; ${MORE}`)
  const unknown = rest.find((argument) => argument.startsWith('-'))
  if (unknown !== undefined) throw new ArgumentError(`Cannot use ${unknown}: it is not an option; ${MORE}`)
  if (rest.length > 1)
    throw new ArgumentError(`Cannot review ${rest.length} files: only one is allowed; ${MORE}`)
  const [file = 'README.md'] = rest
  return { file, bytes: sizeOf(file), waitMs: waitS * 1000, db }
}

/** Takes an option and its value out of the arguments. */
function take(rest: string[], option: string, needed: string): string | undefined {
  const at = rest.indexOf(option)
  if (at === -1) return undefined
  const [, value] = rest.splice(at, 2)
  if (value === undefined || value.startsWith('-'))
    throw new ArgumentError(`Cannot use ${option}: it needs ${needed}; ${MORE}`)
  return value
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
