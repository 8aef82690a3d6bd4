/** Markup. Only {@link html} makes it, so that no stored value can pass for it. */
export class Html {
  readonly #markup: string

  constructor(markup: string, proof: typeof MADE_HERE) {
    if (proof !== MADE_HERE) throw new TypeError('Cannot make markup of a text: use html`…`')
    this.#markup = markup
  }

  toString(): string {
    return this.#markup
  }
}

const MADE_HERE: unique symbol = Symbol('made by html`…`')

/** What a template takes: markup as it is, everything else as text. Nothing is shown for `undefined` and `false`. */
export type Piece = Html | string | number | undefined | false | readonly Piece[]

/**
 * Markup with values in it. A text is escaped, in attributes too, which have to be in double quotes; its control marks
 * are made visible.
 */
export function html(texts: TemplateStringsArray, ...values: readonly Piece[]): Html {
  let markup = texts[0] ?? ''
  for (const [at, value] of values.entries()) markup += markupOf(value) + (texts[at + 1] ?? '')
  return new Html(markup, MADE_HERE)
}

/** A text as it is, for a field that is sent back: escaped, and nothing else. */
export function exactly(text: string): Html {
  return new Html(escaped(text), MADE_HERE)
}

function markupOf(value: Piece): string {
  if (value === undefined || value === false) return ''
  if (value instanceof Html) return value.toString()
  if (Array.isArray(value)) return value.map(markupOf).join('')
  return escaped(visible(String(value)))
}

/** The first is in all others, which come after it. */
const ESCAPES = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
] as const

/**
 * A text as markup, for what writes markup without {@link html}. Of a large text that is sent back there may be millions of marks: a
 * replacement with a call for each takes three times as long.
 */
export function escaped(text: string): string {
  return ESCAPES.reduce(
    (markup, [mark, escape]) => (markup.includes(mark) ? markup.split(mark).join(escape) : markup),
    text,
  )
}

/** Marks that change how other text is shown, or are not shown at all: all but tabulators and ends of lines. */
const HIDDEN_MARKS =
  // eslint-disable-next-line no-control-regex -- those are the marks that are looked for
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu

/** A JSON text of the same value, for a field that is sent back: its control marks are escapes, so that they can be seen. */
export function plainJson(text: string): string {
  const escape = (mark: string): string =>
    Array.from(
      { length: mark.length },
      (_, at) => `\\u${mark.charCodeAt(at).toString(16).padStart(4, '0')}`,
    ).join('')
  return text.replace(HIDDEN_MARKS, escape)
}

/** A text whose control marks, such as those that turn the direction of writing, are shown by their numbers. */
function visible(text: string): string {
  return text.replace(
    HIDDEN_MARKS,
    (mark) => `⟨U+${(mark.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  )
}
