import { instantText, relativeText } from './time.ts'
import { type Column, tableText } from './table.ts'
import type { Terminal } from './terminal.ts'

/** One page of records, as a table. */
export interface ShownPage<Item> {
  readonly columns: readonly Column[]
  readonly items: readonly Item[]
  readonly row: (item: Item) => readonly string[]
  /** What to say when there is nothing. */
  readonly none: string
  /** The value of `--after` for the next page. */
  readonly next: string | undefined
}

/** Prints a page: rows as the output; what to know about them beside it. */
export function printPage<Item>(
  { columns, items, row, none, next }: ShownPage<Item>,
  terminal: Terminal,
): void {
  if (items.length === 0) {
    terminal.note(none)
    return
  }
  terminal.print(tableText(columns, items.map(row), terminal.width))
  if (next !== undefined) terminal.note(`There are more: --after ${next}`)
}

/** Narrower terminals get no instants in tables: ids take a third of a line already. */
const WITH_INSTANTS = 110

/** An instant in a table. */
export function cellOfMoment(at: Date | undefined, { clock, width }: Terminal): string {
  if (at === undefined) return ''
  const relative = relativeText(at.getTime(), clock.now())
  return width !== undefined && width < WITH_INSTANTS
    ? relative
    : `${relative} (${instantText(at.getTime())})`
}
