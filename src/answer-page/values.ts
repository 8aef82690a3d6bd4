import { indentedJson } from '../primitives/indented-json.ts'
import { offsetAt } from '../primitives/time-zones.ts'
import {
  type BooleanField,
  type ChecksField,
  type AnswerChoice,
  type ChoiceField,
  type AnswerField,
  type FormModel,
  type GroupField,
  MOST_OF_A_DEFAULT,
  MOST_ROWS,
  type NumberField,
  type RowsField,
  type TextField,
} from './form.ts'
import { type AnswerPageOptions, Wording } from './texts.ts'

/** One field of a form as it is sent. */
export type SentField = readonly [name: string, value: string]

/** What is wrong with an answer, and where in it. */
export interface AnswerError {
  readonly path: readonly (string | number)[]
  readonly message: string
}

/** What a form that was sent says: an answer, what cannot be read, or that its sender asks for more rows. */
export type ReadAnswer =
  | { readonly kind: 'answer'; readonly value: unknown }
  | { readonly kind: 'errors'; readonly errors: readonly AnswerError[] }
  | { readonly kind: 'more' }

/** The name of the field of the whole answer; those inside of it add their numbers: `answer.2.0`. */
export const ROOT = 'answer'
/** A hidden field of every form: a request without it comes from no form. */
export const MARK = 'form'
/** The button that asks for more rows. */
export const MORE = 'more'

/** The answer that a form was sent with. It is read only: whether it fits the schema is asked of the schema. */
export function answerOf(
  model: FormModel,
  sent: readonly SentField[],
  options?: AnswerPageOptions,
): ReadAnswer {
  const wording = new Wording(options)
  const posted = postedOf(sent)
  if (!posted.has(MARK)) return failed(wording.texts.nothingSent)
  if (model.kind === 'json') return jsonOf(posted.get(ROOT)?.[0] ?? '', wording)
  if (posted.has(MORE)) return { kind: 'more' }
  const reader = new AnswerReader(posted, wording)
  const value = reader.read(model.root, ROOT, [])
  return reader.errors.length > 0 ? { kind: 'errors', errors: reader.errors } : { kind: 'answer', value }
}

/** The fields as which a form sends an answer. What fits no field is left out. */
export function fieldsOf(model: FormModel, value: unknown, options?: AnswerPageOptions): SentField[] {
  if (model.kind === 'json')
    return [
      [MARK, '1'],
      [ROOT, indentedJson(value)],
    ]
  const { timeZone } = new Wording(options)
  return [[MARK, '1'], ...filled(model.root, { value, name: ROOT, timeZone })]
}

/** The fields of a form as it is first shown. */
export function firstFields(model: FormModel, options?: AnswerPageOptions): SentField[] {
  return model.kind === 'json' ? [] : fieldsOf(model, defaultOf(model.root), options)
}

/** The values of each name that was sent. */
export type Posted = ReadonlyMap<string, readonly string[]>

export function postedOf(sent: readonly SentField[]): Posted {
  const posted = new Map<string, string[]>()
  for (const [name, value] of sent) {
    const values = posted.get(name)
    if (values === undefined) posted.set(name, [value])
    else values.push(value)
  }
  return posted
}

/** The names of the rows that have something in them: those left blank are no rows of the answer. */
export function filledRows({ fields }: RowsField, name: string, posted: Posted): string[] {
  const names = Array.from({ length: MOST_ROWS }, (_, row) => `${name}.${row}`)
  return names.filter((row) => fields.some((field, at) => !isBlank(field, `${row}.${at}`, posted)))
}

function isBlank(field: AnswerField, name: string, posted: Posted): boolean {
  if (field.kind === 'group') return field.fields.every((one, at) => isBlank(one, `${name}.${at}`, posted))
  if (field.kind === 'rows') return filledRows(field, name, posted).length === 0
  return (posted.get(name) ?? []).every((value) => value === '')
}

const ABSENT: unique symbol = Symbol('absent')

function failed(message: string): ReadAnswer {
  return { kind: 'errors', errors: [{ path: [], message }] }
}

function jsonOf(text: string, wording: Wording): ReadAnswer {
  if (text.trim() === '') return failed(wording.texts.needed)
  try {
    return { kind: 'answer', value: JSON.parse(text) as unknown }
  } catch (error) {
    const message = error instanceof Error ? error.message.slice(0, 200) : ''
    return failed(wording.plain('notJson', { message }))
  }
}

