/** How important a line of a log is. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** A line that a task has logged. */
export interface LogLine {
  readonly at: Date
  readonly level: LogLevel
  readonly message: string
  /** What was logged with it, as JSON shows it, as it was then. */
  readonly fields?: Readonly<Record<string, unknown>>
  /** Absent for a line from outside of runs, as are the next two. */
  readonly runId?: string
  readonly taskIdentifier?: string
  readonly attemptNumber?: number
}

/**
 * Logs lines of a run: to the `log` events of its engine, to the console page of the run, and, if `log` has no listener, to
 * `console`. It never throws. See docs/operations.md#log.
 */
export interface Logger {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}
