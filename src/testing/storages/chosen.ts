import { mkdtempSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Storage } from '../../contract/storage.ts'
import { memoryStorage } from '../../storage/memory/memory.ts'
import { sqliteStorage } from '../../storage/sqlite/sqlite.ts'
import { alwaysAsync } from './async.ts'
import { flakyStorage } from './flaky.ts'
import { atProcessEnd } from './process-end.ts'
import { temporaryPostgres } from './temporary-postgres.ts'
import { TestError } from '../test-error.ts'

const STDERR = 2

/** The storages that `WAITPOINT_STORAGE` can name. Each engine gets a new one. */
const kinds: Readonly<Record<string, () => Storage>> = {
  memory: memoryStorage,
  'memory-async': () => alwaysAsync(memoryStorage()),
  flaky: () => flakyStorage(memoryStorage(), { seed: (seeds += 1) }),
  sqlite: () => sqliteStorage(join(temporaryFolder(), `${(files += 1)}.db`)),
  postgres: temporaryPostgres,
}

/** The folder of the SQLite files of this process, removed at its end. */
let folder: string | undefined
let files = 0
let seeds = 0

function temporaryFolder(): string {
  if (folder !== undefined) return folder
  const made = mkdtempSync(join(tmpdir(), 'waitpoint-'))
  atProcessEnd(() => rmSync(made, { recursive: true, force: true }))
  return (folder = made)
}

/** The number of engines for each kind of storage, reported at the end of the process. */
const uses = new Map<string, number>()

/**
 * A new storage of the kind that `WAITPOINT_STORAGE` names; without the variable, one in memory. At the end of the
 * process, one line on standard error reports the kinds and numbers, unless all were plain memory.
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
    // The process is ending, so only a synchronous write arrives.
    writeSync(STDERR, `waitpoint/testing ran on storage ${counts.join(' and ')}\n`)
  } catch {
    // The reader of the output has gone.
  }
}
