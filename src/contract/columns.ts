/** A row as a SQL driver answers it: numbers, strings and null. */
export type Row = Readonly<Record<string, Value>>

export type Value = string | number | null

const NO_TEXTS: readonly string[] = []

/** A field as a column. */
export function orNull<Value extends string | number>(value: Value | undefined): Value | null {
  return value ?? null
}

/** A list of texts as a column; NULL when there is none. */
export function textsColumn(values: readonly string[]): string | null {
  return values.length === 0 ? null : JSON.stringify(values)
}

/** A list of texts that a column has; see {@link textsColumn}. */
export function textsOf(value: Value | undefined): readonly string[] {
  return typeof value === 'string' ? (JSON.parse(value) as readonly string[]) : NO_TEXTS
}

/** A list that may be absent as a column; NULL when it is. */
export function someTextsColumn(values: readonly string[] | undefined): string | null {
  return values === undefined ? null : JSON.stringify(values)
}

/** A list that a column may have; see {@link someTextsColumn}. */
export function someTextsOf(value: Value | undefined): readonly string[] | undefined {
  return typeof value === 'string' ? (JSON.parse(value) as readonly string[]) : undefined
}

/** The text that a column has. */
export function textOf(value: Value | undefined): string | undefined {
  return typeof value === 'string' ? value : undefined
}

/** The number that a column has. */
export function numberOf(value: Value | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined
}
