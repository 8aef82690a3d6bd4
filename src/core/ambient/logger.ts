import type { Logger } from '../../api/log.ts'
import { currentAttempt } from '../attempt/attempt.ts'
import { loggerOf, printLine, readEntry } from '../host/log-line.ts'
import { findEngine } from './current-engine.ts'

/**
 * Logs lines of the current run. Outside of runs they are those of the default engine, or lines on the console where there
 * is none. It never throws; see docs/operations.md#log.
 *
 * @example
 * ```ts
 * logger.info('the mail is out', { to: 'ada@example.com' })
 * ```
 */
export const logger: Logger = /* @__PURE__ */ loggerOf((entry) => {
  // Also of an attempt that has ended: what it logs is news of its run.
  const engine = currentAttempt()?.kernel.namespaces ?? findEngine()
  if (engine instanceof Error) printLine({ level: entry.level, ...readEntry(entry) })
  else engine.log(entry)
})
