import type { SqlRow, SqlValue } from './handle.ts'

const ESCAPE = '\u0001'
/** Drivers cut a text at its first NUL, and replace half of a surrogate pair. */
const UNSTORABLE = new RegExp(`[\0${ESCAPE}]|\\p{Surrogate}`, 'gu')
const ESCAPED = new RegExp(`${ESCAPE}([0-9a-f]{4})`, 'g')

/** A value as every driver stores it: characters that it would change are escaped, each in its place. */
export function storable(value: SqlValue): SqlValue {
  if (!isUnstorable(value)) return value
  return value.replace(UNSTORABLE, (one) => ESCAPE + one.charCodeAt(0).toString(16).padStart(4, '0'))
}

/** A value as it was given to {@link storable}. */
export function restored(value: SqlValue): SqlValue {
  if (!isEscaped(value)) return value
  return value.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

// Most values need neither, and every statement and row comes by here: those are passed on as they are, without a copy.

export function storableValues(values: readonly SqlValue[]): readonly SqlValue[] {
  for (const value of values) if (isUnstorable(value)) return values.map(storable)
  return values
}

export function restoredValues(values: readonly SqlValue[]): readonly SqlValue[] {
  for (const value of values) if (isEscaped(value)) return values.map(restored)
  return values
}

export function restoredRow(row: SqlRow): SqlRow {
  for (const name in row) {
    if (isEscaped(row[name]))
      return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, restored(value)]))
  }
  return row
}

/** Texts as a list for `json_each`, whose values are compared with a column. */
export function listOfTexts(values: Iterable<string>): string {
  return JSON.stringify(Array.from(values, storable))
}

/** Without a pattern, which would take ten times as long for a large text. */
function isUnstorable(value: SqlValue): value is string {
  return (
    typeof value === 'string' && (value.includes('\0') || value.includes(ESCAPE) || !value.isWellFormed())
  )
}

function isEscaped(value: SqlValue | undefined): value is string {
  return typeof value === 'string' && value.includes(ESCAPE)
}
