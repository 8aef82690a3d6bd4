import { writeSync } from 'node:fs'
import type { SqliteHandle, SqliteStatement } from '../../../src/storage/sqlite/handle.ts'

/** What a process can be killed in the middle of. */
export type Phase = 'start' | 'migration' | 'commit' | 'checkpoint'

const STDOUT = 1

/** Says at once that it begins, whatever the process is busy with from then on. */
export function announceBegin(): void {
  writeSync(STDOUT, 'begin\n')
}

export function announceEnd(): void {
  writeSync(STDOUT, 'end\n')
}

/** Wraps a database so that it announces its part of a phase. */
export function announcing(handle: SqliteHandle, phase: Phase): SqliteHandle {
  return {
    exec: (sql) => execute(handle, sql, phase),
    prepare(sql) {
      const statement = handle.prepare(sql)
      const isCommit = sql === 'COMMIT' && (phase === 'commit' || phase === 'checkpoint')
      return isCommit ? announcingRun(statement) : statement
    },
    close: () => handle.close(),
  }
}

function execute(handle: SqliteHandle, sql: string, phase: Phase): unknown {
  // Every commit is a checkpoint as well.
  const isLimit = phase === 'checkpoint' && sql.startsWith('PRAGMA wal_autocheckpoint')
  // Only migrations do their transactions like this, each step in one.
  const isMigration = phase === 'migration'
  if (isMigration && sql === 'BEGIN IMMEDIATE') announceBegin()
  const answer = handle.exec(isLimit ? 'PRAGMA wal_autocheckpoint = 1' : sql)
  if (isMigration && sql === 'COMMIT') announceEnd()
  return answer
}

function announcingRun(statement: SqliteStatement): SqliteStatement {
  return {
    run: (...parameters) => announced(() => statement.run(...parameters)),
    get: (...parameters) => statement.get(...parameters),
    all: (...parameters) => statement.all(...parameters),
  }
}

function announced<Result>(act: () => Result): Result {
  announceBegin()
  const result = act()
  announceEnd()
  return result
}