type Path = AnswerError['path']

/** Reads one form. What it cannot read is an error, and has no value. */
class AnswerReader {
  readonly errors: AnswerError[] = []
  readonly #posted: Posted
  readonly #wording: Wording

  constructor(posted: Posted, wording: Wording) {
    this.#posted = posted
    this.#wording = wording
  }

  read(field: AnswerField, name: string, path: Path): unknown {
    if (field.kind === 'boolean' && field.isCheckbox) return this.#text(name) !== ''
    if (field.kind === 'group' && !field.isLoose && field.isRequired && !field.isNullable)
      return this.#object(field.fields, name, path)
    if (isBlank(field, name, this.#posted)) return this.#blank(field, path)
    switch (field.kind) {
      case 'text':
        return this.#written(field, name, path)
      case 'number':
        return this.#number(field, name, path)
      case 'boolean':
        return this.#chosen(BOOLEANS, this.#text(name), path)
      case 'choice':
        return this.#chosen(field.options, this.#text(name), path)
      case 'checks':
        return this.#checked(field, name, path)
      case 'group':
        return this.#object(field.fields, name, path)
      case 'rows':
        return filledRows(field, name, this.#posted).map((row, at) =>
          this.#object(field.fields, row, [...path, at]),
        )
    }
  }

  #blank(field: AnswerField, path: Path): unknown {
    if (!field.isRequired) return ABSENT
    if (field.isNullable) return null
    if (field.kind === 'checks' || field.kind === 'rows') return []
    if (field.kind === 'group') return this.#failed(path, 'needed')
    return this.#failed(path, field.kind === 'choice' || field.kind === 'boolean' ? 'neededChoice' : 'needed')
  }

  #object(fields: readonly AnswerField[], name: string, path: Path): unknown {
    const entries = fields.map((field, at): [string, unknown] => [
      field.key,
      this.read(field, `${name}.${at}`, [...path, field.key]),
    ])
    return Object.fromEntries(entries.filter(([, value]) => value !== ABSENT))
  }

  #written({ format }: TextField, name: string, path: Path): unknown {
    // A form sends the ends of lines as those of mail.
    const text = this.#text(name).replace(/\r\n?/g, '\n')
    if (format === 'date') return isDate(text) ? text : this.#failed(path, 'notDate')
    // A browser leaves out seconds that are none; a time of JSON Schema has them.
    if (format === 'time')
      return TIME.test(text) ? text.replace(/^..:..$/, '$&:00') : this.#failed(path, 'notTime')
    if (format !== 'date-time') return text
    return instantOf(text, this.#wording.timeZone) ?? this.#failed(path, 'notDateTime')
  }

  #number({ isInteger }: NumberField, name: string, path: Path): unknown {
    const text = this.#text(name).trim()
    const number = NUMBER.test(text) ? Number(text) : NaN
    if (!Number.isFinite(number)) return this.#failed(path, 'notNumber')
    if (isInteger && !Number.isInteger(number)) return this.#failed(path, 'notInteger')
    // Also as JSON writes it, whose last digits are rounded.
    const isExact = !/^-?\d+$/.test(text) || text === String(number) || BigInt(text) === BigInt(number)
    if (!isExact) return this.#failed(path, 'notExact')
    // Not -0, which JSON does not have.
    return number + 0
  }

  #chosen(options: readonly AnswerChoice[], text: string, path: Path): unknown {
    const choice = CHOICE.test(text) ? options[Number(text)] : undefined
    return choice === undefined ? this.#failed(path, 'notChoice') : choice.value
  }

  #checked({ options }: ChecksField, name: string, path: Path): unknown {
    const numbers = new Set(this.#posted.get(name)?.filter((text) => text !== ''))
    return Array.from(numbers, (text) => this.#chosen(options, text, path))
  }

  #text(name: string): string {
    return this.#posted.get(name)?.[0] ?? ''
  }

  #failed(
    path: Path,
    text: 'needed' | 'neededChoice' | (`not${string}` & keyof Wording['texts']),
  ): typeof ABSENT {
    this.errors.push({ path, message: this.#wording.texts[text] })
    return ABSENT
  }
}

/** The choices of a boolean, in the order in which they are shown. */
export const BOOLEANS: readonly AnswerChoice[] = [{ value: true }, { value: false }]

const NUMBER = /^-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?$/
const CHOICE = /^\d{1,5}$/
const TIME = /^(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,9})?)?$/
const DATE = /^\d{4}-\d\d-\d\d$/

