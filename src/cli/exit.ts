import { WaitpointError } from '../api/errors.ts'

/** How the program ends. The numbers never change; see docs/console-and-cli.md. */
export const EXIT = {
  ok: 0,
  /** The command was understood and could not be done; or what it watched ended badly. */
  failed: 1,
  /** The arguments are wrong. Nothing was done. */
  usage: 2,
  /** There is no such run, token or task. */
  notFound: 3,
  /** The storage or the server cannot be opened or reached. */
  unreachable: 4,
  /** Ended by Ctrl-C. */
  interrupted: 130,
} as const

export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** The arguments are wrong. Its message is one line. */
export class UsageError extends Error {
  override readonly name: string = 'UsageError'
}

/** The storage or the server cannot be used at all. */
export class UnreachableError extends Error {
  override readonly name: string = 'UnreachableError'
}

const BY_CODE: Readonly<Record<string, ExitCode>> = {
  ERR_RUN_NOT_FOUND: EXIT.notFound,
  ERR_TOKEN_NOT_FOUND: EXIT.notFound,
  ERR_TASK_NOT_FOUND: EXIT.notFound,
  ERR_API_UNAVAILABLE: EXIT.unreachable,
  ERR_API_UNAUTHORIZED: EXIT.unreachable,
  ERR_API_UNREADABLE: EXIT.unreachable,
  ERR_STORAGE_UNAVAILABLE: EXIT.unreachable,
}

/** The exit code for something that was thrown. */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (thrown instanceof UsageError) return EXIT.usage
  if (thrown instanceof UnreachableError) return EXIT.unreachable
  return (thrown instanceof WaitpointError && BY_CODE[thrown.code]) || EXIT.failed
}
