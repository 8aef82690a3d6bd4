import type { LogLevel } from '../../api/log.ts'

/** What a task logs, as it was given. */
export interface LogEntry {
  readonly level: LogLevel
  readonly message: unknown
  readonly fields: unknown
}