function isDate(text: string): boolean {
  return DATE.test(text) && dayOf(text) === text
}

/** The day that a date means: one that no month has is another one, or none. */
function dayOf(date: string): string | undefined {
  const at = Date.parse(`${date}T00:00:00Z`)
  return Number.isNaN(at) ? undefined : new Date(at).toISOString().slice(0, 10)
}

/** The instant of a date and a time in a time zone. */
function instantOf(text: string, timeZone: string): string | undefined {
  const [date = '', time = ''] = text.split('T')
  if (!isDate(date) || !TIME.test(time)) return undefined
  const local = Date.parse(`${text}Z`)
  const guess = local - offsetAt(timeZone, local)
  const at = new Date(local - offsetAt(timeZone, guess)).toISOString()
  return at.endsWith('.000Z') ? at.replace('.000Z', 'Z') : at
}

/** An instant as the date and the time of a time zone, as an input takes it. */
function localOf(text: string, timeZone: string): string {
  const at = Date.parse(text)
  if (Number.isNaN(at)) return ''
  const local = new Date(at + offsetAt(timeZone, at)).toISOString().slice(0, -1)
  return local.replace(/(?::00)?\.000$/, '')
}

interface Filling {
  readonly value: unknown
  readonly name: string
  readonly timeZone: string
}

function filled(field: AnswerField, { value, name, timeZone }: Filling): SentField[] {
  const one = (text: string | undefined): SentField[] =>
    text === undefined || text === '' ? [] : [[name, text]]
  const inside = (fields: readonly AnswerField[], object: unknown, around: string): SentField[] =>
    fields.flatMap((part, at) =>
      filled(part, { value: ownOf(object, part.key), name: `${around}.${at}`, timeZone }),
    )
  switch (field.kind) {
    case 'text':
      if (typeof value !== 'string') return []
      return one(field.format === 'date-time' ? localOf(value, timeZone) : value)
    case 'number':
      return one(typeof value === 'number' ? String(value) : undefined)
    case 'boolean':
      return one(booleanText(field, value))
    case 'choice':
      return one(numberIn(field, value))
    case 'checks':
      return asArray(value, field.options.length).flatMap((part) => one(numberIn(field, part)))
    case 'group':
      return inside(field.fields, value, name)
    case 'rows':
      return asArray(value, MOST_ROWS).flatMap((part, row) => inside(field.fields, part, `${name}.${row}`))
  }
}

function booleanText({ isCheckbox }: BooleanField, value: unknown): string | undefined {
  if (typeof value !== 'boolean') return undefined
  if (isCheckbox) return value ? '1' : undefined
  return value ? '0' : '1'
}

function numberIn({ options }: ChoiceField | ChecksField, value: unknown): string | undefined {
  const at = options.findIndex((option) => option.value === value)
  return at < 0 ? undefined : String(at)
}

function asArray(value: unknown, most: number): readonly unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : []
}

function ownOf(object: unknown, key: string): unknown {
  const isOwn = typeof object === 'object' && object !== null && Object.hasOwn(object, key)
  return isOwn ? (object as Readonly<Record<string, unknown>>)[key] : undefined
}

/** What a form begins with: the defaults of its fields, over which the default of their object goes. */
function defaultOf(field: AnswerField): unknown {
  if (field.kind !== 'group')
    return typeof field.default === 'string' ? shortText(field.default) : field.default
  return defaultOfGroup(field)
}

function defaultOfGroup(group: GroupField): unknown {
  const own = group.fields.map((field): [string, unknown] => [
    field.key,
    ownOf(group.default, field.key) ?? defaultOf(field),
  ])
  return Object.fromEntries(own)
}

function shortText(text: string): string | undefined {
  return text.length <= MOST_OF_A_DEFAULT ? text : undefined
}

/** Whether the input of a field can show a text: one of a date or a number shows nothing instead of what it is not. */
export function fitsInput(field: TextField | NumberField, text: string): boolean {
  if (field.kind === 'number') return NUMBER.test(text) && !text.includes('.e') && !text.endsWith('.')
  if (field.format === 'date') return isDate(text)
  if (field.format === 'time') return TIME.test(text)
  return field.format !== 'date-time' || instantOf(text, 'UTC') !== undefined
}
