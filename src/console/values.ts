import type { StatusCount } from '../contract/storage.ts'
import { plainValue } from '../api/noted-value.ts'
import { fromJson } from '../api/serialize.ts'
import { LAST_INSTANT } from '../primitives/duration.ts'
import { html, type Html } from '../primitives/html.ts'
import { indentedJson } from '../primitives/indented-json.ts'

/** So many characters of one value are shown. */
const MOST_CHARACTERS = 20_000
/** So many of a name: an id, a tag, a key. */
const MOST_OF_A_NAME = 128

/** A name that may be as long as its author liked. */
export function short(text: string, most: number = MOST_OF_A_NAME): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`
}

/** A block of text, cut if it is long. `whole`: where all of it can be had. */
export function block(
  text: string,
  {
    label,
    whole,
    isEnd = false,
  }: { readonly label: string; readonly whole?: string; readonly isEnd?: boolean },
): Html {
  const isCut = text.length > MOST_CHARACTERS
  const shown = !isCut ? text : isEnd ? text.slice(-MOST_CHARACTERS) : text.slice(0, MOST_CHARACTERS)
  const place = isEnd ? 'The last' : 'The first'
  return html`<pre tabindex="0" role="region" aria-label="${label}" ${isEnd && html`data-tail`}>${shown}</pre>
    ${
      isCut &&
      html`<p class="note">
        ${place} ${count(MOST_CHARACTERS)} of ${count(text.length)} characters.
        ${whole !== undefined && html`<a href="${whole}" download>Download all of it</a>`}
      </p>`
    }`
}

/** A stored JSON text, over several lines if it is short enough for that. */
export function indentedText(text: string | undefined): string {
  return lines(text, fromJson)
}

/** Like `indentedText()`, but a value with notes is its JSON. */
export function indentedPlain(text: string | undefined): string {
  return lines(text, (stored) => plainValue(fromJson(stored)))
}

function lines(text: string | undefined, read: (text: string) => unknown): string {
  if (text === undefined) return 'undefined'
  return text.length > MOST_CHARACTERS ? text : indentedJson(read(text))
}

export function count(number: number): string {
  return number.toLocaleString('en-US')
}

/** A count that has a bound: with a + there may be more. */
export function bounded({ count: number, isMore }: StatusCount): string {
  return `${count(number)}${isMore ? '+' : ''}`
}

/** An instant as a time from now, with the instant itself on hover. The script of the pages keeps it up to date. `left`: what is left until it. */
export function moment(at: number | undefined, now: number, kind?: 'left'): Html {
  if (at === undefined) return html`<span class="none">–</span>`
  const iso = isoOf(at)
  const text = relative(at, now)
  if (kind === undefined) return html`<time datetime="${iso}" title="${iso}">${text}</time>`
  return html`<time datetime="${iso}" title="${iso}" data-left>${text.replace('in ', '')}</time>`
}

export function isoOf(at: number): string {
  // A storage may keep a number that is no instant.
  return Math.abs(at) <= LAST_INSTANT ? new Date(at).toISOString() : String(at)
}

const UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1_000, 's'],
] as const

function relative(at: number, now: number): string {
  const ms = Math.abs(at - now)
  if (ms < 1_000) return 'now'
  const first = UNITS.findIndex(([size]) => ms >= size)
  const [size, unit] = UNITS[first] ?? UNITS[3]
  const [nextSize, nextUnit] = UNITS[first + 1] ?? UNITS[3]
  const more = Math.floor((ms % size) / nextSize)
  // Two units where the smaller one matters.
  const text = `${Math.floor(ms / size)} ${unit}${first < 2 && more > 0 ? ` ${more} ${nextUnit}` : ''}`
  return at > now ? `in ${text}` : `${text} ago`
}

/** How long something took. */
export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
  return `${Math.floor(ms / 86_400_000)} d ${Math.floor((ms % 86_400_000) / 3_600_000)} h`
}

/** A status with its mark, which is a shape as well as a color. */
export function badge(status: string): Html {
  return marked(status.toLowerCase().replaceAll('_', '-'), status)
}

/** The mark of a status where there is no room for its word. */
export function statusMark(status: string): Html {
  const mark = status.toLowerCase().replaceAll('_', '-')
  return html`<span class="status ${mark}"
    ><svg class="i" role="img" aria-label="${status}"><use href="#i-${mark}" /></svg
  ></span>`
}

/** A word with the mark of a status; the marks are in the frame of each page. */
export function marked(mark: string, word: string): Html {
  return html`<span class="status ${mark}"
    ><svg class="i" aria-hidden="true"><use href="#i-${mark}" /></svg>${word}</span
  >`
}

/** Names and values under each other; what is absent is left out. */
export function facts(rows: readonly (readonly [name: string, value: Html | string | undefined])[]): Html {
  return html`<dl class="facts">
    ${rows
      .filter(([, value]) => value !== undefined)
      .map(
        ([name, value]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${value}</dd>
          </div>`,
      )}
  </dl>`
}

/** Rows below the names of their columns. `list`: of which new ones come first. */
export function table(columns: readonly string[], rows: readonly Html[], kind?: 'list'): Html {
  return html`<table>
    <thead>
      <tr>
        ${columns.map((name) => html`<th scope="col">${name}</th>`)}
      </tr>
    </thead>
    <tbody ${kind === 'list' && html`data-list`}>
      ${rows}
    </tbody>
  </table>`
}
