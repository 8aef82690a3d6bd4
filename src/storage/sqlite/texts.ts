import type { SqlRow, SqlValue } from './handle.ts'

const ESCAPE = '\u0001'
/** Drivers cut a text at its first NUL, and replace half of a surrogate pair. */
const UNSTORABLE = new RegExp(`[\0${ESCAPE}]|\\p{Surrogate}`, 'gu')
const ESCAPED = new RegExp(`${ESCAPE}([0-9a-f]{4})`, 'g')

/** A value as every driver stores it: characters that it would change are escaped, each in its place. */
export function storable(value: SqlValue): SqlValue {
  if (typeof value !== 'string' || !isUnstorable(value)) return value
  return value.replace(UNSTORABLE, (one) => ESCAPE + one.charCodeAt(0).toString(16).padStart(4, '0'))
}

/** A value as it was given to {@link storable}. */
export function restored(value: SqlValue): SqlValue {
  if (typeof value !== 'string' || !isEscaped(value)) return value
  return value.replace(ESCAPED, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/**
 * The texts of one database on their way in and out. Most values need nothing, and every statement and row comes by here: those are passed
 * on as they are, without a copy.
 */
export class MovedTexts {
  #length = 0

  /** Goes up with the length of every text that is written or read. */
  get length(): number {
    return this.#length
  }

  storableValues(values: readonly SqlValue[]): readonly SqlValue[] {
    return this.#hasAny(values, isUnstorable) ? values.map(storable) : values
  }

  restoredValues(values: readonly SqlValue[]): readonly SqlValue[] {
    return this.#hasAny(values, isEscaped) ? values.map(restored) : values
  }

  restoredRow(row: SqlRow): SqlRow {
    let isAny = false
    for (const name in row) {
      const value = row[name]
      if (typeof value !== 'string') continue
      this.#length += value.length
      isAny ||= isEscaped(value)
    }
    if (!isAny) return row
    return Object.fromEntries(Object.entries(row).map(([column, value]) => [column, restored(value)]))
  }

  #hasAny(values: readonly SqlValue[], isMeant: (text: string) => boolean): boolean {
    let hasAny = false
    for (const value of values) {
      if (typeof value !== 'string') continue
      this.#length += value.length
      hasAny ||= isMeant(value)
    }
    return hasAny
  }
}

/** Texts as a list for `json_each`, whose values are compared with a column. */
export function listOfTexts(values: Iterable<string>): string {
  return JSON.stringify(Array.from(values, storable))
}

/** Without a pattern, which would take ten times as long for a large text. */
function isUnstorable(value: string): boolean {
  return value.includes('\0') || value.includes(ESCAPE) || !value.isWellFormed()
}

function isEscaped(value: string): boolean {
  return value.includes(ESCAPE)
}
