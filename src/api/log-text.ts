import type { LogLine } from './log.ts'

/** A line, maybe from outside of every engine, where there is no clock. */
export type PrintedLine = Omit<LogLine, 'at'> & { readonly at?: Date }

/** A line as a person reads it: one line, whatever its text is. */
export function textOfLine({ at, level, message, fields }: PrintedLine, origin = ''): string {
  const instant = at === undefined ? '' : `${at.toISOString()} `
  const more = fields === undefined ? '' : ` ${JSON.stringify(fields)}`
  return `${instant}${level} ${origin}${message}${more}`.replace(/[\p{Cc}\u2028\u2029]/gu, escaped)
}

function escaped(mark: string): string {
  return mark === '\n' ? '\\n' : `\\u${mark.charCodeAt(0).toString(16).padStart(4, '0')}`
}
