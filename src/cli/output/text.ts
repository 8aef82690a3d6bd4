/**
 * Characters that a terminal acts on or does not show: stored text may hold any of them. Line feeds and tabs are handled
 * by the callers.
 */
// eslint-disable-next-line no-control-regex -- these are what it looks for
const UNSAFE = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g

/** A text of any origin, with its invisible characters shown by their numbers. */
export function visible(text: string): string {
  return text.replace(UNSAFE, (character) => `⟨U+${hex(character)}⟩`)
}

/** A text of any origin on one line. */
export function oneLine(text: string): string {
  return visible(text.replace(/[\n\t]+/g, ' '))
}

/** JSON in which no character is more than text to a terminal. */
export function shownJson(value: unknown, indent?: number): string {
  // JSON leaves no control characters below U+0020 in strings; its own line feeds are to stay.
  const text = (JSON.stringify(value, undefined, indent) as string | undefined) ?? 'null'
  return text.replace(
    /[\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g,
    (character) => `\\u${hex(character)}`,
  )
}

function hex(character: string): string {
  return (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
}

/** The first characters, and an ellipsis for the rest. */
export function shortened(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, Math.max(0, most - 1))}…`
}
