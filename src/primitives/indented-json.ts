/**
 * A value that is nested deeper is written on one line: a line is indented by its depth, and thousands of brackets
 * would be millions of spaces.
 */
const DEEPEST = 20

/** A JSON text over several lines, in the size of the one over a single line. */
export function indentedJson(value: unknown): string {
  return JSON.stringify(value, undefined, isDeeper(value, DEEPEST) ? undefined : 2)
}

function isDeeper(value: unknown, most: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  return most === 0 || Object.values(value).some((inner) => isDeeper(inner, most - 1))
}
