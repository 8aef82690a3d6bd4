import { exactly, html, type Html } from '../primitives/html.ts'
import { labelOf, jsonBlock } from './data.ts'
import type {
  BooleanField,
  ChecksField,
  AnswerChoice,
  ChoiceField,
  AnswerField,
  FormModel,
  GroupField,
  NumberField,
  RowsField,
  TextField,
} from './form.ts'
import { cut, MOST_ROWS } from './form.ts'
import { type AnswerPageOptions, Wording } from './texts.ts'
import {
  type AnswerError,
  BOOLEANS,
  filledRows,
  firstFields,
  fitsInput,
  type SentField,
  MARK,
  MORE,
  type Posted,
  postedOf,
  ROOT,
} from './values.ts'

/** How a form is shown. */
export interface AnswerFormView {
  /**
   * What was sent before, which the form keeps.
   *
   * @default the defaults of the schema
   */
  readonly typed?: readonly SentField[]
  /** What is wrong with it. */
  readonly errors?: readonly AnswerError[]
  /**
   * Where the form is sent to.
   *
   * @default the address of the page
   */
  readonly action?: string
  /** Fields that the form sends besides. */
  readonly hidden?: readonly SentField[]
  /**
   * What all ids begin with: two forms of one page need two.
   *
   * @default `''`
   */
  readonly idPrefix?: string
}

/** So few choices are buttons that send the answer. */
const MOST_BUTTONS = 6
/** So few choices are shown at once. */
const MOST_RADIOS = 5
const SPARE_ROWS = 3
const MOST_ERRORS = 20

/** The form of a question. */
export function answerForm(model: FormModel, view: AnswerFormView, options?: AnswerPageOptions): Html {
  return new FormView(model, view, new Wording(options)).form()
}

/** A field, by what name it is sent, and by what name it was sent before: rows that were left blank close up. */
interface Spot<Kind extends AnswerField = AnswerField> {
  readonly field: Kind
  readonly name: string
  readonly from: string
  readonly isInRow: boolean
}

/** An error with the field that it is shown at. */
interface Located {
  readonly name: string
  readonly label: string
  readonly message: string
}

class FormView {
  readonly #model: FormModel
  readonly #view: AnswerFormView
  readonly #wording: Wording
  readonly #posted: Posted
  readonly #errors: readonly Located[]

  constructor(model: FormModel, view: AnswerFormView, wording: Wording) {
    this.#model = model
    this.#view = view
    this.#wording = wording
    this.#posted = postedOf(view.typed ?? firstFields(model, wording))
    this.#errors = (view.errors ?? []).slice(0, MOST_ERRORS).map((error) => located(model, error))
  }

  form(): Html {
    const { action = '', hidden = [] } = this.#view
    // A browser shows the form, with what is wrong, and not the top of a long page.
    const id = this.#id(MARK)
    const fields = [[MARK, '1'] as const, ...hidden]
    return html`<form class="answer" id="${id}" method="post" action="${action}#${id}">
      ${fields.map(([name, value]) => html`<input type="hidden" name="${exactly(name)}" value="${exactly(value)}" />`)}
      ${this.#problems()} ${this.#content()}
    </form>`
  }

  #content(): Html {
    if (this.#model.kind === 'json') return html`${this.#json(this.#model)} ${this.#send()}`
    const { root } = this.#model
    const options = buttonsOf(root)
    if (options !== undefined) return this.#buttons(root, options)
    const spot = { field: root, name: ROOT, from: ROOT, isInRow: false }
    if (root.kind !== 'group') return html`${this.#field(spot)} ${this.#send()}`
    return html`${root.label !== '' && html`<p><strong dir="auto">${root.label}</strong></p>`}
    ${this.#hint(spot)} ${this.#error(ROOT)} ${this.#enter(root)} ${this.#inside({ ...spot, field: root })}
    ${this.#send()}`
  }

