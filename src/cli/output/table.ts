import { oneLine, shortened } from './text.ts'

/** A column of a table: its title, and whether it gives way where a terminal is narrow. */
export interface Column {
  readonly title: string
  readonly isFlexible?: boolean
}

const GAP = '  '
/** A flexible column is never narrower. */
const NARROWEST = 8

/** Rows below their titles. For a terminal of `width` columns flexible cells are cut; a pipe gets all of them. */
export function tableText(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined,
): string {
  const cells = [columns.map(({ title }) => title.toUpperCase()), ...rows.map((row) => row.map(oneLine))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => (row[at] ?? '').length)))
  if (width !== undefined) narrow(widths, columns, width)
  return cells
    .map((row) =>
      row
        .map((cell, at) => fitted(cell, widths[at] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

function fitted(cell: string, width: number): string {
  return shortened(cell, width).padEnd(width)
}

/** Takes from the widest flexible column until the table fits. */
function narrow(widths: number[], columns: readonly Column[], width: number): void {
  const isFlexible = (at: number): boolean =>
    columns[at]?.isFlexible === true && (widths[at] ?? 0) > NARROWEST
  let over = widths.reduce((sum, each) => sum + each, GAP.length * (widths.length - 1)) - width
  while (over > 0) {
    const widest = widths.reduce(
      (best, each, at) => (isFlexible(at) && each > (widths[best] ?? 0) ? at : best),
      -1,
    )
    if (widest < 0) return
    widths[widest] = (widths[widest] ?? 0) - 1
    over -= 1
  }
}

/** Names and values, one below the other. A value of several lines is indented. */
export function factsText(facts: readonly (readonly [name: string, value: string | undefined])[]): string {
  const there = facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined)
  const width = Math.max(...there.map(([name]) => name.length))
  return there
    .map(
      ([name, value]) =>
        `${name.padEnd(width)}${GAP}${value.replaceAll('\n', `\n${' '.repeat(width)}${GAP}`)}`,
    )
    .join('\n')
}
