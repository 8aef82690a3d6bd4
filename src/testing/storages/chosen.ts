import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from '../../contract/storage.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { sqliteStorage } from '../../storage/sqlite/sqlite.ts'
import { alwaysAsync } from './async.ts'
import { atProcessEnd } from './process-end.ts'
import { temporaryPostgres } from './temporary-postgres.ts'
import { TestError } from '../test-error.ts'

const STDERR = 2

/** Makes the storages that `WAITPOINT_STORAGE` may name, a new one for every engine. */
const kinds: Readonly<Record<string, () => Storage>> = {
  memory: memoryStorage,
  'memory-async': () => alwaysAsync(memoryStorage()),
  sqlite: () => sqliteStorage(join(temporaryFolder(), `${(files += 1)}.db`)),
  postgres: temporaryPostgres,
}

/** Of the files of SQLite storages: one for this process, gone when it ends. */
let folder: string | undefined
let files = 0

function temporaryFolder(): string {
  if (folder !== undefined) return folder
  const made = mkdtempSync(join(tmpdir(), 'waitpoint-'))
  atProcessEnd(() => rmSync(made, { recursive: true, force: true }))
  return (folder = made)
}

/** How many engines got which storage: what is said at the end of the process. */
const uses = new Map<string, number>()

/**
 * A new storage of the kind that `WAITPOINT_STORAGE` names; in memory without it. Which one it was, and for how many
 * engines, is said in one line on the standard error output when the process ends, unless it was plain memory.
 *
 * @throws TestError `ERR_UNKNOWN_STORAGE` when it names something else.
 */
export function chosenStorage(): Storage {
  const kind = process.env['WAITPOINT_STORAGE'] ?? 'memory'
  const make = kinds[kind]
  if (make === undefined) {
    const known = Object.keys(kinds).map((name) => `"${name}"`)
    throw new TestError(
      'ERR_UNKNOWN_STORAGE',
      `Cannot use WAITPOINT_STORAGE "${kind}": use ${known.slice(0, -1).join(', ')} or ${known.at(-1)}`,
    )
  }
  if (kind !== 'memory') countUse(kind)
  return make()
}

function countUse(kind: string): void {
  if (uses.size === 0) atProcessEnd(sayUses)
  uses.set(kind, (uses.get(kind) ?? 0) + 1)
}

function sayUses(): void {
  const counts = Array.from(uses, ([kind, count]) => `"${kind}" (${count} engine${count === 1 ? '' : 's'})`)
  uses.clear()
  try {
    // The process is ending: only what is written at once is written at all.
    writeSync(STDERR, `waitpoint/testing ran on storage ${counts.join(' and ')}\n`)
  } catch {
    // Nobody reads it any more.
  }
}
