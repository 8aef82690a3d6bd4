import { unreadable } from '../connection/api-error.ts'
import type { ApiRequest } from '../connection/transport.ts'
import { WireRecord } from './record.ts'

const BEGINNING = '-1'

/** What is known of one row, and where in its history that is: the state of a subscription by long poll. */
export class ShapeState {
  #row: Readonly<Record<string, unknown>> | undefined
  #offset = BEGINNING
  #handle: string | undefined
  #cursor: string | undefined
  #schema: ShapeSchema = {}
  #isCurrent = false

  /** The row, once everything there was about it has come. */
  get row(): Readonly<Record<string, unknown>> | undefined {
    return this.#isCurrent ? this.#row : undefined
  }

  /** Everything there was has come: the next answer comes when there is something new. */
  get isCurrent(): boolean {
    return this.#isCurrent
  }

  /** What to ask for next. */
  get query(): NonNullable<ApiRequest['query']> {
    return {
      log: 'full',
      offset: this.#offset,
      handle: this.#handle,
      ...(this.#isCurrent ? { live: 'true', cursor: this.#cursor } : {}),
    }
  }

  /** Takes an answer in. */
  take(headers: Headers, messages: unknown): void {
    if (!Array.isArray(messages)) throw unreadable('the updates of a run', { body: messages })
    this.#offset = headers.get('electric-offset') ?? headers.get('electric-chunk-last-offset') ?? this.#offset
    this.#handle = headers.get('electric-handle') ?? headers.get('electric-shape-id') ?? this.#handle
    this.#cursor = headers.get('electric-cursor') ?? this.#cursor
    if (headers.has('electric-schema')) this.#schema = readSchema(headers.get('electric-schema'))
    if (this.#offset === BEGINNING) throw unreadable('the updates of a run: they have no position')
    for (const message of messages) this.#apply(new WireRecord(message, 'an update of a run'))
  }

  /** Begins anew: what was known is not to be built upon. */
  forget(): void {
    this.#offset = BEGINNING
    this.#handle = undefined
    this.#cursor = undefined
    this.#row = undefined
    this.#isCurrent = false
  }

  #apply(message: WireRecord): void {
    const headers = message.record('headers')
    const control = headers.text('control')
    if (control === 'must-refetch') this.forget()
    if (control === 'up-to-date') this.#isCurrent = true
    const operation = headers.text('operation')
    if (operation !== 'insert' && operation !== 'update') return
    const columns = readColumns(message.object('value') ?? {}, this.#schema)
    // An update may carry only what has changed.
    this.#row = operation === 'insert' ? columns : { ...this.#row, ...columns }
  }
}

/** Types of columns, as the realtime protocol announces them. */
export type ShapeSchema = Readonly<Record<string, { readonly type?: string; readonly dims?: number }>>

/** The schema in a header; an empty one when there is none that can be read. */
function readSchema(header: string | null): ShapeSchema {
  try {
    return Object(JSON.parse(header ?? '{}')) as ShapeSchema
  } catch {
    return {}
  }
}

/** Columns with the values their types say; what has no type, or is no text, is taken as it is. */
function readColumns(
  columns: Readonly<Record<string, unknown>>,
  schema: ShapeSchema,
): Record<string, unknown> {
  const entries = Object.entries(columns).map(([name, value]) => {
    const column = schema[name]
    return [name, typeof value === 'string' && column !== undefined ? readColumn(value, column) : value]
  })
  return Object.fromEntries(entries) as Record<string, unknown>
}

function readColumn(text: string, { type = 'text', dims = 0 }: ShapeSchema[string] & object): unknown {
  if (dims > 0) return readArray(text)
  if (/^(?:int|float)\d$/.test(type)) return Number(text)
  if (type === 'bool') return text === 't' || text === 'true'
  return type === 'json' || type === 'jsonb' ? JSON.parse(text) : text
}

/** An array of texts as Postgres writes it: `{plain,"with \"quotes\""}`. */
function readArray(text: string): readonly string[] {
  const items = text.slice(1, -1).match(/"(?:[^"\\]|\\.)*"|[^,]+/g) ?? []
  return items.map((item) => (item.startsWith('"') ? item.slice(1, -1).replace(/\\(.)/g, '$1') : item))
}