  /** What the key Enter sends is the first button of a form: not the one for more rows. */
  #enter(root: GroupField): Html {
    const hasRows = root.fields.some(({ kind }) => kind === 'rows')
    return html`${hasRows && html`<button class="unseen" tabindex="-1" aria-hidden="true"></button>`}`
  }

  #send(): Html {
    return html`<div class="acts"><button class="main">${this.#wording.texts.send}</button></div>`
  }

  #problems(): Html {
    const { texts } = this.#wording
    const shown = this.#errors.map(({ name, label, message }) => {
      const text = label === '' ? message : this.#wording.plain('problem', { label, message })
      return html`<li><a href="#${this.#id(name)}">${text}</a></li>`
    })
    return html`${
      shown.length > 0 &&
      html`<div class="problems" role="alert">
        <strong>${texts.problems}</strong>
        <ul>
          ${shown}
        </ul>
      </div>`
    }`
  }

  #json({ because, schema }: FormModel & { readonly kind: 'json' }): Html {
    const attributes = html`class="json" spellcheck="false" required ${this.#attributes(ROOT, true)}`
    const { texts } = this.#wording
    return html`<div>
        <label for="${this.#id(ROOT)}">${texts.jsonLabel}</label>
        <p class="hint" id="${this.#id(ROOT)}-hint">${this.#wording.say('json', { because })}</p>
        ${textBox(attributes, this.#sent(ROOT))} ${this.#error(ROOT)}
      </div>
      ${
        schema !== undefined &&
        html`<details>
          <summary>${texts.jsonSchema}</summary>
          ${jsonBlock(schema, this.#wording)}
        </details>`
      }`
  }

  /** A click on a choice is the answer. */
  #buttons(root: AnswerField, options: readonly AnswerChoice[]): Html {
    const buttons = options.map(
      (option, at) =>
        html`<button name="${ROOT}" value="${at}" ${at === 0 && html`class="main"`} dir="auto">
          ${this.#labelled(option)}
        </button>`,
    )
    return html`<fieldset id="${this.#id(ROOT)}" ${this.#describedBy(ROOT, root.description !== undefined)}>
      <legend ${root.label === '' && html`class="unseen"`} dir="auto">
        ${root.label === '' ? this.#wording.texts.yourAnswer : root.label}
      </legend>
      ${this.#hint({ field: root, name: ROOT })}
      <div class="acts">${buttons}</div>
      ${this.#error(ROOT)}
    </fieldset>`
  }

  #inside({ field, name, from, isInRow }: Spot<GroupField | RowsField>): Html {
    return html`${field.fields.map((part, at) =>
      this.#field({ field: part, name: `${name}.${at}`, from: `${from}.${at}`, isInRow }),
    )}`
  }

  #field(spot: Spot): Html {
    const { field } = spot
    switch (field.kind) {
      case 'text':
        return this.#text({ ...spot, field })
      case 'number':
        return this.#number({ ...spot, field })
      case 'boolean':
        return field.isCheckbox ? this.#checkbox({ ...spot, field }) : this.#choice({ ...spot, field })
      case 'choice':
        return this.#choice({ ...spot, field })
      case 'checks':
        return this.#checks({ ...spot, field })
      case 'group':
        return html`<fieldset class="group" id="${this.#id(spot.name)}">
          <legend dir="auto">${this.#label(field)}</legend>
          ${this.#hint(spot)} ${this.#error(spot.name)} ${this.#inside({ ...spot, field })}
        </fieldset>`
      case 'rows':
        return this.#rows({ ...spot, field })
    }
  }

  #text(spot: Spot<TextField>): Html {
    const { field, name, from } = spot
    const text = this.#sent(from)
    const lengths = html`${field.minLength !== undefined && html`minlength="${field.minLength}"`}
    ${field.maxLength !== undefined && html`maxlength="${field.maxLength}"`}`
    const attributes = html`${this.#attributes(name, this.#hasHint(field))}
    ${isNeeded(field) && html`required`} autocomplete="off"`
    if (field.format === 'long')
      return this.#control(spot, textBox(html`rows="2" dir="auto" ${attributes} ${lengths}`, text))
    const type = text === '' || fitsInput(field, text) ? INPUT_TYPES[field.format] : 'text'
    return this.#control(
      spot,
      html`<input
        type="${type}"
        value="${exactly(text)}"
        ${attributes}
        ${type === 'text' && html`dir="auto"`}
        ${field.format.includes('time') && html`step="any"`}
        ${TAKES_LENGTHS.has(type) && lengths}
        ${field.pattern !== undefined && TAKES_LENGTHS.has(type) && html`pattern="${exactly(field.pattern)}"`}
      />`,
    )
  }

  #number(spot: Spot<NumberField>): Html {
    const { field, name, from } = spot
    const text = this.#sent(from).trim()
    const isShown = text === '' || fitsInput(field, text)
    const [min, max] = [field.min ?? field.above, field.max ?? field.below]
    return this.#control(
      spot,
      html`<input
        type="${isShown ? 'number' : 'text'}"
        inputmode="${field.isInteger && (min ?? -1) >= 0 ? 'numeric' : 'decimal'}"
        step="${stepOf(field, text)}"
        value="${exactly(text)}"
        ${min !== undefined && html`min="${min}"`}
        ${max !== undefined && html`max="${max}"`}
        ${this.#attributes(name, this.#hasHint(field))}
        ${isNeeded(field) && html`required`}
        autocomplete="off"
      />`,
    )
  }

  #checkbox({ field, name, from }: Spot<BooleanField>): Html {
    return html`<div>
      <label class="choice">
        <input
          type="checkbox"
          name="${name}"
          value="1"
          ${this.#sent(from) !== '' && html`checked`}
          ${this.#idAndState(name, field.description !== undefined)}
        />
        <span dir="auto">${this.#label({ ...field, isRequired: true })} ${this.#hint({ field, name })}</span>
      </label>
      ${this.#error(name)}
    </div>`
  }

  #choice(spot: Spot<ChoiceField | BooleanField>): Html {
    const { field, name, from, isInRow } = spot
    const options = field.kind === 'choice' ? field.options : BOOLEANS
    const sent = this.#sent(from)
    const { texts } = this.#wording
    if (isInRow || options.length > MOST_RADIOS) {
      const shown = options.map(
        (option, at) =>
          html`<option value="${at}" ${sent === String(at) && html`selected`}>
            ${labelOf([option], option.value, this.#wording)}
          </option>`,
      )
      return this.#control(
        spot,
        html`<select ${this.#attributes(name, this.#hasHint(field))} ${isNeeded(field) && html`required`}>
          <option value="">${isNeeded(field) ? texts.choose : texts.noValue}</option>
          ${shown}
        </select>`,
      )
    }
    const radio = (value: string, text: Html): Html =>
      html`<label class="choice">
        <input
          type="radio"
          name="${name}"
          value="${value}"
          ${sent === value && html`checked`}
          ${isNeeded(field) && html`required`}
        />
        <span dir="auto">${text}</span>
      </label>`
    return this.#set(spot, [
      ...options.map((option, at) => radio(String(at), this.#labelled(option))),
      ...(isNeeded(field) ? [] : [radio('', html`${texts.noValue}`)]),
    ])
  }

  #checks(spot: Spot<ChecksField>): Html {
    const { field, name, from } = spot
    const sent = new Set(this.#posted.get(from))
    const boxes = field.options.map(
      (option, at) =>
        html`<label class="choice">
          <input type="checkbox" name="${name}" value="${at}" ${sent.has(String(at)) && html`checked`} />
          <span dir="auto">${this.#labelled(option)}</span>
        </label>`,
    )
    return this.#set(spot, boxes)
  }

  #rows(spot: Spot<RowsField>): Html {
    const { field, name, from } = spot
    const filled = filledRows(field, from, this.#posted)
    const wanted = Math.max(filled.length + SPARE_ROWS, field.minRows)
    const count = Math.max(filled.length, Math.min(wanted, field.maxRows))
    const label = field.label === '' ? this.#wording.texts.yourAnswer : field.label
    const rows = Array.from({ length: count }, (_, at) => {
      const row = { field, name: `${name}.${at}`, from: filled[at] ?? '', isInRow: true }
      return html`<fieldset class="row" id="${this.#id(row.name)}">
        <legend dir="auto">${this.#wording.say('row', { label, number: at + 1 })}</legend>
        ${this.#error(row.name)} ${this.#inside(row)}
      </fieldset>`
    })
    return html`<fieldset id="${this.#id(name)}">
      <legend dir="auto">${this.#label({ ...field, label })}</legend>
      ${this.#hint(spot)} ${this.#error(name)}
      <div class="rows">
        ${rows}
        ${
          count < field.maxRows
            ? html`<button class="more" name="${MORE}" value="${name}" formnovalidate>
                ${this.#wording.texts.moreRows}<span class="unseen"> ${label}</span>
              </button>`
            : field.maxRows === MOST_ROWS &&
              html`<p class="hint">${this.#wording.say('mostRows', { count })}</p>`
        }
      </div>
    </fieldset>`
  }

  /** Choices below their name. */
  #set({ field, name }: Spot, choices: readonly Html[]): Html {
    const isWrong = this.#errorsAt(name).length > 0
    return html`<fieldset
      id="${this.#id(name)}"
      ${isWrong && html`class="wrong"`}
      ${this.#describedBy(name, field.description !== undefined)}
    >
      <legend dir="auto">${this.#label(field)}</legend>
      ${this.#hint({ field, name })}
      <div class="choices">${choices}</div>
      ${this.#error(name)}
    </fieldset>`
  }

  /** A control below its name. */
  #control(spot: Spot, control: Html): Html {
    const { field, name } = spot
    return html`<div>
      <label for="${this.#id(name)}" dir="auto">${this.#label(field)}</label>
      ${this.#hint(spot)} ${control} ${this.#error(name)}
    </div>`
  }

  #label(field: Pick<AnswerField, 'label' | 'isRequired' | 'isNullable'>): Html {
    const { texts } = this.#wording
    const label = field.label === '' ? texts.yourAnswer : field.label
    const isOptional = !field.isRequired || field.isNullable
    return html`${label} ${isOptional && html`<span class="hint">${texts.optional}</span>`}`
  }

  #labelled(option: AnswerChoice): Html {
    const label = labelOf([option], option.value, this.#wording)
    return html`${label}${option.description !== undefined && html`<small>${option.description}</small>`}`
  }

  #hint({ field, name }: Pick<Spot, 'field' | 'name'>): Html {
    const bounds = this.#bounds(field)
    return html`${
      this.#hasHint(field) &&
      html`<span class="hint lines" id="${this.#id(name)}-hint" dir="auto"
        >${field.description}${field.description !== undefined && bounds !== '' && ' · '}${bounds}</span
      >`
    }`
  }

  #hasHint(field: AnswerField): boolean {
    return field.description !== undefined || this.#bounds(field) !== ''
  }

  /** What a control takes, where it does not show that by itself. */
  #bounds(field: AnswerField): string {
    const { timeZone } = this.#wording
    if (field.kind === 'text') {
      if (field.format === 'date-time') return this.#wording.plain('inTimeZone', { timeZone })
      const isLong = field.format === 'long' && field.maxLength !== undefined
      return isLong
        ? this.#wording.plain('mostCharacters', { count: this.#wording.number(field.maxLength) })
        : ''
    }
    if (field.kind !== 'number') return ''
    const bounds = [
      ['above', field.above],
      ['from', field.min],
      ['below', field.below],
      ['upTo', field.max],
    ] as const
    const parts = bounds.map(([name, bound]) =>
      bound === undefined ? '' : this.#wording.plain(name, { bound: this.#wording.number(bound) }),
    )
    return parts.filter((part) => part !== '').join(' ')
  }

  #sent(name: string): string {
    return this.#posted.get(name)?.[0] ?? ''
  }

  #id(name: string): string {
    return `${this.#view.idPrefix ?? ''}${name}`
  }

  #attributes(name: string, hasHint: boolean): Html {
    return html`name="${name}" ${this.#idAndState(name, hasHint)}`
  }

  #idAndState(name: string, hasHint: boolean): Html {
    const isWrong = this.#errorsAt(name).length > 0
    return html`id="${this.#id(name)}" ${isWrong && html`aria-invalid="true"`}
    ${this.#describedBy(name, hasHint)}`
  }

  #describedBy(name: string, hasHint: boolean): Html | false {
    const isWrong = this.#errorsAt(name).length > 0
    const ids = [hasHint && `${this.#id(name)}-hint`, isWrong && `${this.#id(name)}-error`].filter(Boolean)
    return ids.length > 0 && html`aria-describedby="${ids.join(' ')}"`
  }

  #error(name: string): Html {
    const messages = this.#errorsAt(name)
    return html`${
      messages.length > 0 && html`<p class="error" id="${this.#id(name)}-error">${messages.join(' ')}</p>`
    }`
  }

  #errorsAt(name: string): string[] {
    return this.#errors.filter((error) => error.name === name).map(({ message }) => message)
  }
}

/** The first end of a line in a text box is not part of its text. */
function textBox(attributes: Html, text: string): Html {
  return html`<textarea ${attributes}>${exactly(`\n${text}`)}</textarea>`
}

const INPUT_TYPES = {
  short: 'text',
  email: 'email',
  url: 'url',
  date: 'date',
  'date-time': 'datetime-local',
  time: 'time',
} as const
/** The types of inputs that take lengths and a pattern. */
const TAKES_LENGTHS: ReadonlySet<string> = new Set(['text', 'email', 'url'])

/** Whether a click on one of a few choices is the answer. */
export function isAnsweredByButtons(model: FormModel): boolean {
  return model.kind === 'fields' && buttonsOf(model.root) !== undefined
}

function buttonsOf(root: AnswerField): readonly AnswerChoice[] | undefined {
  if (root.isNullable) return undefined
  if (root.kind === 'boolean') return BOOLEANS
  return root.kind === 'choice' && root.options.length <= MOST_BUTTONS ? root.options : undefined
}

/** A browser may refuse to send it blank. */
function isNeeded({ isRequired, isNullable, isLoose }: AnswerField): boolean {
  return isRequired && !isNullable && !isLoose
}

/** A browser counts steps from the least value, else from the one that is there; a schema counts them from zero. */
function stepOf({ isInteger, multipleOf, min, above }: NumberField, text: string): number | 'any' {
  const isWhole = multipleOf !== undefined && Number.isInteger(multipleOf)
  const step = isInteger && !isWhole ? 1 : multipleOf
  if (step === undefined) return 'any'
  const count = (min ?? above ?? Number(text)) / step
  return Math.abs(count - Math.round(count)) < 1e-9 ? step : 'any'
}

/** Where a path leads in a form. */
interface Position {
  readonly name: string
  readonly label: string
  /** None: beyond this there are no fields. */
  readonly inside: AnswerField | undefined
}

/** Where an error is shown: at its field, else at what is around it. */
function located(model: FormModel, { path, message }: AnswerError): Located {
  const root = model.kind === 'json' ? undefined : model.root
  let position: Position = { name: ROOT, label: '', inside: root }
  for (const [at, step] of path.entries()) {
    const next = stepInto(position, step)
    if (next === undefined) {
      const rest = position.inside?.kind === 'checks' ? [] : path.slice(at, at + 8)
      const labels = [position.label, ...rest.map((part) => cut(String(part), 80))]
      return { name: position.name, label: labels.filter((label) => label !== '').join(' · '), message }
    }
    position = next
  }
  return { name: position.name, label: position.label, message }
}

function stepInto({ name, label, inside }: Position, step: string | number): Position | undefined {
  if (inside?.kind === 'rows' && typeof step === 'number')
    return {
      name: `${name}.${step}`,
      label: `${label} ${step + 1}`.trim(),
      inside: { ...inside, kind: 'group' },
    }
  const fields = inside?.kind === 'group' ? inside.fields : []
  const index = fields.findIndex(({ key }) => key === String(step))
  const field = fields[index]
  if (field === undefined) return undefined
  return {
    name: `${name}.${index}`,
    label: label === '' ? field.label : `${label} · ${field.label}`,
    inside: field,
  }
}
