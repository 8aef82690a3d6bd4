/* eslint-disable no-console -- A task that logs asks for a line on the console. */
import { inspect } from 'node:util'
import type { Logger, LogLevel, LogLine } from '../../api/log.ts'
import { type PrintedLine, textOfLine } from '../../api/log-text.ts'
import type { LogEntry } from '../attempt/log-entry.ts'

/** A longer message, or longer fields, are cut. */
const LONGEST = 8_192

/** A logger whose lines go to `write`. */
export function loggerOf(write: (entry: LogEntry) => void): Logger {
  const at = (level: LogLevel) => (message: string, fields?: object) => write({ level, message, fields })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}

/** The message and the fields as they are now: an object that is changed later does not change the line. */
export function readEntry({ message, fields }: LogEntry): Pick<LogLine, 'message' | 'fields'> {
  const text = cut(typeof message === 'string' ? message : textOf(message))
  if (fields === undefined) return { message: text }
  const whole = textOf(typeof fields === 'object' ? fields : { value: fields })
  // Made of an object; `null` is none.
  const read: unknown = whole.length > LONGEST ? { cut: cut(whole) } : JSON.parse(whole)
  return { message: text, fields: (read ?? {}) as Readonly<Record<string, unknown>> }
}

/** A value as JSON. One that cannot be JSON is shown as Node shows it. */
function textOf(value: unknown): string {
  try {
    const text: unknown = JSON.stringify(value, shown)
    if (typeof text === 'string') return text
  } catch {
    // A loop, or code of the value that throws.
  }
  return JSON.stringify({ value: inspect(value) })
}

function shown(_key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return String(value)
  if (!(value instanceof Error)) return value
  const { name, message, stack, cause } = value
  return { name, message, stack, ...(cause === undefined ? {} : { cause }) }
}

function cut(text: string): string {
  return text.length <= LONGEST ? text : `${text.slice(0, LONGEST)}…`
}

/** Prints a line on the console of the process. */
export function printLine(line: PrintedLine): void {
  const { level, runId, taskIdentifier } = line
  console[level](textOfLine(line, runId === undefined ? '' : `${taskIdentifier} ${runId}: `))
}
