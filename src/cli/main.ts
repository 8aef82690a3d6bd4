#!/usr/bin/env node
import { COMMANDS } from './commands/all.ts'
import { ownVersion } from './loading/names.ts'
import { processTerminal } from './output/terminal.ts'
import { Program } from './program.ts'

quietSqlite()
const terminal = processTerminal()
// Commands wait for other processes: nothing else need keep this one alive meanwhile.
const release = terminal.clock.hold?.({ kind: 'call', id: 'a command' })
process.exitCode = await new Program(COMMANDS, ownVersion()).run(process.argv.slice(2), terminal)
release?.()

/** Node 22 warns of its own SQLite in each process, which says nothing to the user of a command. */
function quietSqlite(): void {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = (warning: string | Error, ...rest: readonly never[]): void => {
    if (!String(warning).startsWith('SQLite is an experimental')) emitWarning(warning, ...rest)
  }
}
