import { html, type Html } from '../primitives/html.ts'
import { indentedJson } from '../primitives/indented-json.ts'
import { type AnswerChoice, cut, type AnswerField, type FormModel, readable } from './form.ts'
import type { Wording } from './texts.ts'
import { BOOLEANS } from './values.ts'

/** So many properties of an object are shown, and so many rows and columns of a table. */
const MOST_ENTRIES = 50
const MOST_COLUMNS = 6
/** So many characters of one text are shown, and of all of them together. */
const MOST_OF_A_TEXT = 5_000
const MOST_OF_ALL = 60_000
const MOST_OF_A_CELL = 300
/** So much is shown in short. */
const MOST_IN_SHORT = 6
const MOST_OF_A_LINE = 100

/** The data of a question for people: names and values, lists and tables; what lies deeper is JSON. */
export function shownData(data: unknown, wording: Wording): Html | undefined {
  return data === undefined || data === null ? undefined : new DataView(wording).whole(data)
}

/** The first names and values of the data of a question, each in a line. */
export function dataInShort(
  data: unknown,
  wording: Wording,
): { readonly entries: readonly (readonly [name: string, text: string])[]; readonly rest: number } {
  const all = isObject(data) ? entriesOf(data) : [[wording.texts.details, data] as const]
  const entries = all
    .slice(0, MOST_IN_SHORT)
    .map(([name, value]) => [cut(name, MOST_OF_A_LINE), lineOf(value, wording)] as const)
  return { entries, rest: all.length - entries.length }
}

function lineOf(value: unknown, wording: Wording): string {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return '–'
  if (typeof value === 'boolean') return labelOf([], value, wording)
  if (Array.isArray(value) && value.length <= MOST_IN_SHORT && value.every(isScalar))
    return cut(value.map((item) => lineOf(item, wording)).join(', '), MOST_OF_A_LINE)
  if (Array.isArray(value)) return `${wording.number(value.length)} entries`
  return cut(isObject(value) ? Object.keys(value).map(readable).join(', ') : textOf(value), MOST_OF_A_LINE)
}

/** An answer for people, under the labels of the form that it was given in. */
export function shownAnswer(model: FormModel, answer: unknown, wording: Wording): Html | undefined {
  if (model.kind === 'json') return shownData(answer, wording)
  return shownData(labelledValue(model.root, answer, wording), wording)
}

/** An answer that is one of a few choices, in a word. */
export function shortAnswer(model: FormModel, answer: unknown, wording: Wording): string | undefined {
  if (model.kind === 'json') return undefined
  const { root } = model
  if (root.kind !== 'choice' && root.kind !== 'boolean') return undefined
  const options = root.kind === 'choice' ? root.options : BOOLEANS
  return options.some(({ value }) => value === answer) ? labelOf(options, answer, wording) : undefined
}

/** What a choice is called: by its label, else by its value. */
export function labelOf(options: readonly AnswerChoice[], value: unknown, { texts }: Wording): string {
  const label = options.find((option) => option.value === value)?.label
  if (label !== undefined) return label
  return value === true ? texts.yes : value === false ? texts.no : textOf(value)
}

/** A JSON text over several lines, cut if it is long. */
export function jsonBlock(value: unknown, wording: Wording): Html {
  const text = jsonOf(value)
  const isCut = text.length > MOST_OF_A_TEXT
  return html`<pre tabindex="0">${cut(text, MOST_OF_A_TEXT)}</pre>
    ${isCut && html`<p class="hint">${cutNote(text, wording)}</p>`}`
}

/** Names and values in their order. A name may be there twice. */
class Entries {
  readonly list: readonly (readonly [name: string, value: unknown])[]

  constructor(list: Entries['list']) {
    this.list = list
  }

  toJSON(): unknown {
    return Object.fromEntries(this.list)
  }
}

function labelled(fields: readonly AnswerField[], answer: object, wording: Wording): Entries {
  const values = new Map<string, unknown>(Object.entries(answer))
  const known = fields.filter(({ key }) => values.has(key))
  const keys = new Set(fields.map(({ key }) => key))
  const other = Array.from(values).filter(([key]) => !keys.has(key))
  return new Entries([
    ...known.map((field) => [field.label, labelledValue(field, values.get(field.key), wording)] as const),
    ...other.slice(0, MOST_ENTRIES).map(([key, value]) => [readable(key), value] as const),
  ])
}

function labelledValue(field: AnswerField, value: unknown, wording: Wording): unknown {
  if (field.kind === 'choice')
    return field.options.some((option) => option.value === value)
      ? labelOf(field.options, value, wording)
      : value
  const list: readonly unknown[] | undefined = Array.isArray(value) ? value.slice(0, MOST_ENTRIES) : undefined
  if (field.kind === 'checks') return list?.map((one) => labelOf(field.options, one, wording)) ?? value
  if (field.kind === 'rows')
    return list?.map((row) => (isObject(row) ? labelled(field.fields, row, wording) : row)) ?? value
  return field.kind === 'group' && isObject(value) ? labelled(field.fields, value, wording) : value
}

