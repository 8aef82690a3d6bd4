import type { Given } from './given.ts'
import type { ExitCode } from './exit.ts'
import type { OptionSpec, WordSpec } from './signature.ts'
import type { Terminal } from './output/terminal.ts'

/** One command of the program. */
export interface CliCommand {
  /** The words that call it: `runs list`. */
  readonly name: string
  readonly summary: string
  /** For the program itself: the help does not list it. */
  readonly isHidden?: boolean
  readonly words?: readonly WordSpec[]
  readonly options: Readonly<Record<string, OptionSpec>>
  /** More of its help: a paragraph. */
  readonly about?: string
  /** Checks its arguments first: a `UsageError` comes before anything happens. */
  run(given: Given, terminal: Terminal): Promise<ExitCode>
}
