/** JSON on one line has none: what separates the chunks of a row. */
export const BREAK = '\n'

/** The JSON text of a chunk on one line. */
export function onOneLine(text: string): string {
  return text.includes(BREAK) ? JSON.stringify(JSON.parse(text)) : text
}