class DataView {
  readonly #wording: Wording
  #left = MOST_OF_ALL

  constructor(wording: Wording) {
    this.#wording = wording
  }

  whole(data: unknown): Html {
    return isObject(data) || Array.isArray(data) ? this.#value(data, 0) : html`<p>${this.#value(data, 0)}</p>`
  }

  #value(value: unknown, depth: number): Html {
    if (Array.isArray(value)) return this.#list(value, depth)
    if (!isObject(value)) return this.#scalar(value, MOST_OF_A_TEXT)
    return depth > 2 || this.#left <= 0 ? jsonBlock(value, this.#wording) : this.#pairs(value, depth)
  }

  #pairs(object: object, depth: number): Html {
    const entries = entriesOf(object)
    return html`<dl class="pairs">
        ${entries.slice(0, MOST_ENTRIES).map(
          ([name, value]) =>
            html`<dt dir="auto">${this.#text(name, MOST_OF_A_CELL)}</dt>
              <dd dir="auto">${this.#value(value, depth + 1)}</dd>`,
        )}
      </dl>
      ${this.#more(entries.length)}`
  }

  #list(list: readonly unknown[], depth: number): Html {
    const shown = list.slice(0, MOST_ENTRIES)
    if (shown.length === 0) return html`–`
    if (shown.every(isScalar)) {
      const items = shown.map((item) => html`<li dir="auto">${this.#scalar(item, MOST_OF_A_CELL)}</li>`)
      return html`<ul class="list">
          ${items}
        </ul>
        ${this.#more(list.length)}`
    }
    const rows = shown.filter(isObject).map(entriesOf)
    const columns = new Set(rows.flatMap((row) => row.slice(0, MOST_COLUMNS + 1).map(([name]) => name)))
    const isTable = rows.length === shown.length && columns.size > 0 && columns.size <= MOST_COLUMNS
    if (!isTable || depth > 1 || !rows.every((row) => row.every(([, value]) => isScalar(value))))
      return jsonBlock(list, this.#wording)
    return html`${this.#table([...columns], rows)} ${this.#more(list.length)}`
  }

  #table(columns: readonly string[], rows: readonly Entries['list'][]): Html {
    const cell = (row: Entries['list'], column: string): Html =>
      html`<td data-label="${this.#text(column, MOST_OF_A_CELL)}" dir="auto">
        ${this.#scalar(row.find(([name]) => name === column)?.[1], MOST_OF_A_CELL)}
      </td>`
    return html`<table>
      <thead>
        <tr>
          ${columns.map((name) => html`<th scope="col" dir="auto">${this.#text(name, MOST_OF_A_CELL)}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map((column) => cell(row, column))}
            </tr>`,
        )}
      </tbody>
    </table>`
  }

  #scalar(value: unknown, most: number): Html {
    if (value === undefined || value === null) return html`–`
    if (typeof value === 'boolean') return html`${labelOf([], value, this.#wording)}`
    const text = textOf(value)
    const shown = this.#text(text, most)
    if (isLink(text))
      return html`<a href="${text}" target="_blank" rel="noopener noreferrer nofollow">${shown}</a>`
    const isNoted = text.length > most && most === MOST_OF_A_TEXT
    return html`<span class="text">${shown}</span>${
        isNoted && html`<span class="hint">${cutNote(text, this.#wording)}</span>`
      }`
  }

  /** A part of a text, of which less is shown the more was shown before. */
  #text(text: string, most: number): string {
    const shown = cut(text, Math.max(Math.min(most, this.#left), 1))
    this.#left -= shown.length
    return shown
  }

  #more(count: number): Html {
    const rest = count - MOST_ENTRIES
    return html`${rest > 0 && html`<p class="hint">${this.#wording.say('moreEntries', { count: this.#wording.number(rest) })}</p>`}`
  }
}

function cutNote(text: string, wording: Wording): Html {
  return wording.say('cut', { shown: wording.number(MOST_OF_A_TEXT), count: wording.number(text.length) })
}

function entriesOf(object: object): Entries['list'] {
  if (object instanceof Entries) return object.list
  return Object.entries(object).map(([key, value]: [string, unknown]) => [readable(key), value])
}

/** An address that a browser opens as a page. What it looks like is what it is: nothing in it is hidden. */
function isLink(text: string): boolean {
  return text.length <= MOST_OF_A_CELL && /^https?:\/\/[\x21-\x7e]+$/.test(text) && URL.canParse(text)
}

function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null
}

function isObject(value: unknown): value is object {
  return !isScalar(value) && !Array.isArray(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : jsonOf(value)
}

/** A value that is too deep to be written has no text. */
function jsonOf(value: unknown): string {
  try {
    return indentedJson(value)
  } catch {
    return '…'
  }
}
